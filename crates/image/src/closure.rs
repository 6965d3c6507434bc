//! All the libraries of a program.
//!
//! Looked for as the loader of the image will: in the directories that an object names itself, then in those that are
//! built into the loader. An image has no `/etc/ld.so.cache`, so what only this machine's `/etc/ld.so.conf` knows does
//! not count; and variants for newer processors are passed over, since the image runs elsewhere.
//!
//! What a program opens by name while it runs (plugins, drivers) is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::elf::{Elf, ElfError};

/// Why the libraries are not known.
#[derive(Debug, thiserror::Error)]
pub enum ClosureError {
    /// A file that could not be read.
    #[error("{} cannot be read", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file that is no program.
    #[error("{} is not understood", .path.display())]
    Elf {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: ElfError,
    },
    /// A library that is not where the loader looks.
    #[error("{library}, which {} needs, is in none of the directories that the loader knows by itself", .by.display())]
    Missing {
        /// Its name.
        library: String,
        /// Who needs it.
        by: PathBuf,
    },
}

/// What programs are linked with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closure {
    /// Where the loader finds each library, and which file of this machine that is.
    pub files: BTreeMap<PathBuf, PathBuf>,
    /// Links on the way there, such as `/lib64`.
    pub links: BTreeMap<PathBuf, PathBuf>,
}

/// Looks for libraries.
#[derive(Debug, Clone)]
pub struct Linker {
    directories: Vec<PathBuf>,
}

impl Default for Linker {
    /// The directories that are built into Debian's loader.
    fn default() -> Self {
        let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
        let of_triplet = ["/lib", "/usr/lib"].map(|above| Path::new(above).join(&triplet));
        let plain = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"].map(PathBuf::from);
        Self::new(of_triplet.into_iter().chain(plain))
    }
}

impl Linker {
    /// Looks in these directories, after those that a program names.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { directories: directories.into_iter().collect() }
    }

    /// The loader and all libraries of these files, which may be programs or libraries. They themselves are not in it.
    pub fn closure<P: AsRef<Path>>(
        &self,
        files: impl IntoIterator<Item = P>,
    ) -> Result<Closure, ClosureError> {
        let mut closure = Closure::default();
        let mut open: Vec<PathBuf> = files.into_iter().map(|file| file.as_ref().to_owned()).collect();
        let mut seen: BTreeSet<PathBuf> = open.iter().cloned().collect();
        while let Some(file) = open.pop() {
            for found in self.directly(&file)? {
                let real = real(&found)?;
                closure.add(&found, &real)?;
                if seen.insert(real.clone()) {
                    open.push(real);
                }
            }
        }
        Ok(closure)
    }

    /// Libraries by their names, with all that they need in turn.
    pub fn libraries(&self, names: &[&str]) -> Result<Closure, ClosureError> {
        let missing = |name: &str| ClosureError::Missing { library: name.to_owned(), by: "the image".into() };
        let found = names.iter().map(|name| self.find(name).ok_or_else(|| missing(name)));
        let found = found.collect::<Result<Vec<_>, _>>()?;
        let mut closure = self.closure(&found)?;
        for library in &found {
            closure.add(library, &real(library)?)?;
        }
        Ok(closure)
    }

    /// Where a library of this name is.
    pub fn find(&self, library: &str) -> Option<PathBuf> {
        self.directories.iter().map(|directory| directory.join(library)).find(|path| path.is_file())
    }

    fn directly(&self, file: &Path) -> Result<Vec<PathBuf>, ClosureError> {
        let elf = parse(file)?;
        let origin = real(file)?.parent().map(|above| above.display().to_string()).unwrap_or_default();
        let own = elf
            .search
            .iter()
            .map(|entry| PathBuf::from(entry.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)));
        let directories: Vec<_> = own.chain(self.directories.iter().cloned()).collect();
        let loader = elf.interpreter.as_deref().map(PathBuf::from);
        let is_loader = |library: &str| library.starts_with("ld-linux");
        let mut found: Vec<_> = loader.into_iter().collect();
        // The loader is there before anything that needs it by name.
        for library in elf.needed.iter().filter(|library| !is_loader(library)) {
            let fits = |path: &PathBuf| parse(path).is_ok_and(|other| other.machine == elf.machine);
            let place = directories.iter().map(|directory| directory.join(library)).find(fits);
            let missing = || ClosureError::Missing { library: library.clone(), by: file.to_owned() };
            found.push(place.ok_or_else(missing)?);
        }
        Ok(found)
    }
}

impl Closure {
    /// At the place where its directory really is: a layer must not go through links of another.
    fn add(&mut self, found: &Path, file: &Path) -> Result<(), ClosureError> {
        let top: PathBuf = found.iter().take(2).collect();
        if let Ok(to) = fs::read_link(&top) {
            self.links.insert(top, to);
        }
        let (Some(above), Some(name)) = (found.parent(), found.file_name()) else { return Ok(()) };
        self.files.insert(real(above)?.join(name), file.to_owned());
        Ok(())
    }
}

fn real(path: &Path) -> Result<PathBuf, ClosureError> {
    fs::canonicalize(path).map_err(|source| ClosureError::Read { path: path.to_owned(), source })
}

fn parse(path: &Path) -> Result<Elf, ClosureError> {
    let file = fs::read(path).map_err(|source| ClosureError::Read { path: path.to_owned(), source })?;
    Elf::parse(&file).map_err(|source| ClosureError::Elf { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
