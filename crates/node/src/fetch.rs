//! Gets the inputs of jobs: as files of this machine, whole or not at all.
//!
//! | address                     | how                                                                              |
//! |-----------------------------|----------------------------------------------------------------------------------|
//! | `/path`, `file:///path`     | used in place; [`crate::paths::local`] sees to it that it is inside the roots     |
//! | `http(s)://`                | our own GETs: every hop and every address is checked before it is connected to    |
//! | `s3://`, `gs://`, `azure://`| `object_store`, with the usual variables and mounted files for credentials        |
//! | `remote:path`, other schemes| the `rclone` program                                                             |
//!
//! What a download promises, and what guards it (`tests/fetch*.rs`):
//!
//! * **Whole.** The source says how long the file is, and that much has arrived; a connection that breaks is resumed
//!   where it broke, if the source can tell that it is still the same file. Never a short file.
//! * **Bounded.** Length, time until headers, silence in the middle, and the whole time all have a limit.
//! * **Once.** Jobs that want the same file at the same time share one download ([`shelf`]). Whoever cancels leaves the
//!   others undisturbed; when the last has left, the download ends.
//! * **Clean.** The file is gone with the last [`Fetched`] that refers to it.
//! * **Silent.** No secret of an address gets into a message, a log or a file name ([`Redacted`]). What libraries say
//!   about their errors is not passed on, because they quote addresses; their kind is.

mod deadline;
mod download;
mod error;
mod fetched;
pub(crate) mod objects;
mod progress;
pub(crate) mod rclone;
mod settings;
mod shelf;
mod source;
pub(crate) mod web;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, FailureReason};

use self::error::FetchError;
use self::shelf::Shelf;
use self::source::Source;
use crate::paths::local::{LocalError, LocalFile};
use crate::paths::{Address, Redacted, Roots};
use crate::scratch::Scratch;

pub(crate) use error::Problem;
pub use fetched::Fetched;
pub use progress::Progress;
pub use settings::{FetchSettings, Limits, StoreVariables};

/// Everything that is spoken to the world with. Clones share connections and downloads.
#[derive(Clone, Debug)]
pub struct Fetcher(Arc<Tools>);

#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) scratch: Scratch,
    pub(crate) limits: Limits,
    pub(crate) web: web::Web,
    pub(crate) stores: objects::Stores,
    pub(crate) rclone: rclone::Rclone,
    shelf: Shelf,
}

/// Why there can be no fetcher.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client could not be made")]
pub struct FetcherError(#[from] reqwest::Error);

impl Fetcher {
    /// A fetcher that keeps its downloads in `scratch`.
    pub fn new(
        settings: &FetchSettings,
        variables: &StoreVariables,
        scratch: Scratch,
    ) -> Result<Self, FetcherError> {
        Self::with_limits(settings, settings.limits(), variables, scratch)
    }

    /// The same, with limits of the caller's own.
    pub fn with_limits(
        settings: &FetchSettings,
        limits: Limits,
        variables: &StoreVariables,
        scratch: Scratch,
    ) -> Result<Self, FetcherError> {
        let web = web::Web::new(&limits)?;
        let stores = objects::Stores::new(variables.clone(), &limits);
        let rclone = rclone::Rclone::new(settings, variables);
        Ok(Self(Arc::new(Tools { scratch, limits, web, stores, rclone, shelf: Shelf::default() })))
    }

    pub(crate) fn tools(&self) -> &Arc<Tools> {
        &self.0
    }

    /// Gets one input. `progress` is told how much is there, now and then; a file that is used in place tells nothing.
    pub async fn fetch(
        &self,
        uri: &str,
        roots: &Roots,
        cancel: &CancellationToken,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Arc<Fetched>, Failure> {
        let shown = Redacted(uri).to_string();
        let address = Address::parse(uri)?;
        let fetched = async {
            let source = match address {
                Address::File(path) => return self.local(path, roots.clone(), &shown).await,
                address => {
                    let permit = roots.permit(&address, uri)?;
                    Source::new(&self.0, address, roots, permit)
                }
            };
            let source = source.map_err(|problem| FetchError::new(&shown, problem))?;
            Ok(self.0.shelf.fetch(&self.0, uri, &shown, source, progress).await?)
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(FetchError::new(&shown, Problem::Cancelled).into()),
            fetched = fetched => fetched,
        }
    }

    async fn local(
        &self,
        path: std::path::PathBuf,
        roots: Roots,
        shown: &str,
    ) -> Result<Arc<Fetched>, Failure> {
        // A file system may hang, and the caller must not.
        let opened = tokio::task::spawn_blocking(move || LocalFile::open(&path, &roots));
        let file = match tokio::time::timeout(self.0.limits.headers, opened).await {
            Ok(Ok(opened)) => opened.map_err(|error| of_local(shown, &error))?,
            Ok(Err(_)) => {
                return Err(Failure::new(FailureReason::Internal, format!("{shown}: opening it went wrong")));
            }
            Err(_) => {
                let limit = self.0.limits.headers;
                return Err(FetchError::new(shown, Problem::Silent { what: "the file system", limit }).into());
            }
        };
        if file.length() > self.0.limits.bytes {
            let problem = Problem::TooLarge { length: Some(file.length()), limit: self.0.limits.bytes };
            return Err(FetchError::new(shown, problem).into());
        }
        Ok(Arc::new(Fetched::local(file)))
    }
}

/// What an error about a local file means for the job.
pub(crate) fn of_local(shown: &str, error: &LocalError) -> Failure {
    let reason = match error {
        LocalError::Outside | LocalError::Denied(_) => FailureReason::InputDenied,
        LocalError::NotFound => FailureReason::InputNotFound,
        LocalError::NotRegular(_) => FailureReason::InputInvalid,
        LocalError::Swapped | LocalError::Io(_) => FailureReason::SourceUnreachable,
    };
    Failure::new(reason, format!("{shown}: {error}"))
}
