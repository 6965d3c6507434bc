//! Files and directories of this machine, opened so that nothing outside the roots can be reached.
//!
//! There are two steps. First the path is *resolved*: links are followed by hand, and a link that leads out of the roots
//! ends the search before anything outside is touched, so that nobody learns what exists there. Then the resolved path,
//! which contains no link any more, is *walked* from the root's directory, one name at a time, each relative to the open
//! directory before and none of them through a link. A name that is swapped for a link between the two steps makes the
//! walk fail; a directory that is moved away is found by the walk with its content, which was inside the roots.
//!
//! The file stays open as long as the clip is in use. A worker opens the path again, and compares the file with
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

use super::scoring_roots::ScoringRoots;

/// The limit of the kernel.
const MAX_LINKS: usize = 40;

/// Magic numbers of file systems whose files belong to the kernel.
const KERNEL_FILE_SYSTEMS: [u32; 11] = [
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

/// Why a path cannot be used. The message follows the address of the clip.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Not below a root, directly or through a link.
    #[error("it is outside the locations that this job may use")]
    Outside,
    #[error("there is no such file")]
    NotFound,
    /// A FIFO, a device, a socket, a directory, or a file of the kernel.
    #[error("it is {0}, not a regular file")]
    NotRegular(&'static str),
    #[error("it was replaced while it was opened")]
    Swapped,
    #[error("permission to open it is denied")]
    Denied(#[source] io::Error),
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

/// Identity of a file on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileId {
    pub device: u64,
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
    pub fn open(path: &Path, roots: &ScoringRoots) -> Result<Self, LocalError> {
        let resolved = resolve(path, roots)?;
        let (directory, name) = resolved.parent()?;
        // First without read access, because opening a device or FIFO for reading has side effects.
        let checked =
            sys::openat(&directory, &name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let id = regular(&checked)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = sys::openat(&directory, &name, flags, Mode::empty())?;
        if regular(&file)? != id {
            return Err(LocalError::Swapped);
        }
        let length = u64::try_from(sys::fstat(&file)?.st_size).unwrap_or(0);
        Ok(Self { path: resolved.path(), file: file.into(), id, length })
    }

    /// The resolved path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn id(&self) -> FileId {
        self.id
    }

    /// Length when it was opened.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// Opens the directory for a new file, and returns the name of the file in it. The directory must exist.
pub fn parent_of_new(path: &Path, roots: &ScoringRoots) -> Result<(OwnedFd, OsString), LocalError> {
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
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magic numbers have 32 bits")]
    let kind = sys::fstatfs(file)?.f_type as u32;
    if KERNEL_FILE_SYSTEMS.contains(&kind) {
        return Err(LocalError::NotRegular("a file of the kernel"));
    }
    Ok(FileId { device: stat.st_dev, inode: stat.st_ino })
}

/// A path without links: a resolved root, and names below it.
#[derive(Debug)]
struct ResolvedPath {
    root: PathBuf,
    below: PathBuf,
}

impl ResolvedPath {
    fn path(&self) -> PathBuf {
        self.root.join(&self.below)
    }

    /// The open directory of the file, and its name there.
    fn parent(&self) -> Result<(OwnedFd, OsString), LocalError> {
        let name = self.below.file_name().ok_or(LocalError::NotRegular("a directory"))?;
        let directory = self.walk(self.below.parent().unwrap_or(Path::new("")))?;
        Ok((directory, name.to_owned()))
    }

    /// Opens a directory below the root without following a link.
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
fn resolve(path: &Path, roots: &ScoringRoots) -> Result<ResolvedPath, LocalError> {
    // A root may be a link itself, because an administrator configured it.
    let real_roots: Vec<(&Path, PathBuf)> =
        roots.directories().filter_map(|root| Some((root, root.canonicalize().ok()?))).collect();
    // Splits a path into the resolved root and the names below it, whether the root is written as configured or resolved.
    let enter = |path: &Path| {
        real_roots.iter().find_map(|(written, real)| {
            let below = path.strip_prefix(written).or_else(|_| path.strip_prefix(real)).ok()?;
            Some((real.clone(), names(below)))
        })
    };
    if roots.directories().all(|root| !path.starts_with(root)) && enter(path).is_none() {
        return Err(LocalError::Outside);
    }
    // A path below a root that does not exist is not found.
    let (mut root, mut left) = enter(path).ok_or(LocalError::NotFound)?;
    let mut below = PathBuf::new();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            if !below.pop() {
                // The parent of this root may be below another root.
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
                if links > MAX_LINKS {
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
    Ok(ResolvedPath { root, below })
}

/// The names of a path, and its `..`.
fn names(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests;
