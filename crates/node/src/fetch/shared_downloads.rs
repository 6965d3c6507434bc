//! Downloads that are in progress or in use, so that jobs do not fetch the same file twice.
//!
//! A download is a future that all jobs that need it poll together ([`Shared`]): none of them owns it, so a job that leaves
//! does not disturb the others, and when the last has left the future is dropped, with its file. The map holds it weakly.
//!
//! A job that finds a download asks the source first whether it is still the same version, with its own roots and
//! credentials: the permission of another job to read a file does not extend to this one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use tokio::sync::watch;

use super::FetchContext;
use super::deadline::FetchDeadline;
use super::download::download;
use super::error::{FetchError, FetchProblem};
use super::fetched::FetchedFile;
use super::progress::DownloadProgress;
use super::source::{FileVersion, OpenedSource, Source};

type Download = BoxFuture<'static, Result<Arc<FetchedFile>, FetchProblem>>;

#[derive(Debug, Default)]
pub(super) struct SharedDownloads {
    by_uri: Mutex<HashMap<String, Arc<UriDownloads>>>,
}

/// The downloads of one address. The lock is held while the source is opened, so that the next job finds a download to join.
type UriDownloads = tokio::sync::Mutex<Vec<VersionDownload>>;

/// The download of one version of a file.
#[derive(Debug)]
struct VersionDownload {
    version: FileVersion,
    in_progress: WeakShared<Download>,
    done: Arc<OnceLock<Weak<FetchedFile>>>,
    progress: watch::Receiver<DownloadProgress>,
}

enum JoinedDownload {
    Done(Arc<FetchedFile>),
    InProgress(Shared<Download>, watch::Receiver<DownloadProgress>),
}

impl VersionDownload {
    /// `None` if no job uses the download any more.
    fn join(&self) -> Option<JoinedDownload> {
        let done = self.done.get().and_then(Weak::upgrade).map(JoinedDownload::Done);
        done.or_else(|| {
            let download = self.in_progress.upgrade()?;
            Some(JoinedDownload::InProgress(download, self.progress.clone()))
        })
    }
}

impl SharedDownloads {
    pub(super) async fn fetch(
        &self,
        context: &Arc<FetchContext>,
        uri: &str,
        redacted: &str,
        source: Source,
        progress: &(dyn Fn(DownloadProgress) + Send + Sync),
    ) -> Result<Arc<FetchedFile>, FetchError> {
        let downloads = self.of_uri(uri);
        let fetched = match join_or_start(context, &downloads, source).await {
            Ok(JoinedDownload::Done(fetched)) => Ok(fetched),
            Ok(JoinedDownload::InProgress(download, receiver)) => wait(download, receiver, progress).await,
            Err(problem) => Err(problem),
        };
        fetched.map_err(|problem| FetchError::new(redacted, problem))
    }

    /// Also removes addresses that no job uses any more.
    fn of_uri(&self, uri: &str) -> Arc<UriDownloads> {
        let mut by_uri = self.by_uri.lock().unwrap_or_else(PoisonError::into_inner);
        by_uri.retain(|_, downloads| {
            let waited_for = Arc::strong_count(downloads) > 1;
            let is_used = |all: &[VersionDownload]| all.iter().any(|one| one.join().is_some());
            waited_for || downloads.try_lock().is_ok_and(|all| is_used(&all))
        });
        Arc::clone(by_uri.entry(uri.to_owned()).or_default())
    }
}

async fn join_or_start(
    context: &Arc<FetchContext>,
    downloads: &UriDownloads,
    source: Source,
) -> Result<JoinedDownload, FetchProblem> {
    let deadline = FetchDeadline::of(&context.limits);
    let mut downloads = deadline.within(async { Ok(downloads.lock().await) }).await?;
    downloads.retain(|download| download.join().is_some());
    if !downloads.is_empty() {
        let metadata = deadline.retrying(&context.limits, || source.probe()).await?;
        let same = downloads.iter().find(|download| Some(&download.version) == metadata.version.as_ref());
        if let Some(joined) = same.and_then(VersionDownload::join) {
            return Ok(joined);
        }
    }
    let opened = deadline.retrying(&context.limits, || source.open(0, None)).await?;
    let version = opened.metadata.version.clone();
    let (sender, progress) = watch::channel(DownloadProgress { bytes: 0, of: opened.metadata.length });
    let done = Arc::new(OnceLock::new());
    let download =
        run(Arc::clone(context), source, opened, deadline, sender, Arc::clone(&done)).boxed().shared();
    // Without a version a later job could not tell whether it is still the same file.
    if let (Some(version), Some(in_progress)) = (version, download.downgrade()) {
        downloads.push(VersionDownload { version, in_progress, done, progress: progress.clone() });
    }
    Ok(JoinedDownload::InProgress(download, progress))
}

async fn run(
    context: Arc<FetchContext>,
    source: Source,
    opened: OpenedSource,
    deadline: FetchDeadline,
    progress: watch::Sender<DownloadProgress>,
    done: Arc<OnceLock<Weak<FetchedFile>>>,
) -> Result<Arc<FetchedFile>, FetchProblem> {
    let file = download(&source, opened, &context.scratch, &context.limits, deadline, &progress).await?;
    let fetched = Arc::new(FetchedFile::downloaded(file));
    let _ = done.set(Arc::downgrade(&fetched));
    Ok(fetched)
}

/// Waits for a download and reports its progress.
async fn wait(
    mut download: Shared<Download>,
    mut receiver: watch::Receiver<DownloadProgress>,
    progress: &(dyn Fn(DownloadProgress) + Send + Sync),
) -> Result<Arc<FetchedFile>, FetchProblem> {
    progress(*receiver.borrow_and_update());
    loop {
        tokio::select! {
            biased;
            fetched = &mut download => return fetched,
            changed = receiver.changed() => match changed {
                Ok(()) => progress(*receiver.borrow_and_update()),
                Err(_) => return download.await,
            },
        }
    }
}
