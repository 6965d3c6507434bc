//! An input that is here.

use std::ops::Deref;
use std::path::Path;

use crate::paths::local::LocalFile;
use crate::scratch::ScratchFile;

/// A file of this machine, there as long as this value is.
#[derive(Debug)]
pub struct Fetched(Kind);

#[derive(Debug)]
enum Kind {
    /// In its place, and kept open.
    Local(LocalFile),
    /// A download of ours, removed on drop.
    Downloaded(ScratchFile),
}

impl Fetched {
    pub(super) fn local(file: LocalFile) -> Self {
        Self(Kind::Local(file))
    }

    pub(super) fn downloaded(file: ScratchFile) -> Self {
        Self(Kind::Downloaded(file))
    }

    /// Bytes.
    pub fn length(&self) -> u64 {
        match &self.0 {
            Kind::Local(file) => file.length(),
            Kind::Downloaded(file) => file.length(),
        }
    }

    /// The open file, if it is used in place: somebody else could replace what its path leads to.
    pub fn in_place(&self) -> Option<&LocalFile> {
        match &self.0 {
            Kind::Local(file) => Some(file),
            Kind::Downloaded(_) => None,
        }
    }
}

impl Deref for Fetched {
    type Target = Path;

    fn deref(&self) -> &Path {
        match &self.0 {
            Kind::Local(file) => file.path(),
            Kind::Downloaded(file) => file.path(),
        }
    }
}

impl AsRef<Path> for Fetched {
    fn as_ref(&self) -> &Path {
        self
    }
}
