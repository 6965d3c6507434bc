//! Reports in directories of this machine.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::{WriteMode, Written};
use crate::paths::ScoringRoots;
use crate::paths::local::{LocalError, parent_of_new};

pub(super) fn write(
    mut report: File,
    path: &Path,
    roots: &ScoringRoots,
    mode: WriteMode,
) -> Result<Written, LocalError> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (directory, name) = parent_of_new(path, roots)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = format!(".vmafx-report-{}-{number}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = sys::openat(&directory, &temporary, flags, Mode::from_raw_mode(0o644))?;
    let mut file = TemporaryFile { directory, name: temporary, file: file.into() };
    io::copy(&mut report, &mut file.file).and_then(|_| file.file.sync_all()).map_err(LocalError::Io)?;
    match mode {
        WriteMode::Overwrite => sys::renameat(&file.directory, &file.name, &file.directory, &name)?,
        WriteMode::Create => match create(&file, &name) {
            Err(Errno::EXIST) => return Ok(Written::Exists),
            created => created?,
        },
    }
    Ok(Written::Yes)
}

/// Gives the temporary file its name, unless something has it.
fn create(file: &TemporaryFile, name: &OsStr) -> Result<(), Errno> {
    let directory = &file.directory;
    match sys::renameat_with(directory, &file.name, directory, name, RenameFlags::NOREPLACE) {
        // Network file systems lack this way to rename, and have links.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            sys::linkat(directory, &file.name, directory, name, AtFlags::empty())
        }
        renamed => renamed,
    }
}

/// Whether there is anything at the path, also a link that leads nowhere.
pub(super) fn is_present(path: &Path, roots: &ScoringRoots) -> Result<bool, LocalError> {
    let (directory, name) = parent_of_new(path, roots)?;
    match sys::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The regular file at the path.
pub(super) fn existing(path: &Path, roots: &ScoringRoots) -> Result<File, LocalError> {
    let (directory, name) = parent_of_new(path, roots)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = sys::openat(&directory, &name, flags, Mode::empty())?;
    match FileType::from_raw_mode(sys::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(LocalError::NotRegular("something else")),
    }
}

/// Removed on drop, unless it was renamed.
struct TemporaryFile {
    directory: OwnedFd,
    name: String,
    file: File,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = sys::unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}
