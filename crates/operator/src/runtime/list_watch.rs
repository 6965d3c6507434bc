//! Lists all objects of one kind, then watches their changes.
//!
//! ```text
//!  Unlisted ──list──▶ Listing ──complete──▶ Listed ──watch──▶ Watching ──ended──▶ Listed
//!     ▲                  │                    │                  │
//!     └── a failed list ─┴────────────────────┴──── 410 Gone ────┘
//! ```

use std::io;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};
use kube::api::{WatchEvent, WatchParams};
use kube::core::Request;
use kube::runtime::watcher::{Error, Event, Result};
use kube::{Client, Resource};
use tokio::time::timeout;

use super::list_stream::{ListItem, ListStream};
use super::raw_object::RawObject;

/// A watch without an event for this long is dead: the API server ends each watch after five minutes and sends a bookmark
/// every minute.
const IDLE_TIMEOUT: Duration = Duration::from_secs(330);

/// Status code for a resource version that the API server no longer knows.
const GONE: u16 = 410;

pub(super) struct ListWatch<K> {
    client: Client,
    url: String,
    labels: Option<String>,
    state: State<K>,
}

type ChangeResult<K> = kube::Result<WatchEvent<RawObject<K>>>;
type Changes<K> = BoxStream<'static, ChangeResult<K>>;
type StepResult<K> = Result<Option<Event<RawObject<K>>>>;

enum State<K> {
    Unlisted,
    Listing(ListStream<K>),
    /// Complete up to a resource version, without a watch.
    Listed(String),
    Watching(OpenWatch<K>),
}

struct OpenWatch<K> {
    /// The resource version of the last event.
    version: String,
    changes: Changes<K>,
    /// Whether the watch has delivered anything.
    delivered: bool,
}

impl<K> ListWatch<K>
where
    K: Resource<DynamicType = ()> + Clone + Send + 'static,
{
    /// `labels` is a label selector.
    pub(super) fn new(client: Client, labels: Option<String>) -> Self {
        Self { client, url: K::url_path(&(), None), labels, state: State::Unlisted }
    }

    /// An endless stream that continues after every error; the caller delays after errors.
    pub(super) fn events(self) -> impl Stream<Item = Result<Event<RawObject<K>>>> + Send {
        stream::unfold(self, |mut source| async move { Some((source.next().await, source)) })
    }

    async fn next(&mut self) -> Result<Event<RawObject<K>>> {
        loop {
            if let Some(event) = self.step().await? {
                return Ok(event);
            }
        }
    }

    /// Makes one transition and returns its event. An error without a new state means another list.
    async fn step(&mut self) -> StepResult<K> {
        match std::mem::replace(&mut self.state, State::Unlisted) {
            State::Unlisted => {
                let list = ListStream::open(&self.client, &self.url, self.labels.clone()).await;
                self.state = State::Listing(list.map_err(Error::InitialListFailed)?);
                Ok(Some(Event::Init))
            }
            State::Listing(mut list) => match list.next().await? {
                ListItem::Object(object) => {
                    self.state = State::Listing(list);
                    Ok(Some(Event::InitApply(object)))
                }
                ListItem::End(version) => {
                    self.state = State::Listed(version);
                    Ok(Some(Event::InitDone))
                }
            },
            State::Listed(version) => {
                let params = WatchParams { label_selector: self.labels.clone(), ..WatchParams::default() };
                match watch(&self.client, &self.url, &params, &version).await {
                    Ok(changes) => {
                        self.state = State::Watching(OpenWatch { version, changes, delivered: false });
                    }
                    Err(kube::Error::Api(status)) if status.code == GONE => {
                        return Err(Error::WatchError(status));
                    }
                    Err(error) => {
                        self.state = State::Listed(version);
                        return Err(Error::WatchStartFailed(error));
                    }
                }
                Ok(None)
            }
            State::Watching(mut open) => {
                let change = timeout(IDLE_TIMEOUT, open.changes.next()).await.unwrap_or(None);
                self.handle(open, change)
            }
        }
    }

    fn handle(&mut self, mut open: OpenWatch<K>, change: Option<ChangeResult<K>>) -> StepResult<K> {
        let Some(change) = change else {
            self.state = State::Listed(open.version);
            // An error, so that the caller delays: to open another watch at once would be a busy loop.
            return if open.delivered { Ok(None) } else { Err(Error::WatchFailed(without_event())) };
        };
        open.delivered = true;
        let event = match change {
            Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                open.version = version_of(&object)?;
                Ok(Some(Event::Apply(object)))
            }
            Ok(WatchEvent::Deleted(object)) => {
                open.version = version_of(&object)?;
                Ok(Some(Event::Delete(object)))
            }
            Ok(WatchEvent::Bookmark(mark)) => {
                open.version = mark.metadata.resource_version;
                Ok(None)
            }
            Ok(WatchEvent::Error(status)) if status.code == GONE => {
                return Err(Error::WatchError(status.boxed()));
            }
            Ok(WatchEvent::Error(status)) => Err(Error::WatchError(status.boxed())),
            Err(error) => Err(Error::WatchFailed(error)),
        };
        self.state = State::Watching(open);
        event
    }
}

fn without_event() -> kube::Error {
    let error = io::Error::new(io::ErrorKind::UnexpectedEof, "the watch ended without an event");
    kube::Error::ReadEvents(error)
}

fn version_of<K>(object: &RawObject<K>) -> Result<String> {
    Some(object.identity().version).filter(|version| !version.is_empty()).ok_or(Error::NoResourceVersion)
}

async fn watch<K: Clone + Send + 'static>(
    client: &Client,
    url: &str,
    params: &WatchParams,
    version: &str,
) -> kube::Result<Changes<K>> {
    let request = Request::new(url).watch(params, version).map_err(kube::Error::BuildRequest)?;
    Ok(client.request_events(request).await?.boxed())
}

#[cfg(test)]
mod tests;
