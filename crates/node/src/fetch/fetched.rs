use std::ops::Deref;
use std::path::Path;

use crate::paths::local::LocalFile;
use crate::scratch::ScratchFile;

/// A local file that exists as long as this value.
#[derive(Debug)]
pub struct FetchedFile(Storage);

#[derive(Debug)]
enum Storage {
    /// Used in place, and kept open.
    InPlace(LocalFile),
    /// Removed on drop.
    Downloaded(ScratchFile),
}

impl FetchedFile {
    pub(super) fn local(file: LocalFile) -> Self {
        Self(Storage::InPlace(file))
    }

    pub(super) fn downloaded(file: ScratchFile) -> Self {
        Self(Storage::Downloaded(file))
    }

    pub fn length(&self) -> u64 {
        match &self.0 {
            Storage::InPlace(file) => file.length(),
            Storage::Downloaded(file) => file.length(),
        }
    }

    /// The open file, if it is used in place, where another process could replace it.
    pub fn in_place(&self) -> Option<&LocalFile> {
        match &self.0 {
            Storage::InPlace(file) => Some(file),
            Storage::Downloaded(_) => None,
        }
    }
}

impl Deref for FetchedFile {
    type Target = Path;

    fn deref(&self) -> &Path {
        match &self.0 {
            Storage::InPlace(file) => file.path(),
            Storage::Downloaded(file) => file.path(),
        }
    }
}

impl AsRef<Path> for FetchedFile {
    fn as_ref(&self) -> &Path {
        self
    }
}
