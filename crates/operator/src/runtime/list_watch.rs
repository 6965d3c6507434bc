//! Lists all objects of one kind, then watches their changes.
//!
//! ```text
//!            ┌─stream─▶ Streaming ──────complete──────┐
//!  Unlisted ─┤                                        ├─▶ Watching ──ended──▶ Listed ──watch──▶ Watching
//!     ▲      └─pages──▶ Paging ──complete──▶ Listed ──┘      │
//!     └────────────────────── 410 Gone, or a failed list ────┘
//! ```
//!
//! The list is a watch that sends the present objects first (`sendInitialEvents`): the API server answers from memory and
//! no more than one object's text is held here, however long the list is. A server that refuses such a watch, or does not
//! end its initial events, is asked for pages.

use std::time::Duration;
use std::{io, vec};

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};
use kube::api::{ListParams, ObjectList, WatchEvent, WatchParams};
use kube::core::Request;
use kube::runtime::watcher::{Error, Event, Result};
use kube::{Client, Resource};
use tokio::time::timeout;

use super::raw_object::RawObject;

/// A watch without an event for this long is dead: the API server ends each watch after five minutes and sends a bookmark
/// every minute.
const IDLE_TIMEOUT: Duration = Duration::from_secs(330);

/// An initial event must follow within this time: about the API server's own limit of a request.
const INITIAL_EVENT_TIMEOUT: Duration = Duration::from_mins(1);

/// The annotation of the bookmark after the initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Status codes of an API server that does not send initial events.
const STREAM_REFUSED: [u16; 2] = [400, 422];

const PAGE_SIZE: u32 = 500;

/// Status code for a resource version that the API server no longer knows.
const GONE: u16 = 410;

pub(super) struct ListWatch<K> {
    client: Client,
    url: String,
    labels: Option<String>,
    /// Whether the API server sends initial events, as far as we know.
    streams: bool,
    state: State<K>,
}

type ChangeResult<K> = kube::Result<WatchEvent<RawObject<K>>>;
type Changes<K> = BoxStream<'static, ChangeResult<K>>;
type StepResult<K> = Result<Option<Event<RawObject<K>>>>;

enum State<K> {
    Unlisted,
    /// Initial events arrive on the watch that will deliver the changes.
    Streaming(Changes<K>),
    Paging(Pages<K>),
    /// Complete up to a resource version, without a watch.
    Listed(String),
    Watching(OpenWatch<K>),
}

struct Pages<K> {
    /// What is left of the current page.
    objects: vec::IntoIter<RawObject<K>>,
    /// `None` after the last page.
    next: Option<ListParams>,
    /// The resource version of the list.
    version: String,
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
        Self { client, url: K::url_path(&(), None), labels, streams: true, state: State::Unlisted }
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
            State::Unlisted if self.streams => {
                let params = WatchParams { send_initial_events: true, ..self.watch_params() };
                match watch(&self.client, &self.url, &params, "").await {
                    Ok(changes) => {
                        self.state = State::Streaming(changes);
                        Ok(Some(Event::Init))
                    }
                    Err(kube::Error::Api(status)) if STREAM_REFUSED.contains(&status.code) => {
                        self.streams = false;
                        Ok(None)
                    }
                    Err(error) => Err(Error::InitialListFailed(error)),
                }
            }
            State::Unlisted => {
                let first = ListParams {
                    label_selector: self.labels.clone(),
                    limit: Some(PAGE_SIZE),
                    ..ListParams::default()
                };
                let (objects, version) = (Vec::new().into_iter(), String::new());
                self.state = State::Paging(Pages { objects, next: Some(first), version });
                Ok(Some(Event::Init))
            }
            State::Streaming(mut changes) => {
                let Ok(change) = timeout(INITIAL_EVENT_TIMEOUT, changes.next()).await else {
                    self.streams = false;
                    return Err(Error::InitialListFailed(unexpected_end("the initial events did not end")));
                };
                self.initial(changes, change)
            }
            State::Paging(mut pages) => {
                if let Some(object) = pages.objects.next() {
                    self.state = State::Paging(pages);
                    return Ok(Some(Event::InitApply(object)));
                }
                if let Some(params) = pages.next {
                    self.state = State::Paging(page(&self.client, &self.url, params).await?);
                    return Ok(None);
                }
                self.state = State::Listed(pages.version);
                Ok(Some(Event::InitDone))
            }
            State::Listed(version) => {
                match watch(&self.client, &self.url, &self.watch_params(), &version).await {
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

    fn watch_params(&self) -> WatchParams {
        WatchParams { label_selector: self.labels.clone(), ..WatchParams::default() }
    }

    fn initial(&mut self, changes: Changes<K>, change: Option<ChangeResult<K>>) -> StepResult<K> {
        match change {
            Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object))) => {
                self.state = State::Streaming(changes);
                Ok(Some(Event::InitApply(object)))
            }
            Some(Ok(WatchEvent::Bookmark(mark)))
                if mark.metadata.annotations.contains_key(INITIAL_EVENTS_END) =>
            {
                let version = Some(mark.metadata.resource_version).filter(|version| !version.is_empty());
                let version = version.ok_or(Error::NoResourceVersion)?;
                self.state = State::Watching(OpenWatch { version, changes, delivered: true });
                Ok(Some(Event::InitDone))
            }
            // An object that was deleted before its list was complete is not part of it.
            Some(Ok(WatchEvent::Bookmark(_) | WatchEvent::Deleted(_))) => {
                self.state = State::Streaming(changes);
                Ok(None)
            }
            Some(Ok(WatchEvent::Error(status))) => Err(Error::WatchError(status.boxed())),
            Some(Err(error)) => Err(Error::InitialListFailed(error)),
            None => Err(Error::InitialListFailed(unexpected_end("the list ended before it was complete"))),
        }
    }

    fn handle(&mut self, mut open: OpenWatch<K>, change: Option<ChangeResult<K>>) -> StepResult<K> {
        let Some(change) = change else {
            self.state = State::Listed(open.version);
            // An error, so that the caller delays: to open another watch at once would be a busy loop.
            let without_event = || Error::WatchFailed(unexpected_end("the watch ended without an event"));
            return if open.delivered { Ok(None) } else { Err(without_event()) };
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

async fn page<K: Clone>(client: &Client, url: &str, params: ListParams) -> Result<Pages<K>> {
    let request = Request::new(url).list(&params).map_err(kube::Error::BuildRequest);
    let request = request.map_err(Error::InitialListFailed)?;
    let page: ObjectList<RawObject<K>> = client.request(request).await.map_err(Error::InitialListFailed)?;
    let token = page.metadata.continue_.filter(|token| !token.is_empty());
    let version = page.metadata.resource_version.filter(|version| !version.is_empty());
    Ok(Pages {
        objects: page.items.into_iter(),
        next: token.map(|token| ListParams { continue_token: Some(token), ..params }),
        version: version.ok_or(Error::NoResourceVersion)?,
    })
}

fn unexpected_end(message: &'static str) -> kube::Error {
    kube::Error::ReadEvents(io::Error::new(io::ErrorKind::UnexpectedEof, message))
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
