//! Reads configuration files of bounded size.

use std::io;
use std::path::{Path, PathBuf};

use tokio::io::AsyncReadExt;

const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// `variable` is the environment variable that names the file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigFileError {
    #[error("cannot read {} ({variable})", file.display())]
    Read {
        variable: &'static str,
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} cannot be used ({variable}): {problem}", file.display())]
    Content { variable: &'static str, file: PathBuf, problem: String },
}

pub(super) async fn read(file: &Path, variable: &'static str) -> Result<String, ConfigFileError> {
    let content = async {
        let mut text = String::new();
        let mut file = tokio::fs::File::open(file).await?.take(MAX_BYTES + 1);
        file.read_to_string(&mut text).await?;
        if text.len() as u64 > MAX_BYTES {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than 4 MiB"));
        }
        Ok(text)
    };
    content.await.map_err(|source| ConfigFileError::Read { variable, file: file.to_owned(), source })
}

/// Logs a warning if every user of the machine can read a file with secrets.
pub(super) async fn warn_if_world_readable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if let Ok(metadata) = tokio::fs::metadata(file).await
        && metadata.permissions().mode() & 0o004 != 0
    {
        tracing::warn!(file = %file.display(), "every user of this machine can read the tokens: run chmod o= on the file");
    }
}
