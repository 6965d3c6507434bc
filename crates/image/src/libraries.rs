//! The shared libraries that a program needs, directly and indirectly.
//!
//! They are searched as the dynamic loader in the image will search them: in the directories that an object names
//! itself, then in those that are built into the loader. An image has no `/etc/ld.so.cache`, so directories of this
//! machine's `/etc/ld.so.conf` are ignored, and so are variants for newer processors, since the image runs elsewhere.
//!
//! Libraries that a program opens at run time (plugins, drivers) are not found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::elf::{ElfError, ElfFile};

#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("cannot read {}", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot parse {}", .path.display())]
    Elf {
        path: PathBuf,
        #[source]
        source: ElfError,
    },
    #[error("{library}, which {} needs, is in none of the default directories of the dynamic loader", .by.display())]
    Missing { library: String, by: PathBuf },
}

/// The libraries of programs, with all that those need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibraryClosure {
    /// The path at which the loader finds each library, and the file of this machine to copy there.
    pub files: BTreeMap<PathBuf, PathBuf>,
    /// Symbolic links in those paths, such as `/lib64`.
    pub links: BTreeMap<PathBuf, PathBuf>,
}

#[derive(Debug, Clone)]
pub struct LibraryResolver {
    directories: Vec<PathBuf>,
}

impl Default for LibraryResolver {
    /// The directories that are built into Debian's dynamic loader.
    fn default() -> Self {
        let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
        let of_triplet = ["/lib", "/usr/lib"].map(|above| Path::new(above).join(&triplet));
        let plain = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"].map(PathBuf::from);
        Self::new(of_triplet.into_iter().chain(plain))
    }
}

impl LibraryResolver {
    /// Searches these directories, after those that a program names itself.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { directories: directories.into_iter().collect() }
    }

    /// The loader and all libraries of these programs or libraries, without the files themselves.
    pub fn closure<P: AsRef<Path>>(
        &self,
        files: impl IntoIterator<Item = P>,
    ) -> Result<LibraryClosure, LibraryError> {
        let mut closure = LibraryClosure::default();
        let mut pending: Vec<PathBuf> = files.into_iter().map(|file| file.as_ref().to_owned()).collect();
        let mut visited: BTreeSet<PathBuf> = pending.iter().cloned().collect();
        while let Some(file) = pending.pop() {
            for library in self.direct_dependencies(&file)? {
                let real = real(&library)?;
                closure.add(&library, &real)?;
                if visited.insert(real.clone()) {
                    pending.push(real);
                }
            }
        }
        Ok(closure)
    }

    /// Libraries by name, with all that they need.
    pub fn libraries(&self, names: &[&str]) -> Result<LibraryClosure, LibraryError> {
        let missing = |name: &str| LibraryError::Missing { library: name.to_owned(), by: "the image".into() };
        let libraries = names.iter().map(|name| self.find(name).ok_or_else(|| missing(name)));
        let libraries = libraries.collect::<Result<Vec<_>, _>>()?;
        let mut closure = self.closure(&libraries)?;
        for library in &libraries {
            closure.add(library, &real(library)?)?;
        }
        Ok(closure)
    }

    pub fn find(&self, library: &str) -> Option<PathBuf> {
        self.directories.iter().map(|directory| directory.join(library)).find(|path| path.is_file())
    }

    fn direct_dependencies(&self, file: &Path) -> Result<Vec<PathBuf>, LibraryError> {
        let elf = parse(file)?;
        let origin = real(file)?.parent().map(|above| above.display().to_string()).unwrap_or_default();
        let own = elf
            .search
            .iter()
            .map(|entry| PathBuf::from(entry.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)));
        let directories: Vec<_> = own.chain(self.directories.iter().cloned()).collect();
        let loader = elf.interpreter.as_deref().map(PathBuf::from);
        let is_loader = |library: &str| library.starts_with("ld-linux");
        let mut dependencies: Vec<_> = loader.into_iter().collect();
        // Libraries also name the loader, which is the program's interpreter and already in the list.
        for library in elf.needed.iter().filter(|library| !is_loader(library)) {
            let matches_machine =
                |path: &PathBuf| parse(path).is_ok_and(|other| other.machine == elf.machine);
            let path = directories.iter().map(|directory| directory.join(library)).find(matches_machine);
            let missing = || LibraryError::Missing { library: library.clone(), by: file.to_owned() };
            dependencies.push(path.ok_or_else(missing)?);
        }
        Ok(dependencies)
    }
}

impl LibraryClosure {
    /// Adds a library under the real path of its directory: a layer must not contain paths through links of another.
    fn add(&mut self, path: &Path, file: &Path) -> Result<(), LibraryError> {
        let top: PathBuf = path.iter().take(2).collect();
        if let Ok(to) = fs::read_link(&top) {
            self.links.insert(top, to);
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
        self.files.insert(real(above)?.join(name), file.to_owned());
        Ok(())
    }
}

fn real(path: &Path) -> Result<PathBuf, LibraryError> {
    fs::canonicalize(path).map_err(|source| LibraryError::Read { path: path.to_owned(), source })
}

fn parse(path: &Path) -> Result<ElfFile, LibraryError> {
    let file = fs::read(path).map_err(|source| LibraryError::Read { path: path.to_owned(), source })?;
    ElfFile::parse(&file).map_err(|source| LibraryError::Elf { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
