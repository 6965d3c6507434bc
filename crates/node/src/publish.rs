//! Writes a job's report to the address that the job names.
//!
//! The worker that wrote the report has parsed hostile input, so its file is opened without following links and only if it
//! is a regular file: otherwise a worker that was taken over could have any file of this machine published.
//!
//! A local report appears complete or not at all: it is written to a temporary file beside its path and renamed. Stores
//! guarantee the same for an object; a web server gets one PUT, whose redirects are not followed.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use object_store::buffered::BufWriter;
use reqwest::Method;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE};
use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags};
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;
use url::Url;
use vmafx_job::{Failure, FailureReason};

use crate::fetch::{FetchProblem, Fetcher};
use crate::paths::local::{LocalError, parent_of_new};
use crate::paths::network::NetworkAccess;
use crate::paths::{Address, ObjectAddress, RedactedUri, ScoringRoots};

/// Size of the parts of a multipart upload.
const PART_BYTES: usize = 8 << 20;

#[derive(Clone, Debug)]
pub struct Publisher(Fetcher);

impl Publisher {
    /// Uses the connections and limits of the fetcher.
    pub fn new(fetcher: &Fetcher) -> Self {
        Self(fetcher.clone())
    }

    /// Whether a report may be written to the address. Called before the job is scored.
    pub fn check(&self, uri: &str, roots: &ScoringRoots) -> Result<(), Failure> {
        permitted(uri, roots).map(drop)
    }

    pub async fn publish(
        &self,
        file: &Path,
        uri: &str,
        roots: &ScoringRoots,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let redacted = RedactedUri(uri).to_string();
        let (address, access) = permitted(uri, roots)?;
        let limit = self.0.context().limits.total;
        let written = async {
            let report = open(file).map_err(|error| format!("its file cannot be read ({})", error.kind()))?;
            match address {
                Address::File(path) => self.to_file(report, path, roots.clone()).await,
                Address::Http(url) => {
                    self.to_web(report, &url, access).await.map_err(|problem| problem.to_string())
                }
                Address::Object(object) => {
                    self.to_store(report, &object).await.map_err(|problem| problem.to_string())
                }
                Address::Rclone { remote, path } => {
                    let target = format!("{remote}:{path}");
                    let put = self.0.context().rclone.put(&target, report.into(), limit);
                    put.await.map_err(|problem| problem.to_string())
                }
            }
        };
        let written = tokio::select! {
            biased;
            () = cancel.cancelled() => Err("it was cancelled".to_owned()),
            written = tokio::time::timeout(limit, written) => {
                written.unwrap_or_else(|_| Err(format!("it took longer than {limit:?}")))
            }
        };
        written.map_err(|cause| {
            Failure::new(
                FailureReason::ReportNotWritten,
                format!("cannot write the report to {redacted}: {cause}"),
            )
        })
    }

    async fn to_file(&self, report: File, path: PathBuf, roots: ScoringRoots) -> Result<(), String> {
        let written = tokio::task::spawn_blocking(move || write(report, &path, &roots)).await;
        written.map_err(|_| "the task that writes it panicked".to_owned())?.map_err(|error| error.to_string())
    }

    async fn to_web(&self, report: File, url: &Url, access: NetworkAccess) -> Result<(), FetchProblem> {
        let context = self.0.context();
        let length = report.metadata()?.len();
        let json = Path::new(url.path()).extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
        let content_type = if json { "application/json" } else { "application/octet-stream" };
        let request = context.web.request(Method::PUT, url, access)?;
        // With a length, because signed addresses do not accept a chunked body.
        let request = request.header(CONTENT_LENGTH, length).header(CONTENT_TYPE, content_type);
        let response = context.web.send_long(request.body(tokio::fs::File::from_std(report))).await?;
        if response.status().is_success() {
            Ok(())
        } else {
            Err(crate::fetch::web::status_problem(response.status()))
        }
    }

    async fn to_store(&self, report: File, object: &ObjectAddress) -> Result<(), FetchProblem> {
        let (store, key) = self.0.context().stores.find(object)?;
        let mut writer = BufWriter::with_capacity(store, key, PART_BYTES);
        let mut report = tokio::fs::File::from_std(report);
        let copied = async {
            tokio::io::copy(&mut report, &mut writer).await?;
            writer.shutdown().await
        };
        copied.await.map_err(|error| {
            let store = error.get_ref().and_then(|inner| inner.downcast_ref());
            store.map_or_else(
                || FetchProblem::Unreachable(error.kind().to_string()),
                crate::fetch::objects::store_problem,
            )
        })
    }
}

fn permitted(uri: &str, roots: &ScoringRoots) -> Result<(Address, NetworkAccess), Failure> {
    let address = Address::parse(uri)?;
    let access = roots.permit(&address, uri)?;
    Ok((address, access))
}

/// Opens the file of the report, which must be a regular one.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = sys::open(path, flags, Mode::empty())?;
    if FileType::from_raw_mode(sys::fstat(&file)?.st_mode) == FileType::RegularFile {
        Ok(file.into())
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

fn write(mut report: File, path: &Path, roots: &ScoringRoots) -> Result<(), LocalError> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (directory, name) = parent_of_new(path, roots)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = format!(".vmafx-report-{}-{number}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = sys::openat(&directory, &temporary, flags, Mode::from_raw_mode(0o644))?;
    let mut file = TemporaryFile { directory, name: temporary, file: file.into() };
    io::copy(&mut report, &mut file.file).and_then(|_| file.file.sync_all()).map_err(LocalError::Io)?;
    sys::renameat(&file.directory, &file.name, &file.directory, &name)?;
    Ok(())
}

/// Removed on drop, unless it was renamed.
struct TemporaryFile {
    directory: OwnedFd,
    name: String,
    file: File,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = sys::unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}
