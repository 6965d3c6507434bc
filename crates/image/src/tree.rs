//! The files of a layer.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

use crate::error::ImageError;
use crate::libraries::LibraryClosure;

#[derive(Debug, Clone, PartialEq, Eq)]
enum TreeEntry {
    Directory { mode: u32 },
    File { from: PathBuf, mode: u32 },
    Bytes { content: Vec<u8>, mode: u32 },
    Symlink { to: PathBuf },
}

/// Files, directories and links by path. All are owned by root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayerTree(BTreeMap<PathBuf, TreeEntry>);

impl LayerTree {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file of this machine, which is read when the layer is written.
    #[must_use]
    pub fn file(self, path: impl AsRef<Path>, from: impl Into<PathBuf>, mode: u32) -> Self {
        self.entry(path.as_ref(), TreeEntry::File { from: from.into(), mode })
    }

    /// Adds a file with this content.
    #[must_use]
    pub fn bytes(self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>, mode: u32) -> Self {
        self.entry(path.as_ref(), TreeEntry::Bytes { content: content.into(), mode })
    }

    /// Adds a directory. Parent directories of entries are added automatically.
    #[must_use]
    pub fn directory(self, path: impl AsRef<Path>, mode: u32) -> Self {
        self.entry(path.as_ref(), TreeEntry::Directory { mode })
    }

    #[must_use]
    pub fn symlink(self, path: impl AsRef<Path>, to: impl Into<PathBuf>) -> Self {
        self.entry(path.as_ref(), TreeEntry::Symlink { to: to.into() })
    }

    /// Adds the libraries of programs at the paths where their loader finds them.
    #[must_use]
    pub fn libraries(mut self, closure: &LibraryClosure) -> Self {
        for (path, to) in &closure.links {
            self = self.symlink(path, to);
        }
        for (path, from) in &closure.files {
            self = self.file(path, from, 0o755);
        }
        self
    }

    /// Removes the entries that a lower layer has already.
    #[must_use]
    pub fn without(mut self, lower: &Self) -> Self {
        self.0.retain(|path, entry| lower.0.get(path) != Some(entry));
        self
    }

    pub fn contains(&self, path: impl AsRef<Path>) -> bool {
        self.0.contains_key(relative(path.as_ref()))
    }

    fn entry(mut self, path: &Path, entry: TreeEntry) -> Self {
        let path = relative(path);
        for parent in path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
            self.0.entry(parent.to_owned()).or_insert(TreeEntry::Directory { mode: 0o755 });
        }
        self.0.insert(path.to_owned(), entry);
        self
    }

    pub(crate) fn write<W: Write>(&self, target: W) -> Result<W, ImageError> {
        let mut tar = Builder::new(target);
        // Paths are sorted, so a directory comes before its content.
        for (path, entry) in &self.0 {
            append(&mut tar, path, entry)
                .map_err(|source| ImageError::Input { path: path.clone(), source })?;
        }
        tar.into_inner().map_err(|source| ImageError::Input { path: PathBuf::new(), source })
    }
}

fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn append<W: Write>(tar: &mut Builder<W>, path: &Path, entry: &TreeEntry) -> io::Result<()> {
    match entry {
        TreeEntry::Directory { mode } => {
            tar.append_data(&mut header(EntryType::Directory, *mode, 0), path, io::empty())
        }
        TreeEntry::Bytes { content, mode } => append_bytes(tar, path, content, *mode),
        TreeEntry::Symlink { to } => tar.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, to),
        TreeEntry::File { from, mode } => append_file(tar, path, from, *mode),
    }
}

pub(crate) fn append_file<W: Write>(
    tar: &mut Builder<W>,
    path: &Path,
    from: &Path,
    mode: u32,
) -> io::Result<()> {
    let file = File::open(from)?;
    let size = fs::metadata(from)?.len();
    // A file that grows meanwhile must not exceed the size in its header.
    tar.append_data(&mut header(EntryType::Regular, mode, size), path, file.take(size))
}

pub(crate) fn append_bytes<W: Write>(
    tar: &mut Builder<W>,
    path: &Path,
    bytes: &[u8],
    mode: u32,
) -> io::Result<()> {
    tar.append_data(&mut header(EntryType::Regular, mode, bytes.len() as u64), path, bytes)
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

#[cfg(test)]
mod tests;
