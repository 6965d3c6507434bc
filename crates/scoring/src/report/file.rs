//! Replaces a file atomically.
//!
//! A report is written to a temporary file in the directory of the target, and renamed when it is complete. An error, or a
//! cancelled run that drops the writer, leaves the target unchanged and no other file behind.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot create {}", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("{} is not a regular file and is not replaced; give another path", path.display())]
    NotRegular { path: PathBuf },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Checks whether the file can be written, so that a user does not learn after an hour of scoring that it cannot.
pub fn check(path: &Path) -> Result<(), FileError> {
    temporary_file_beside(&resolve(path)?).map(drop)
}

/// Replaces a file with what `fill` writes.
pub fn replace<E>(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), E>
where
    E: From<FileError>,
{
    let target = resolve(path)?;
    let mut out = BufWriter::new(temporary_file_beside(&target)?);
    fill(&mut out)?;
    let failed = |source| FileError::Write { path: path.to_owned(), source };
    let temporary = out.into_inner().map_err(|error| failed(error.into_error()))?;
    // Without this, a crash of the machine may leave an empty file under the new name.
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Follows a symbolic link, so that its target is replaced and not the link.
fn resolve(path: &Path) -> Result<PathBuf, FileError> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(FileError::NotRegular { path: path.to_owned() }),
        Ok(_) => fs::canonicalize(path).map_err(|source| FileError::Create { path: path.to_owned(), source }),
        Err(_) => Ok(path.to_owned()),
    }
}

/// In the same directory, because a rename cannot cross file systems.
fn temporary_file_beside(target: &Path) -> Result<NamedTempFile, FileError> {
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".vmafx-");
    // Temporary files are private by default; a report has the permissions of any new file of the user.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let failed = |source| FileError::Create { path: target.to_owned(), source };
    fs::metadata(directory).map_err(failed)?;
    // The error of `tempfile` names the temporary file, which a user does not know, so only its kind is kept.
    builder.tempfile_in(directory).map_err(|error| failed(error.kind().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn write(path: &Path, text: &str) -> Result<(), FileError> {
        replace(path, |out| {
            out.write_all(text.as_bytes())
                .map_err(|source| FileError::Write { path: path.to_owned(), source })
        })
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(names(directory.path()), ["a.json"]);
    }

    #[test]
    fn a_failure_half_way_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        write(&path, "old").unwrap();
        let result = replace(&path, |out| {
            out.write_all(b"half").unwrap();
            Err(FileError::NotRegular { path: "made up".into() })
        });
        assert!(result.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(directory.path()), ["a.json"]);
    }

    #[test]
    fn a_missing_directory_is_found_before_anything_is_computed() {
        let directory = tempfile::tempdir().unwrap();
        let error = check(&directory.path().join("missing").join("a.html")).unwrap_err();
        let FileError::Create { source, .. } = error else { panic!("{error}") };
        assert!(!source.to_string().contains(".vmafx-"), "{source}");
        check(&directory.path().join("a.html")).unwrap();
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn a_directory_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(write(directory.path(), "x"), Err(FileError::NotRegular { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("a.csv"), directory.path().join("latest.csv"));
        write(&path, "one").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, "two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    }
}
