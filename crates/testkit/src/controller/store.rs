//! Copies of a controller's SQLite store, for tests of restored backups. The controller must not be running.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::ControllerServer;

impl ControllerServer {
    /// The SQLite file; the directory contains nothing but this file and SQLite's own files next to it.
    pub fn database(&self) -> PathBuf {
        self.store().join("queue.db")
    }

    pub fn copy_store(&self) -> io::Result<TempDir> {
        let copy = tempfile::tempdir()?;
        copy_files(&self.store(), copy.path())?;
        Ok(copy)
    }

    pub fn delete_store(&self) -> io::Result<()> {
        fs::remove_dir_all(self.store())?;
        fs::create_dir(self.store())
    }

    /// Replaces the store by a copy.
    pub fn restore_store(&self, copy: &Path) -> io::Result<()> {
        self.delete_store()?;
        copy_files(copy, &self.store())
    }

    fn store(&self) -> PathBuf {
        self.directory().join("store")
    }
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for file in fs::read_dir(from)? {
        let file = file?;
        fs::copy(file.path(), to.join(file.file_name()))?;
    }
    Ok(())
}
