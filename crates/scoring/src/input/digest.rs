//! The digest that identifies an input in a result.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::activity::ReadActivity;
use super::error::InputError;

/// Large enough that BLAKE3 uses its widest vectors and the cost of system calls is negligible.
const BUFFER_BYTES: usize = 256 * 1024;

/// `blake3:` and 64 hexadecimal digits of the whole file.
pub fn digest(path: &Path) -> Result<String, InputError> {
    digest_until(path, &ReadActivity::default(), || false)
}

/// The same; `stopped` is called before every read and ends it with [`InputError::Stopped`].
pub fn digest_until(
    path: &Path,
    activity: &ReadActivity,
    stopped: impl Fn() -> bool,
) -> Result<String, InputError> {
    let mut file = File::open(path).map_err(|source| InputError::Open { path: path.to_owned(), source })?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        if stopped() {
            return Err(InputError::Stopped { path: path.to_owned() });
        }
        match file.read(&mut buffer) {
            Ok(0) => return Ok(text(&hasher)),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                activity.add_bytes(read);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => return Err(InputError::Digest { path: path.to_owned(), source }),
        }
    }
}

pub(super) fn text(hasher: &blake3::Hasher) -> String {
    format!("blake3:{}", hasher.finalize().to_hex())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn equals_the_digest_of_the_bytes_also_across_buffers() {
        let bytes: Vec<u8> = (0..=250).cycle().take(BUFFER_BYTES * 2 + 77).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        assert_eq!(digest(file.path()).unwrap(), format!("blake3:{}", blake3::hash(&bytes).to_hex()));
    }

    #[test]
    fn stops_in_the_middle_of_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![0; BUFFER_BYTES * 3]).unwrap();
        let asked = Cell::new(0);
        let stopped = || {
            asked.set(asked.get() + 1);
            asked.get() == 2
        };
        assert!(matches!(
            digest_until(file.path(), &ReadActivity::default(), stopped),
            Err(InputError::Stopped { .. })
        ));
    }

    #[test]
    fn names_a_file_that_is_not_there() {
        let error = digest(Path::new("no/such.y4m")).unwrap_err();
        assert_eq!(error.to_string(), "cannot open no/such.y4m");
    }
}
