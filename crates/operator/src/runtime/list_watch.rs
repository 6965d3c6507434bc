//! Lists all objects of one kind, then watches their changes.
//!
//! ```text
//!  Unlisted ──list──▶ Listing ──complete──▶ Listed ──watch──▶ Watching
//!     ▲                  │ failed             ▲                 │  │
//!     └──────────────────┴────────────────────┼── 410 Gone ─────┘  │ ended
//!                                             └────────────────────┘
//! ```
//!
//! The list is requested without pages, because the API server has the current state in memory: earlier versions are lost
//! with every compaction of etcd, and from then on each page but the first is read from etcd, at five times the cost. The
//! response is split into objects while it arrives: decoding overlaps with the transfer, and no more than one object's
//! text is in memory, however long the list is.

mod splitter;

use std::io;
use std::pin::Pin;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{AsyncBufRead, AsyncBufReadExt as _, Stream, StreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Request;
use kube::runtime::watcher::{Error, Event, Result};
use kube::{Client, Resource};
use serde::Deserialize;
use tokio::time::timeout;

use self::splitter::ListSplitter;
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

type Changes<K> = BoxStream<'static, kube::Result<WatchEvent<RawObject<K>>>>;

enum State<K> {
    Unlisted,
    Listing(Listing),
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
    async fn step(&mut self) -> Result<Option<Event<RawObject<K>>>> {
        match std::mem::replace(&mut self.state, State::Unlisted) {
            State::Unlisted => {
                let params = ListParams { label_selector: self.labels.clone(), ..ListParams::default() };
                let listing = Listing::begin(&self.client, &self.url, &params).await;
                self.state = State::Listing(listing.map_err(Error::InitialListFailed)?);
                Ok(Some(Event::Init))
            }
            State::Listing(mut listing) => match listing.next().await.map_err(Error::InitialListFailed)? {
                ListItem::Object(text) => {
                    self.state = State::Listing(listing);
                    Ok(Some(Event::InitApply(RawObject::new(text))))
                }
                ListItem::End(version) => {
                    self.state = State::Listed(version.ok_or(Error::NoResourceVersion)?);
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

    fn handle(
        &mut self,
        mut open: OpenWatch<K>,
        change: Option<kube::Result<WatchEvent<RawObject<K>>>>,
    ) -> Result<Option<Event<RawObject<K>>>> {
        let Some(change) = change else {
            self.state = State::Listed(open.version);
            return if open.delivered { Ok(None) } else { Err(ended_without_event()) };
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

/// An error, so that the caller delays: to open another watch at once would be a busy loop.
fn ended_without_event() -> Error {
    let message = "the watch ended without an event";
    Error::WatchFailed(kube::Error::ReadEvents(io::Error::new(io::ErrorKind::UnexpectedEof, message)))
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

/// The response to a list while it arrives.
struct Listing {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    splitter: ListSplitter,
}

enum ListItem {
    Object(String),
    /// The list is complete up to this resource version.
    End(Option<String>),
}

/// A list without its objects.
#[derive(Deserialize)]
struct EmptiedList {
    metadata: ListMeta,
}

impl Listing {
    async fn begin(client: &Client, url: &str, params: &ListParams) -> kube::Result<Self> {
        let request = Request::new(url).list(params).map_err(kube::Error::BuildRequest)?;
        let body = client.request_stream(request).await?;
        Ok(Self { body: Box::pin(body), splitter: ListSplitter::default() })
    }

    async fn next(&mut self) -> kube::Result<ListItem> {
        loop {
            // The client's deadline covers the whole list.
            let chunk = self.body.fill_buf().await.map_err(kube::Error::ReadEvents)?;
            if chunk.is_empty() {
                let rest = serde_json::from_slice(self.splitter.rest()).map_err(kube::Error::SerdeError)?;
                let EmptiedList { metadata } = rest;
                return Ok(ListItem::End(metadata.resource_version.filter(|version| !version.is_empty())));
            }
            let (used, object) = self.splitter.feed(chunk);
            self.body.as_mut().consume(used);
            if let Some(object) = object {
                return Ok(ListItem::Object(object));
            }
        }
    }
}

#[cfg(test)]
mod tests;
