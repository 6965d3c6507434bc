//! Downloads the inputs of jobs: as local files, complete or not at all.
//!
//! | address                     | how                                                                              |
//! |-----------------------------|----------------------------------------------------------------------------------|
//! | `/path`, `file:///path`     | used in place; [`crate::paths::local`] checks that it is below the roots          |
//! | `http(s)://`                | our own GETs: every hop and every IP address is checked before the connection     |
//! | `s3://`, `gs://`, `azure://`| `object_store`, with the usual variables and mounted files for credentials        |
//! | `remote:path`, other schemes| the `rclone` program                                                             |
//!
//! Invariants of a download, guarded by `tests/fetch`:
//!
//! * **Complete.** The source declares the length of the file, and that much has arrived. A broken connection is resumed
//!   where it broke, if the source can tell that it is still the same file. A truncated file is never used.
//! * **Limited.** The length, the time until headers, the time between two chunks and the total time have limits.
//! * **Shared.** Jobs that need the same file at the same time share one download ([`shared_downloads`]). A job that is
//!   cancelled does not disturb the others; when none is left, the download is dropped.
//! * **Clean.** The file is removed with the last [`FetchedFile`] that refers to it.
//! * **Redacted.** No secret of an address gets into a message, a log or a file name ([`RedactedUri`]). Messages of
//!   libraries quote addresses, so only the kinds of their errors are used.

mod deadline;
mod download;
mod error;
mod fetched;
pub(crate) mod objects;
mod progress;
pub(crate) mod rclone;
mod settings;
mod shared_downloads;
mod source;
pub(crate) mod web;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, FailureReason};

use self::error::FetchError;
use self::shared_downloads::SharedDownloads;
use self::source::{FileMetadata, OpenedSource, Source};
use crate::paths::local::{LocalError, LocalFile};
use crate::paths::{Address, RedactedUri, ScoringRoots};
use crate::scratch::Scratch;
use vmafx_kit::egress::NetworkAccess;

pub(crate) use error::FetchProblem;
pub use fetched::FetchedFile;
pub use progress::DownloadProgress;
pub use settings::{FetchLimits, FetchSettings, StoreVariables};
pub(crate) use source::Body;

/// Clones share connections and downloads.
#[derive(Clone, Debug)]
pub struct Fetcher(Arc<FetchContext>);

#[derive(Debug)]
pub(crate) struct FetchContext {
    pub(crate) scratch: Scratch,
    pub(crate) limits: FetchLimits,
    pub(crate) web: web::WebClient,
    pub(crate) stores: objects::ObjectStores,
    pub(crate) rclone: rclone::Rclone,
    shared_downloads: SharedDownloads,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot create the HTTP client")]
pub struct FetcherError(#[from] reqwest::Error);

impl Fetcher {
    /// Downloads go to `scratch`.
    pub fn new(
        settings: &FetchSettings,
        variables: &StoreVariables,
        scratch: Scratch,
    ) -> Result<Self, FetcherError> {
        Self::with_limits(settings, settings.limits(), variables, scratch)
    }

    pub fn with_limits(
        settings: &FetchSettings,
        limits: FetchLimits,
        variables: &StoreVariables,
        scratch: Scratch,
    ) -> Result<Self, FetcherError> {
        let web = web::WebClient::new(&limits)?;
        let stores = objects::ObjectStores::new(variables.clone(), &limits);
        let rclone = rclone::Rclone::new(settings, variables);
        Ok(Self(Arc::new(FetchContext {
            scratch,
            limits,
            web,
            stores,
            rclone,
            shared_downloads: SharedDownloads::default(),
        })))
    }

    pub(crate) fn context(&self) -> &Arc<FetchContext> {
        &self.0
    }

    /// Fetches one input. `progress` is called as the download goes on, and not at all for a file that is used in place.
    pub async fn fetch(
        &self,
        uri: &str,
        roots: &ScoringRoots,
        cancel: &CancellationToken,
        progress: &(dyn Fn(DownloadProgress) + Send + Sync),
    ) -> Result<Arc<FetchedFile>, Failure> {
        let redacted = RedactedUri(uri).to_string();
        let address = Address::parse(uri)?;
        let fetched = async {
            let source = match address {
                Address::File(path) => return self.local(path, roots.clone(), &redacted).await,
                address => {
                    let access = roots.permit(&address, uri)?;
                    Source::new(&self.0, address, roots, access)
                }
            };
            let source = source.map_err(|problem| FetchError::new(&redacted, problem))?;
            Ok(self.0.shared_downloads.fetch(&self.0, uri, &redacted, source, progress).await?)
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(FetchError::new(&redacted, FetchProblem::Cancelled).into()),
            fetched = fetched => fetched,
        }
    }

    /// The metadata of what is at an address that is not local.
    pub(crate) async fn probe(
        &self,
        address: Address,
        roots: &ScoringRoots,
        access: NetworkAccess,
    ) -> Result<FileMetadata, FetchProblem> {
        Source::new(&self.0, address, roots, access)?.probe().await
    }

    /// Opens what is at an address that is not local.
    pub(crate) async fn open_existing(
        &self,
        address: Address,
        roots: &ScoringRoots,
        access: NetworkAccess,
    ) -> Result<OpenedSource, FetchProblem> {
        Source::new(&self.0, address, roots, access)?.open(0, None).await
    }

    async fn local(
        &self,
        path: std::path::PathBuf,
        roots: ScoringRoots,
        redacted: &str,
    ) -> Result<Arc<FetchedFile>, Failure> {
        // A network file system may hang, and the caller must not.
        let opened = tokio::task::spawn_blocking(move || LocalFile::open(&path, &roots));
        let file = match tokio::time::timeout(self.0.limits.headers, opened).await {
            Ok(Ok(opened)) => opened.map_err(|error| local_failure(redacted, &error))?,
            Ok(Err(_)) => {
                return Err(Failure::new(
                    FailureReason::Internal,
                    format!("{redacted}: the task that opens it panicked"),
                ));
            }
            Err(_) => {
                let limit = self.0.limits.headers;
                return Err(FetchError::new(
                    redacted,
                    FetchProblem::TimedOut { what: "the file system", limit },
                )
                .into());
            }
        };
        if file.length() > self.0.limits.max_bytes {
            let problem =
                FetchProblem::TooLarge { length: Some(file.length()), limit: self.0.limits.max_bytes };
            return Err(FetchError::new(redacted, problem).into());
        }
        Ok(Arc::new(FetchedFile::local(file)))
    }
}

pub(crate) fn local_failure(redacted: &str, error: &LocalError) -> Failure {
    let reason = match error {
        LocalError::Outside => FailureReason::InputDenied,
        LocalError::Denied(_) => FailureReason::InputDeniedOnNode,
        LocalError::NotFound => FailureReason::InputMissingOnNode,
        LocalError::NotRegular(_) => FailureReason::InputInvalid,
        LocalError::Swapped | LocalError::Io(_) => FailureReason::SourceUnreachable,
    };
    Failure::new(reason, format!("{redacted}: {error}"))
}
