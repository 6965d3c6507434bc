//! What lies in the directory: downloads, and private directories of jobs.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::fs::File;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _, BufWriter};

use super::home::private;
use super::room::{Full, Reservation};
use super::{Patience, Scratch, ScratchError};

/// What a write collects before it goes to the disk.
const BUFFER: usize = 1 << 20;

/// A job's own directory, for its owner alone; removed on drop.
#[derive(Debug)]
pub struct JobDirectory {
    path: PathBuf,
    // Keeps the process's part of the scratch from being removed first.
    _scratch: Scratch,
}

impl JobDirectory {
    pub(super) fn create(scratch: Scratch, path: PathBuf) -> Result<Self, ScratchError> {
        private(&path).map_err(|source| ScratchError { path: path.clone(), source })?;
        Ok(Self { path, _scratch: scratch })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for JobDirectory {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a job's directory could not be removed");
        }
    }
}

/// Removes a directory with all that is in it, also where a worker has taken away the right to look into it.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn open_up(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

/// A file that is being written, in room that grows with it; removed on drop.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    length: u64,
    room: Reservation,
    scratch: Scratch,
}

impl ScratchFile {
    /// At once, not on another thread: a caller that is dropped while it waits would leave a file without an owner.
    pub(super) fn create(scratch: Scratch, path: PathBuf) -> Result<Self, ScratchError> {
        let file = fs::File::options().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|source| ScratchError { path: path.clone(), source })?;
        let file = Some(BufWriter::with_capacity(BUFFER, File::from_std(file)));
        Ok(Self { path, file, length: 0, room: Reservation::default(), scratch })
    }

    /// Sees to it that this many bytes may be written in all.
    pub(crate) async fn reserve(&mut self, bytes: u64, patience: Patience) -> Result<(), Full> {
        let missing = bytes.saturating_sub(self.room.bytes());
        if missing > 0 {
            self.room.join(self.scratch.reserve_more(missing, self.room.bytes(), patience).await?);
        }
        Ok(())
    }

    /// Bytes for which there is room.
    pub(crate) fn room(&self) -> u64 {
        self.room.bytes()
    }

    /// Bytes written.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.open()?.write_all(bytes).await?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Forgets what was written after this many bytes.
    pub(crate) async fn rewind(&mut self, length: u64) -> io::Result<()> {
        let file = self.open()?;
        file.flush().await?;
        file.get_mut().set_len(length).await?;
        file.seek(io::SeekFrom::Start(length)).await?;
        self.length = length;
        Ok(())
    }

    /// Nothing more comes: what is in the file is what was written, and unused room goes back.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        self.open()?.flush().await?;
        let real = self.open()?.get_ref().metadata().await?.len();
        if real != self.length {
            return Err(io::Error::other(format!(
                "{real} bytes are in the file, {} were written",
                self.length
            )));
        }
        self.file = None;
        self.room.shrink_to(self.length);
        Ok(())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn open(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.file.as_mut().ok_or_else(|| io::Error::other("the file is finished"))
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.path.display(), %error, "a download could not be removed");
        }
    }
}
