//! What is in a layer.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

use crate::closure::Closure;
use crate::error::ImageError;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Directory { mode: u32 },
    File { from: PathBuf, mode: u32 },
    Bytes { content: Vec<u8>, mode: u32 },
    Symlink { to: PathBuf },
}

/// Files, directories and links by their paths. All belong to root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<PathBuf, Entry>);

impl Tree {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A file of this machine, read when the layer is written.
    #[must_use]
    pub fn file(self, path: impl AsRef<Path>, from: impl Into<PathBuf>, mode: u32) -> Self {
        self.entry(path.as_ref(), Entry::File { from: from.into(), mode })
    }

    /// A file with this content.
    #[must_use]
    pub fn bytes(self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>, mode: u32) -> Self {
        self.entry(path.as_ref(), Entry::Bytes { content: content.into(), mode })
    }

    /// A directory. Those above any entry are made without being asked for.
    #[must_use]
    pub fn directory(self, path: impl AsRef<Path>, mode: u32) -> Self {
        self.entry(path.as_ref(), Entry::Directory { mode })
    }

    /// A symbolic link.
    #[must_use]
    pub fn symlink(self, path: impl AsRef<Path>, to: impl Into<PathBuf>) -> Self {
        self.entry(path.as_ref(), Entry::Symlink { to: to.into() })
    }

    /// The libraries of programs, where their loader looks for them.
    #[must_use]
    pub fn libraries(mut self, closure: &Closure) -> Self {
        for (path, to) in &closure.links {
            self = self.symlink(path, to);
        }
        for (path, from) in &closure.files {
            self = self.file(path, from, 0o755);
        }
        self
    }

    /// Without what a layer below has already.
    #[must_use]
    pub fn above(mut self, below: &Self) -> Self {
        self.0.retain(|path, entry| below.0.get(path) != Some(entry));
        self
    }

    /// Whether there is such an entry.
    pub fn contains(&self, path: impl AsRef<Path>) -> bool {
        self.0.contains_key(relative(path.as_ref()))
    }

    fn entry(mut self, path: &Path, entry: Entry) -> Self {
        let path = relative(path);
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            self.0.entry(above.to_owned()).or_insert(Entry::Directory { mode: 0o755 });
        }
        self.0.insert(path.to_owned(), entry);
        self
    }

    /// Writes the tar file.
    pub(crate) fn write<W: Write>(&self, target: W) -> Result<W, ImageError> {
        let mut tar = Builder::new(target);
        // In order: a directory sorts before what it holds.
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

fn append<W: Write>(tar: &mut Builder<W>, path: &Path, entry: &Entry) -> io::Result<()> {
    match entry {
        Entry::Directory { mode } => {
            tar.append_data(&mut header(EntryType::Directory, *mode, 0), path, io::empty())
        }
        Entry::Bytes { content, mode } => append_bytes(tar, path, content, *mode),
        Entry::Symlink { to } => tar.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, to),
        Entry::File { from, mode } => append_file(tar, path, from, *mode),
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
    // A file that grows meanwhile must not spill over its entry.
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
