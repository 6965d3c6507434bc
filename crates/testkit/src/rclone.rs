//! A real S3 server and a real web server: `rclone serve` offers both.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::kube::PkiError;
use crate::kube::assets::{self, AssetError, Binary};
use crate::kube::process::{ChildCommand, ChildProcess, ProcessError};

const READY_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum TestServerError {
    #[error("cannot find or build the server's program")]
    Asset(#[from] AssetError),
    #[error("the server did not start")]
    Process(#[from] ProcessError),
    #[error("cannot use the directory of the server")]
    Directory(#[from] io::Error),
    #[error("cannot create the certificate of the server")]
    Certificate(#[from] PkiError),
}

/// The path of rclone, which is built once per machine.
pub fn program() -> Result<PathBuf, TestServerError> {
    Ok(assets::ensure(&[Binary::Rclone])?.path(Binary::Rclone).to_owned())
}

/// `rclone serve` of a temporary directory, until it is dropped.
#[derive(Debug)]
pub struct RcloneServer {
    _process: ChildProcess,
    url: String,
    directory: tempfile::TempDir,
}

impl RcloneServer {
    /// `protocol` is `s3` or `http`.
    pub async fn start(protocol: &str, options: &[&str]) -> Result<Self, TestServerError> {
        let directory = tempfile::Builder::new().prefix("vmafx-rclone-").tempdir()?;
        let (files, log) = (directory.path().join("files"), directory.path().join("log"));
        fs::create_dir(&files)?;
        let launch = ChildCommand::new(format!("rclone serve {protocol}"), program()?, &log)
            .args([
                "serve",
                protocol,
                "--addr=127.0.0.1:0",
                "--config=/dev/null",
                "--dir-cache-time=0s",
                "--poll-interval=0s",
            ])
            .args(options.iter().copied())
            .arg(&files)
            .env("RCLONE_CACHE_DIR", directory.path().join("cache"));
        let mut process = ChildProcess::start(&launch)?;
        let url = process.ready(READY_TIMEOUT, async || listening(&log)).await?;
        Ok(Self { _process: process, url, directory })
    }

    /// `http://127.0.0.1:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The directory that is served.
    pub fn files(&self) -> PathBuf {
        self.directory.path().join("files")
    }
}

/// The listen address from the log.
fn listening(log: &Path) -> Option<String> {
    let log = fs::read_to_string(log).ok()?;
    let (_, after) = log.split_once("[http://")?;
    let (address, _) = after.split_once(['/', ']'])?;
    Some(format!("http://{address}"))
}
