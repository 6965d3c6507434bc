//! Files and directories of this machine, opened so that nothing outside the roots can be reached.
//!
//! Two steps. First the path is *resolved*: links are followed by hand, and a link that leads out of the roots ends the
//! search before anything out there is touched, so that nobody learns what exists elsewhere. Then the resolved path,
//! which has no link left in it, is *walked* from the root's directory, one name at a time, each relative to the open
//! directory before and none of them through a link. Whoever swaps a name for a link between the two steps makes the
//! walk fail; whoever moves a directory away makes it find what was in there, which was inside the roots.
//!
//! The open file is kept as long as the clip is in use. A worker opens the path again, and holds what it finds against
//! [`LocalFile::id`].

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self as sys, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::roots::Roots;

/// Links that are followed at most, as the kernel does.
const LINKS: usize = 40;

/// File systems whose files are the kernel's own: `/proc`, `/sys`, control groups and the like.
const OF_THE_KERNEL: [u32; 11] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0xf97c_ff8c, // selinuxfs
    0xcafe_4a11, // bpf
    0x4249_4e4d, // binfmt_misc
    0xde5e_81e4, // efivarfs
];

/// Why a path cannot be used. Paths in the texts are those of the job.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Not below a root, at once or through a link.
    #[error("it lies outside the scoring roots of this job")]
    Outside,
    /// Nothing there.
    #[error("there is no such file")]
    NotFound,
    /// A FIFO, a device, a socket, a directory, or a file of the kernel.
    #[error("it is {0}, not a regular file")]
    NotRegular(&'static str),
    /// It was replaced while it was opened.
    #[error("it was replaced while it was opened")]
    Swapped,
    /// The file system says no.
    #[error("it may not be opened")]
    Denied(#[source] io::Error),
    /// Anything else.
    #[error("it cannot be opened: {}", .0.kind())]
    Io(#[source] io::Error),
}

impl From<Errno> for LocalError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Self::NotFound,
            Errno::LOOP => Self::Swapped,
            Errno::ACCESS | Errno::PERM => Self::Denied(errno.into()),
            other => Self::Io(other.into()),
        }
    }
}

/// What tells a file from every other of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// Its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// A regular file below a root, open for reading.
#[derive(Debug)]
pub struct LocalFile {
    path: PathBuf,
    file: File,
    id: FileId,
    length: u64,
}

impl LocalFile {
    /// Opens a file. Blocks as long as the file system does.
    pub fn open(path: &Path, roots: &Roots) -> Result<Self, LocalError> {
        let resolved = resolve(path, roots)?;
        let (directory, name) = resolved.parent()?;
        // By its name only: a device or FIFO that is opened for reading has side effects.
        let seen =
            sys::openat(&directory, &name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let id = regular(&seen)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = sys::openat(&directory, &name, flags, Mode::empty())?;
        if regular(&file)? != id {
            return Err(LocalError::Swapped);
        }
        let length = u64::try_from(sys::fstat(&file)?.st_size).unwrap_or(0);
        Ok(Self { path: resolved.path(), file: file.into(), id, length })
    }

    /// Where it really is: without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Which file it is.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Its length when it was opened.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// Opens the directory that a new file is to lie in; the directory must exist, the file need not.
pub fn parent_of_new(path: &Path, roots: &Roots) -> Result<(OwnedFd, OsString), LocalError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(LocalError::NotFound);
    };
    let lexical = roots.directories().any(|root| path.starts_with(root) && path != root);
    if !lexical {
        return Err(LocalError::Outside);
    }
    let resolved = resolve(parent, roots)?;
    Ok((resolved.walk(&resolved.below)?, name.to_owned()))
}

impl FileId {
    /// Which file is open here.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        let stat = sys::fstat(file)?;
        Ok(Self { device: stat.st_dev, inode: stat.st_ino })
    }
}

fn regular(file: &OwnedFd) -> Result<FileId, LocalError> {
    let stat = sys::fstat(file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(LocalError::NotRegular("a directory")),
        FileType::Fifo => return Err(LocalError::NotRegular("a FIFO")),
        FileType::Socket => return Err(LocalError::NotRegular("a socket")),
        FileType::CharacterDevice | FileType::BlockDevice => return Err(LocalError::NotRegular("a device")),
        FileType::Symlink => return Err(LocalError::Swapped),
        FileType::Unknown => return Err(LocalError::NotRegular("something else")),
    }
    // The type's width differs between platforms; the magic numbers have 32 bits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magic numbers have 32 bits")]
    let kind = sys::fstatfs(file)?.f_type as u32;
    if OF_THE_KERNEL.contains(&kind) {
        return Err(LocalError::NotRegular("a file of the kernel"));
    }
    Ok(FileId { device: stat.st_dev, inode: stat.st_ino })
}

/// A path without links: a real root, and names below it.
#[derive(Debug)]
struct Resolved {
    root: PathBuf,
    below: PathBuf,
}

impl Resolved {
    fn path(&self) -> PathBuf {
        self.root.join(&self.below)
    }

    /// The open directory that it lies in, and its name there.
    fn parent(&self) -> Result<(OwnedFd, OsString), LocalError> {
        let name = self.below.file_name().ok_or(LocalError::NotRegular("a directory"))?;
        let directory = self.walk(self.below.parent().unwrap_or(Path::new("")))?;
        Ok((directory, name.to_owned()))
    }

    /// Opens a directory below the root, through no link.
    fn walk(&self, below: &Path) -> Result<OwnedFd, LocalError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut directory = sys::open(&self.root, flags, Mode::empty())?;
        for part in below.components() {
            directory = sys::openat(&directory, part.as_os_str(), flags, Mode::empty())?;
        }
        Ok(directory)
    }
}

/// Follows the links of a path as long as they stay inside the roots.
fn resolve(path: &Path, roots: &Roots) -> Result<Resolved, LocalError> {
    // A root may be a link itself: whoever configured it has looked at it.
    let places: Vec<(&Path, PathBuf)> =
        roots.directories().filter_map(|root| Some((root, root.canonicalize().ok()?))).collect();
    // As written below a root as written, or below where a root really is; the rest is untouched.
    let enter = |path: &Path| {
        places.iter().find_map(|(written, real)| {
            let below = path.strip_prefix(written).or_else(|_| path.strip_prefix(real)).ok()?;
            Some((real.clone(), names(below)))
        })
    };
    if roots.directories().all(|root| !path.starts_with(root)) && enter(path).is_none() {
        return Err(LocalError::Outside);
    }
    // Below a root that does not exist, if not below one that does.
    let (mut root, mut left) = enter(path).ok_or(LocalError::NotFound)?;
    let mut below = PathBuf::new();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            if !below.pop() {
                // Above this root may still be below another.
                let up = root.parent().map(Path::to_path_buf).ok_or(LocalError::Outside)?;
                let (real, rest) = enter(&up).ok_or(LocalError::Outside)?;
                root = real;
                below = rest.into_iter().collect();
            }
            continue;
        }
        let here = root.join(&below).join(&name);
        match sys::readlink(&here, Vec::new()) {
            Err(Errno::INVAL) => below.push(name),
            Err(errno) => return Err(errno.into()),
            Ok(target) => {
                links += 1;
                if links > LINKS {
                    return Err(LocalError::NotFound);
                }
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                let mut first = names(&target);
                if target.is_absolute() {
                    let (real, rest) = enter(&target).ok_or(LocalError::Outside)?;
                    (root, below, first) = (real, PathBuf::new(), rest);
                }
                first.append(&mut left);
                left = first;
            }
        }
    }
    Ok(Resolved { root, below })
}

/// The names of a path, and its steps upwards.
fn names(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests;
