//! Downloads, and private directories of jobs.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::fs::File;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _, BufWriter};

use super::agent_directory::create_private;
use super::quota::{Reservation, ScratchFull};
use super::{ReserveMode, Scratch, ScratchError};

/// Bytes that are buffered before they are written.
const WRITE_BUFFER: usize = 1 << 20;

/// The private directory of a job; removed on drop.
#[derive(Debug)]
pub struct JobDirectory {
    path: PathBuf,
    // Keeps the directory of the process from being removed first.
    _scratch: Scratch,
}

impl JobDirectory {
    pub(super) fn create(scratch: Scratch, path: PathBuf) -> Result<Self, ScratchError> {
        create_private(&path).map_err(|source| ScratchError { path: path.clone(), source })?;
        Ok(Self { path, _scratch: scratch })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for JobDirectory {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove the directory of a job");
        }
    }
}

/// Removes a directory with all that is in it, even if a worker has removed its own permission to list it.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            restore_permissions(path)?;
            fs::remove_dir_all(path)
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn restore_permissions(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            restore_permissions(&entry.path())?;
        }
    }
    Ok(())
}

/// A file that is being written, within reserved space; removed on drop.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    length: u64,
    reservation: Reservation,
    scratch: Scratch,
}

impl ScratchFile {
    /// Blocks rather than use another thread: a caller that is dropped while it waits would leave a file without an owner.
    pub(super) fn create(scratch: Scratch, path: PathBuf) -> Result<Self, ScratchError> {
        let file = fs::File::options().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|source| ScratchError { path: path.clone(), source })?;
        let file = Some(BufWriter::with_capacity(WRITE_BUFFER, File::from_std(file)));
        Ok(Self { path, file, length: 0, reservation: Reservation::default(), scratch })
    }

    /// Reserves space for this many bytes in total.
    pub(crate) async fn reserve(&mut self, bytes: u64, mode: ReserveMode) -> Result<(), ScratchFull> {
        let missing = bytes.saturating_sub(self.reservation.bytes());
        if missing > 0 {
            self.reservation.join(self.scratch.reserve_more(missing, self.reservation.bytes(), mode).await?);
        }
        Ok(())
    }

    pub(crate) fn reserved(&self) -> u64 {
        self.reservation.bytes()
    }

    /// Bytes that were written.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.open()?.write_all(bytes).await?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Truncates the file to this many bytes.
    pub(crate) async fn rewind(&mut self, length: u64) -> io::Result<()> {
        let file = self.open()?;
        file.flush().await?;
        file.get_mut().set_len(length).await?;
        file.seek(io::SeekFrom::Start(length)).await?;
        self.length = length;
        Ok(())
    }

    /// Closes the file, verifies its length and releases unused space.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        self.open()?.flush().await?;
        let real = self.open()?.get_ref().metadata().await?.len();
        if real != self.length {
            return Err(io::Error::other(format!(
                "the file has {real} bytes, but {} were written",
                self.length
            )));
        }
        self.file = None;
        self.reservation.shrink_to(self.length);
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn open(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.file.as_mut().ok_or_else(|| io::Error::other("the file is closed"))
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove a download");
        }
    }
}
