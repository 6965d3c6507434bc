//! All objects of one kind, and then their changes.
//!
//! ```text
//!  Unknown ──list──▶ Listing ──its end──▶ Known ──watch──▶ Following
//!     ▲                 │ broken            ▲                 │  │
//!     └─────────────────┴───────────────────┼── too old ──────┘  │ over
//!                                           └────────────────────┘
//! ```
//!
//! The list is asked for in one piece, because that is what the server has in memory: what it knows of earlier versions
//! ends with every compaction of etcd, and from then on it reads each page but the first from there, at five times the
//! cost. It is cut into objects while it comes: the reader works while the server writes, and no more than one object of
//! the text is kept, however long the list is.

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

/// A watch on which nothing is heard for so long is dead: the server ends each after five minutes, and speaks every
/// minute even if nothing happens.
const SILENCE: Duration = Duration::from_secs(330);

/// The code of a version that the server no longer knows.
const GONE: u16 = 410;

/// One kind at the API server.
pub(super) struct ListWatch<K> {
    client: Client,
    url: String,
    labels: Option<String>,
    state: State<K>,
}

/// What is heard on a watch.
type Changes<K> = BoxStream<'static, kube::Result<WatchEvent<RawObject<K>>>>;

/// How far it is.
enum State<K> {
    Unknown,
    Listing(Listing),
    /// Everything, as of a version.
    Known(String),
    Following(Following<K>),
}

/// A watch.
struct Following<K> {
    /// Up to here everything was heard.
    version: String,
    changes: Changes<K>,
    /// Whether anything was heard on it.
    spoke: bool,
}

impl<K> ListWatch<K>
where
    K: Resource<DynamicType = ()> + Clone + Send + 'static,
{
    /// Only objects that have the label, if one is given.
    pub(super) fn new(client: Client, labels: Option<String>) -> Self {
        Self { client, url: K::url_path(&(), None), labels, state: State::Unknown }
    }

    /// What there is, what changes, and what goes wrong, without end. It goes on after whatever goes wrong; pauses are
    /// the caller's.
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

    /// One step; what is to be told of it. An error that leaves no state behind means another list.
    async fn step(&mut self) -> Result<Option<Event<RawObject<K>>>> {
        match std::mem::replace(&mut self.state, State::Unknown) {
            State::Unknown => {
                let params = ListParams { label_selector: self.labels.clone(), ..ListParams::default() };
                let listing = Listing::begin(&self.client, &self.url, &params).await;
                self.state = State::Listing(listing.map_err(Error::InitialListFailed)?);
                Ok(Some(Event::Init))
            }
            State::Listing(mut listing) => match listing.next().await.map_err(Error::InitialListFailed)? {
                Listed::Object(text) => {
                    self.state = State::Listing(listing);
                    Ok(Some(Event::InitApply(RawObject::new(text))))
                }
                Listed::All(version) => {
                    self.state = State::Known(version.ok_or(Error::NoResourceVersion)?);
                    Ok(Some(Event::InitDone))
                }
            },
            State::Known(version) => {
                let params = WatchParams { label_selector: self.labels.clone(), ..WatchParams::default() };
                match watch(&self.client, &self.url, &params, &version).await {
                    Ok(changes) => {
                        self.state = State::Following(Following { version, changes, spoke: false });
                    }
                    Err(kube::Error::Api(status)) if status.code == GONE => {
                        return Err(Error::WatchError(status));
                    }
                    Err(error) => {
                        self.state = State::Known(version);
                        return Err(Error::WatchStartFailed(error));
                    }
                }
                Ok(None)
            }
            State::Following(mut following) => {
                let heard = timeout(SILENCE, following.changes.next()).await.unwrap_or(None);
                self.follow(following, heard)
            }
        }
    }

    /// What was heard on a watch, and where it stands after that.
    fn follow(
        &mut self,
        mut following: Following<K>,
        heard: Option<kube::Result<WatchEvent<RawObject<K>>>>,
    ) -> Result<Option<Event<RawObject<K>>>> {
        let Some(heard) = heard else {
            self.state = State::Known(following.version);
            return if following.spoke { Ok(None) } else { Err(wordless()) };
        };
        following.spoke = true;
        let told = match heard {
            Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                following.version = version_of(&object)?;
                Ok(Some(Event::Apply(object)))
            }
            Ok(WatchEvent::Deleted(object)) => {
                following.version = version_of(&object)?;
                Ok(Some(Event::Delete(object)))
            }
            Ok(WatchEvent::Bookmark(mark)) => {
                following.version = mark.metadata.resource_version;
                Ok(None)
            }
            Ok(WatchEvent::Error(status)) if status.code == GONE => {
                return Err(Error::WatchError(status.boxed()));
            }
            Ok(WatchEvent::Error(status)) => Err(Error::WatchError(status.boxed())),
            Err(error) => Err(Error::WatchFailed(error)),
        };
        self.state = State::Following(following);
        told
    }
}

/// What is said of a watch that ended without a word: to ask for another one at once would be a circle.
fn wordless() -> Error {
    let why = "the watch ended, and nothing was heard on it";
    Error::WatchFailed(kube::Error::ReadEvents(io::Error::new(io::ErrorKind::UnexpectedEof, why)))
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

/// A list that is on its way.
struct Listing {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    splitter: ListSplitter,
}

/// What comes of it.
enum Listed {
    Object(String),
    /// That was all, as of a version.
    All(Option<String>),
}

/// What is left of a list without its objects.
#[derive(Deserialize)]
struct Rest {
    metadata: ListMeta,
}

impl Listing {
    async fn begin(client: &Client, url: &str, params: &ListParams) -> kube::Result<Self> {
        let request = Request::new(url).list(params).map_err(kube::Error::BuildRequest)?;
        let body = client.request_stream(request).await?;
        Ok(Self { body: Box::pin(body), splitter: ListSplitter::default() })
    }

    async fn next(&mut self) -> kube::Result<Listed> {
        loop {
            // The client puts a deadline on the whole list.
            let piece = self.body.fill_buf().await.map_err(kube::Error::ReadEvents)?;
            if piece.is_empty() {
                let rest = serde_json::from_slice(self.splitter.rest()).map_err(kube::Error::SerdeError)?;
                let Rest { metadata } = rest;
                return Ok(Listed::All(metadata.resource_version.filter(|version| !version.is_empty())));
            }
            let (used, object) = self.splitter.feed(piece);
            self.body.as_mut().consume(used);
            if let Some(object) = object {
                return Ok(Listed::Object(object));
            }
        }
    }
}

#[cfg(test)]
mod tests;
