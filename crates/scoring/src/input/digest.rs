//! The digest by which a result names its inputs.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::error::InputError;

/// Large enough that BLAKE3 fills its widest vectors and system calls do not count.
const BUFFER: usize = 256 * 1024;

/// `blake3:` and 64 hexadecimal digits of the whole file, read in pieces.
pub fn digest(path: &Path) -> Result<String, InputError> {
    let mut file = File::open(path).map_err(|source| InputError::Open { path: path.to_owned(), source })?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(format!("blake3:{}", hasher.finalize().to_hex())),
            Ok(read) => _ = hasher.update(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => return Err(InputError::Digest { path: path.to_owned(), source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_digest_of_the_bytes_also_across_buffers() {
        let bytes: Vec<u8> = (0..=250).cycle().take(BUFFER * 2 + 77).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        assert_eq!(digest(file.path()).unwrap(), format!("blake3:{}", blake3::hash(&bytes).to_hex()));
    }

    #[test]
    fn names_a_file_that_is_not_there() {
        let error = digest(Path::new("no/such.y4m")).unwrap_err();
        assert_eq!(error.to_string(), "cannot open no/such.y4m");
    }
}
