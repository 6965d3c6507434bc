//! Writes a job's report to the address that the job names.
//!
//! The worker that wrote the report has parsed hostile input, so its file is opened without following links and only if it
//! is a regular file: otherwise a worker that was taken over could have any file of this machine published.
//!
//! A local report appears complete or not at all: it is written to a temporary file beside its path and renamed. Stores
//! guarantee the same for an object; a web server gets one PUT, whose redirects are not followed.
//!
//! **A report replaces nothing**, unless the job says `overwriteReport`. The one exception is a report with the same bytes,
//! which is left as it is: an earlier attempt of this job may have written it before its result was lost, and scores are
//! exact, so its report is the same.
//!
//! | address       | how nothing is replaced                                                                            |
//! |---------------|----------------------------------------------------------------------------------------------------|
//! | file          | renamed with `RENAME_NOREPLACE`, or linked where the file system lacks that: atomic                 |
//! | object store  | looked for, then a conditional PUT: atomic where the store supports it; above 32 MiB looked for only |
//! | `http(s)`     | PUT with `If-None-Match: *`: atomic where the server supports it                                    |
//! | rclone        | looked for before it is written                                                                    |

mod existing;
mod local;

use std::fs::File;
use std::io;
use std::path::Path;

use object_store::buffered::BufWriter;
use object_store::{GetOptions, ObjectStore, PutMode, PutOptions};
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, IF_NONE_MATCH};
use reqwest::{Method, StatusCode};
use rustix::fs::{self as sys, FileType, Mode, OFlags};
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;
use url::Url;
use vmafx_job::{Failure, FailureReason};

use self::existing::Existence;
use crate::fetch::{FetchProblem, Fetcher};
use crate::paths::{Address, ObjectAddress, RedactedUri, ScoringRoots};
use vmafx_kit::egress::NetworkAccess;

/// Size of the parts of a multipart upload.
const PART_BYTES: usize = 8 << 20;
/// Up to this size an object is written by one request, which can be conditional, from memory.
const MAX_CONDITIONAL_BYTES: u64 = 32 << 20;

/// What happens to a file or an object that is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// It stays, and the report is refused unless it has the same bytes.
    Create,
    Overwrite,
}

impl WriteMode {
    pub const fn of(overwrite_report: bool) -> Self {
        if overwrite_report { Self::Overwrite } else { Self::Create }
    }
}

/// Whether a report was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Yes,
    /// Something is there, and was not replaced.
    Exists,
}

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

    /// Refuses an address at which something is known to be, so that a user does not learn that after hours of scoring.
    pub async fn check_absent(&self, uri: &str, roots: &ScoringRoots) -> Result<(), Failure> {
        let (address, access) = permitted(uri, roots)?;
        match existing::look(&self.0, address, roots, access).await {
            Existence::Present => Err(exists(uri)),
            Existence::Absent | Existence::Unknown(_) => Ok(()),
        }
    }

    pub async fn publish(
        &self,
        file: &Path,
        uri: &str,
        roots: &ScoringRoots,
        mode: WriteMode,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let redacted = RedactedUri(uri).to_string();
        let (address, access) = permitted(uri, roots)?;
        let limit = self.0.context().limits.total;
        let write = async {
            match self.write(file, address.clone(), roots, access, mode).await? {
                Written::Yes => Ok(true),
                Written::Exists => Ok(self.has_content_of(file, address, roots, access).await),
            }
        };
        let written = tokio::select! {
            biased;
            () = cancel.cancelled() => Err("it was cancelled".to_owned()),
            written = tokio::time::timeout(limit, write) => {
                written.unwrap_or_else(|_| Err(format!("it took longer than {limit:?}")))
            }
        };
        match written {
            Ok(true) => Ok(()),
            Ok(false) => Err(exists(uri)),
            Err(cause) => Err(Failure::new(
                FailureReason::ReportNotWritten,
                format!("cannot write the report to {redacted}: {cause}"),
            )),
        }
    }

    async fn write(
        &self,
        file: &Path,
        address: Address,
        roots: &ScoringRoots,
        access: NetworkAccess,
        mode: WriteMode,
    ) -> Result<Written, String> {
        let report = open(file).map_err(|error| format!("its file cannot be read ({})", error.kind()))?;
        let written = match address {
            Address::File(path) => {
                let roots = roots.clone();
                let write = move || local::write(report, &path, &roots, mode);
                let written = tokio::task::spawn_blocking(write).await;
                let written = written.map_err(|_| "the task that writes it panicked".to_owned())?;
                return written.map_err(|error| error.to_string());
            }
            Address::Http(url) => self.to_web(report, &url, access, mode).await,
            Address::Object(object) => self.to_store(report, &object, mode).await,
            Address::Rclone { remote, path } => self.to_rclone(report, remote, path, roots, mode).await,
        };
        written.map_err(|problem| problem.to_string())
    }

    /// Whether what is at the address has the bytes of the report. What cannot be read has not.
    async fn has_content_of(
        &self,
        file: &Path,
        address: Address,
        roots: &ScoringRoots,
        access: NetworkAccess,
    ) -> bool {
        match open(file) {
            Ok(report) => existing::has_content(&self.0, address, roots, access, report).await,
            Err(_) => false,
        }
    }

    async fn to_web(
        &self,
        report: File,
        url: &Url,
        access: NetworkAccess,
        mode: WriteMode,
    ) -> Result<Written, FetchProblem> {
        let context = self.0.context();
        let length = report.metadata()?.len();
        let json = Path::new(url.path()).extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
        let content_type = if json { "application/json" } else { "application/octet-stream" };
        let mut request = context.web.request(Method::PUT, url, access)?;
        if mode == WriteMode::Create {
            request = request.header(IF_NONE_MATCH, "*");
        }
        // With a length, because signed addresses do not accept a chunked body.
        let request = request.header(CONTENT_LENGTH, length).header(CONTENT_TYPE, content_type);
        let response = context.web.send_long(request.body(tokio::fs::File::from_std(report))).await?;
        match response.status() {
            status if status.is_success() => Ok(Written::Yes),
            StatusCode::PRECONDITION_FAILED if mode == WriteMode::Create => Ok(Written::Exists),
            status => Err(crate::fetch::web::status_problem(status)),
        }
    }

    async fn to_store(
        &self,
        report: File,
        object: &ObjectAddress,
        mode: WriteMode,
    ) -> Result<Written, FetchProblem> {
        let (store, key) = self.0.context().stores.find(object)?;
        if mode == WriteMode::Create {
            // A store may ignore the condition of a PUT, and a multipart upload has none.
            match store.get_opts(&key, GetOptions { head: true, ..GetOptions::default() }).await {
                Ok(_) => return Ok(Written::Exists),
                // Credentials that can only write cannot look; the condition of the PUT remains.
                Err(_) if report.metadata()?.len() <= MAX_CONDITIONAL_BYTES => {
                    return conditional_put(&*store, &key, report).await;
                }
                Err(_) => {}
            }
        }
        let mut writer = BufWriter::with_capacity(store, key, PART_BYTES);
        let mut report = tokio::fs::File::from_std(report);
        let copied = async {
            tokio::io::copy(&mut report, &mut writer).await?;
            writer.shutdown().await
        };
        copied.await.map(|()| Written::Yes).map_err(|error| {
            let store = error.get_ref().and_then(|inner| inner.downcast_ref());
            store.map_or_else(
                || FetchProblem::Unreachable(error.kind().to_string()),
                crate::fetch::objects::store_problem,
            )
        })
    }

    async fn to_rclone(
        &self,
        report: File,
        remote: String,
        path: String,
        roots: &ScoringRoots,
        mode: WriteMode,
    ) -> Result<Written, FetchProblem> {
        let target = format!("{remote}:{path}");
        let address = Address::Rclone { remote, path };
        if mode == WriteMode::Create {
            match existing::look(&self.0, address, roots, NetworkAccess::Public).await {
                Existence::Present => return Ok(Written::Exists),
                Existence::Absent => {}
                // rclone has no condition, so without an answer the report might replace something.
                Existence::Unknown(problem) => return Err(problem),
            }
        }
        let context = self.0.context();
        context.rclone.put(&target, report.into(), context.limits.total).await.map(|()| Written::Yes)
    }
}

/// Writes an object that must not exist yet.
async fn conditional_put(
    store: &dyn ObjectStore,
    key: &object_store::path::Path,
    report: File,
) -> Result<Written, FetchProblem> {
    let mut content = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut tokio::fs::File::from_std(report), &mut content).await?;
    let content = bytes::Bytes::from(content);
    let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
    let put = match store.put_opts(key, content.clone().into(), options).await {
        // The node's settings say that the store has no conditional PUT.
        Err(object_store::Error::NotImplemented { .. }) => {
            store.put_opts(key, content.into(), PutOptions::default()).await
        }
        put => put,
    };
    match put {
        Ok(_) => Ok(Written::Yes),
        Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
            Ok(Written::Exists)
        }
        Err(error) => Err(crate::fetch::objects::store_problem(&error)),
    }
}

fn permitted(uri: &str, roots: &ScoringRoots) -> Result<(Address, NetworkAccess), Failure> {
    let address = Address::parse(uri)?;
    let access = roots.permit(&address, uri)?;
    Ok((address, access))
}

/// The job's own options are at fault: another attempt would be refused as well.
fn exists(uri: &str) -> Failure {
    let redacted = RedactedUri(uri);
    let message = format!(
        "{redacted} exists already and is not overwritten by the report; give another reportURI, remove what is there, or \
         set overwriteReport"
    );
    Failure::new(FailureReason::OptionsInvalid, message)
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
