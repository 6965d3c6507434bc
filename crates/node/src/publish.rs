//! Puts a job's report where the job wants it.
//!
//! The report was written by the worker, which has parsed whatever came in: its file is opened without following links,
//! and only if it is a regular one, or a worker that was taken over could have any file of this machine published.
//!
//! A local report appears whole or not at all: it is written beside its place and renamed. Stores promise the same for
//! an object; a web server is asked by one PUT and is not followed elsewhere.

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

use crate::fetch::{Fetcher, Problem};
use crate::paths::local::{LocalError, parent_of_new};
use crate::paths::network::Reach;
use crate::paths::{Address, ObjectAddress, Permit, Redacted, Roots};

/// What a store is sent at once.
const PART: usize = 8 << 20;

/// Writes reports.
#[derive(Clone, Debug)]
pub struct Publisher(Fetcher);

impl Publisher {
    /// With the connections and limits of a fetcher.
    pub fn new(fetcher: &Fetcher) -> Self {
        Self(fetcher.clone())
    }

    /// Whether a report may go there; to be asked before the job is scored.
    pub fn check(&self, uri: &str, roots: &Roots) -> Result<(), Failure> {
        permitted(uri, roots).map(drop)
    }

    /// Writes the report in `file` to its place.
    pub async fn publish(
        &self,
        file: &Path,
        uri: &str,
        roots: &Roots,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let shown = Redacted(uri).to_string();
        let (address, permit) = permitted(uri, roots)?;
        let limit = self.0.tools().limits.whole;
        let written = async {
            let report =
                open(file).map_err(|error| format!("the report cannot be read ({})", error.kind()))?;
            match address {
                Address::File(path) => self.to_file(report, path, roots.clone()).await,
                Address::Http(url) => {
                    self.to_web(report, &url, permit.reach).await.map_err(|problem| problem.to_string())
                }
                Address::Object(object) => {
                    self.to_store(report, &object).await.map_err(|problem| problem.to_string())
                }
                Address::Rclone { remote, path } => {
                    let target = format!("{remote}:{path}");
                    let put = self.0.tools().rclone.put(&target, report.into(), limit);
                    put.await.map_err(|problem| problem.to_string())
                }
            }
        };
        let written = tokio::select! {
            biased;
            () = cancel.cancelled() => Err("writing it was cancelled".to_owned()),
            written = tokio::time::timeout(limit, written) => {
                written.unwrap_or_else(|_| Err(format!("it took longer than {limit:?}")))
            }
        };
        written.map_err(|why| {
            Failure::new(
                FailureReason::ReportNotWritten,
                format!("the report could not be written to {shown}: {why}"),
            )
        })
    }

    async fn to_file(&self, report: File, path: PathBuf, roots: Roots) -> Result<(), String> {
        let written = tokio::task::spawn_blocking(move || write(report, &path, &roots)).await;
        written.map_err(|_| "writing it went wrong".to_owned())?.map_err(|error| error.to_string())
    }

    async fn to_web(&self, report: File, url: &Url, reach: Reach) -> Result<(), Problem> {
        let tools = self.0.tools();
        let length = report.metadata()?.len();
        let json = Path::new(url.path()).extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
        let kind = if json { "application/json" } else { "application/octet-stream" };
        let request = tools.web.request(Method::PUT, url, reach)?;
        // With a length, because signed addresses do not take a body in chunks.
        let request = request.header(CONTENT_LENGTH, length).header(CONTENT_TYPE, kind);
        let answer = tools.web.send_long(request.body(tokio::fs::File::from_std(report))).await?;
        if answer.status().is_success() { Ok(()) } else { Err(crate::fetch::web::judge(answer.status())) }
    }

    async fn to_store(&self, report: File, object: &ObjectAddress) -> Result<(), Problem> {
        let (store, key) = self.0.tools().stores.find(object)?;
        let mut writer = BufWriter::with_capacity(store, key, PART);
        let mut report = tokio::fs::File::from_std(report);
        let copied = async {
            tokio::io::copy(&mut report, &mut writer).await?;
            writer.shutdown().await
        };
        copied.await.map_err(|error| {
            let store = error.get_ref().and_then(|inner| inner.downcast_ref());
            store.map_or_else(
                || Problem::Unreachable(error.kind().to_string()),
                crate::fetch::objects::of_store,
            )
        })
    }
}

fn permitted(uri: &str, roots: &Roots) -> Result<(Address, Permit), Failure> {
    let address = Address::parse(uri)?;
    let permit = roots.permit(&address, uri)?;
    Ok((address, permit))
}

/// Opens what the worker has written, whatever else it may have put there.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = sys::open(path, flags, Mode::empty())?;
    if FileType::from_raw_mode(sys::fstat(&file)?.st_mode) == FileType::RegularFile {
        Ok(file.into())
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

fn write(mut report: File, path: &Path, roots: &Roots) -> Result<(), LocalError> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (directory, name) = parent_of_new(path, roots)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let beside = format!(".vmafx-report-{}-{number}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = sys::openat(&directory, &beside, flags, Mode::from_raw_mode(0o644))?;
    let mut file = Beside { directory, name: beside, file: file.into() };
    io::copy(&mut report, &mut file.file).and_then(|_| file.file.sync_all()).map_err(LocalError::Io)?;
    sys::renameat(&file.directory, &file.name, &file.directory, &name)?;
    Ok(())
}

/// A file that is not in its place yet; if it never gets there, it is removed.
struct Beside {
    directory: OwnedFd,
    name: String,
    file: File,
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = sys::unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}
