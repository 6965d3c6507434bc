//! Settings that are files: read whole, bounded, and strictly.

use std::io;
use std::path::{Path, PathBuf};

use tokio::io::AsyncReadExt;

/// Nobody's tenants or tokens are longer.
const LONGEST: u64 = 4 * 1024 * 1024;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It cannot be read.
    #[error("cannot read {} ({variable})", file.display())]
    Read {
        /// The variable that names it.
        variable: &'static str,
        /// The file.
        file: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It says something that cannot be.
    #[error("{} cannot be used ({variable}): {problem}", file.display())]
    Content {
        /// The variable that names it.
        variable: &'static str,
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// The text of a file.
pub(super) async fn read(file: &Path, variable: &'static str) -> Result<String, DocumentError> {
    let content = async {
        let mut text = String::new();
        let mut file = tokio::fs::File::open(file).await?.take(LONGEST + 1);
        file.read_to_string(&mut text).await?;
        if text.len() as u64 > LONGEST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has more than 4 MiB"));
        }
        Ok(text)
    };
    content.await.map_err(|source| DocumentError::Read { variable, file: file.to_owned(), source })
}

/// Warns of a file with secrets in it that everybody on the machine can read.
pub(super) async fn warn_if_open(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if let Ok(metadata) = tokio::fs::metadata(file).await
        && metadata.permissions().mode() & 0o004 != 0
    {
        tracing::warn!(file = %file.display(), "everybody on this machine can read the tokens: chmod o= it");
    }
}
