//! A real S3 server and a real web server: rclone serves a directory as either.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::kube::PkiError;
use crate::kube::assets::{self, AssetError, Binary};
use crate::kube::process::{Launch, Process, ProcessError};

const READY: Duration = Duration::from_secs(30);

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Its program could not be had.
    #[error("the program could not be had")]
    Asset(#[from] AssetError),
    /// It could not be started, or did not get ready.
    #[error("the server did not start")]
    Process(#[from] ProcessError),
    /// Its directory could not be made.
    #[error("the directory of the server cannot be used")]
    Directory(#[from] io::Error),
    /// Its certificate could not be made.
    #[error("no certificate for the server")]
    Certificate(#[from] PkiError),
}

/// The program; built once per machine.
pub fn program() -> Result<PathBuf, ServerError> {
    Ok(assets::ensure(&[Binary::Rclone])?.path(Binary::Rclone).to_owned())
}

/// `rclone serve`, of a directory of its own, until it is dropped.
#[derive(Debug)]
pub struct RcloneServer {
    _process: Process,
    url: String,
    directory: tempfile::TempDir,
}

impl RcloneServer {
    /// Starts one: `protocol` is `s3` or `http`.
    pub async fn start(protocol: &str, options: &[&str]) -> Result<Self, ServerError> {
        let directory = tempfile::Builder::new().prefix("vmafx-rclone-").tempdir()?;
        let (files, log) = (directory.path().join("files"), directory.path().join("log"));
        fs::create_dir(&files)?;
        let launch = Launch::new(format!("rclone serve {protocol}"), program()?, &log)
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
        let mut process = Process::start(&launch)?;
        let url = process.ready(READY, async || listening(&log)).await?;
        Ok(Self { _process: process, url, directory })
    }

    /// `http://127.0.0.1:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it serves.
    pub fn files(&self) -> PathBuf {
        self.directory.path().join("files")
    }
}

/// The address that it says it listens on.
fn listening(log: &Path) -> Option<String> {
    let log = fs::read_to_string(log).ok()?;
    let (_, after) = log.split_once("[http://")?;
    let (address, _) = after.split_once(['/', ']'])?;
    Some(format!("http://{address}"))
}
