//! Downloads that are under way or in use, so that nobody fetches what somebody else has.
//!
//! A download is a future that all who want it poll together ([`Shared`]): it has no owner among them, so whoever leaves
//! disturbs nobody, and when the last has left it is dropped, with its file. The shelf itself holds it weakly.
//!
//! Whoever finds something on the shelf asks the source first whether it is still the same version, with its own roots
//! and credentials: that another job may read a file says nothing about this one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use tokio::sync::watch;

use super::Tools;
use super::deadline::Deadline;
use super::download::download;
use super::error::{FetchError, Problem};
use super::fetched::Fetched;
use super::progress::Progress;
use super::source::{Opened, Source, Version};

type Download = BoxFuture<'static, Result<Arc<Fetched>, Problem>>;

#[derive(Debug, Default)]
pub(super) struct Shelf {
    places: Mutex<HashMap<String, Arc<Place>>>,
}

/// What is known of one address. Whoever opens it holds the lock, so that the next finds a download to join.
type Place = tokio::sync::Mutex<Vec<Entry>>;

/// One version of one file.
#[derive(Debug)]
struct Entry {
    version: Version,
    under_way: WeakShared<Download>,
    done: Arc<OnceLock<Weak<Fetched>>>,
    progress: watch::Receiver<Progress>,
}

/// A download that may be waited for.
enum Share {
    Done(Arc<Fetched>),
    UnderWay(Shared<Download>, watch::Receiver<Progress>),
}

impl Entry {
    fn share(&self) -> Option<Share> {
        let done = self.done.get().and_then(Weak::upgrade).map(Share::Done);
        done.or_else(|| {
            self.under_way.upgrade().map(|download| Share::UnderWay(download, self.progress.clone()))
        })
    }
}

impl Shelf {
    pub(super) async fn fetch(
        &self,
        tools: &Arc<Tools>,
        uri: &str,
        shown: &str,
        source: Source,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Arc<Fetched>, FetchError> {
        let place = self.place(uri);
        let share = share(tools, &place, source).await.map_err(|problem| FetchError::new(shown, problem))?;
        let fetched = match share {
            Share::Done(fetched) => Ok(fetched),
            Share::UnderWay(download, told) => follow(download, told, progress).await,
        };
        fetched.map_err(|problem| FetchError::new(shown, problem))
    }

    /// The place of an address; those that nobody uses are cleared away on the occasion.
    fn place(&self, uri: &str) -> Arc<Place> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|_, place| {
            let used = Arc::strong_count(place) > 1;
            used || place.try_lock().is_ok_and(|entries| entries.iter().any(|entry| entry.share().is_some()))
        });
        Arc::clone(places.entry(uri.to_owned()).or_default())
    }
}

/// Joins what is there, or begins a download.
async fn share(tools: &Arc<Tools>, place: &Place, source: Source) -> Result<Share, Problem> {
    let deadline = Deadline::of(&tools.limits);
    let mut entries = deadline.within(async { Ok(place.lock().await) }).await?;
    entries.retain(|entry| entry.share().is_some());
    if !entries.is_empty() {
        let meta = deadline.retrying(&tools.limits, || source.probe()).await?;
        let same = entries.iter().find(|entry| Some(&entry.version) == meta.version.as_ref());
        if let Some(share) = same.and_then(Entry::share) {
            return Ok(share);
        }
    }
    let opened = deadline.retrying(&tools.limits, || source.open(0, None)).await?;
    let version = opened.meta.version.clone();
    let (tell, told) = watch::channel(Progress { bytes: 0, of: opened.meta.length });
    let done = Arc::new(OnceLock::new());
    let download =
        whole(Arc::clone(tools), source, opened, deadline, tell, Arc::clone(&done)).boxed().shared();
    // What has no version cannot be told from what it becomes, so it is not shared.
    if let (Some(version), Some(under_way)) = (version, download.downgrade()) {
        entries.push(Entry { version, under_way, done, progress: told.clone() });
    }
    Ok(Share::UnderWay(download, told))
}

async fn whole(
    tools: Arc<Tools>,
    source: Source,
    opened: Opened,
    deadline: Deadline,
    tell: watch::Sender<Progress>,
    done: Arc<OnceLock<Weak<Fetched>>>,
) -> Result<Arc<Fetched>, Problem> {
    let file = download(&source, opened, &tools.scratch, &tools.limits, deadline, &tell).await?;
    let fetched = Arc::new(Fetched::downloaded(file));
    let _ = done.set(Arc::downgrade(&fetched));
    Ok(fetched)
}

/// Waits for a download, and tells how it goes.
async fn follow(
    mut download: Shared<Download>,
    mut told: watch::Receiver<Progress>,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Arc<Fetched>, Problem> {
    progress(*told.borrow_and_update());
    loop {
        tokio::select! {
            biased;
            fetched = &mut download => return fetched,
            changed = told.changed() => match changed {
                Ok(()) => progress(*told.borrow_and_update()),
                Err(_) => return download.await,
            },
        }
    }
}
