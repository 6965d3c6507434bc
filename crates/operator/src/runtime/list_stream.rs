//! One list of a kind, whose objects are delivered while the answer still arrives.
//!
//! ```text
//!  answer ──chunks──▶ parser (blocking thread) ──objects──▶ reader
//! ```
//!
//! `serde_json` parses from a blocking reader only. Both channels are bounded, so a list of any length needs little memory,
//! and a list that is dropped closes them, which ends the parser.

use std::io::{self, Read};

use bytes::{Buf as _, Bytes};
use futures::future::{BoxFuture, Fuse};
use futures::{AsyncBufRead, AsyncBufReadExt as _, FutureExt as _};
use kube::Client;
use kube::api::ListParams;
use kube::core::{ListMeta, Request};
use kube::runtime::watcher::Error;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::raw_object::RawObject;

const MAX_CHUNKS: usize = 16;
const MAX_OBJECTS: usize = 256;

pub(super) struct ListStream<K> {
    /// Sends the answer to the parser; pending once all of it is sent.
    transfer: Fuse<BoxFuture<'static, io::Result<()>>>,
    objects: mpsc::Receiver<RawObject<K>>,
    parser: JoinHandle<serde_json::Result<ListMeta>>,
}

pub(super) enum ListItem<K> {
    Object(RawObject<K>),
    /// The list is complete and has this resource version.
    End(String),
}

impl<K: Send + 'static> ListStream<K> {
    /// Requests a list of the newest version. It has no pages: the API server serves pages from etcd once it has
    /// forgotten the version of the first one.
    pub(super) async fn open(client: &Client, url: &str, labels: Option<String>) -> kube::Result<Self> {
        let params = ListParams { label_selector: labels, ..ListParams::default() };
        let request = Request::new(url).list(&params).map_err(kube::Error::BuildRequest)?;
        let answer = client.request_stream(request).await?;
        let (chunks_in, chunks) = mpsc::channel(MAX_CHUNKS);
        let (objects_in, objects) = mpsc::channel(MAX_OBJECTS);
        // What follows the list is not read: the objects end with the list, and with them the transfer.
        let parse = move || {
            let text = ChunkReader { chunks, current: Bytes::new() };
            ListSeed(objects_in).deserialize(&mut serde_json::Deserializer::from_reader(text))
        };
        let parser = tokio::task::spawn_blocking(parse);
        Ok(Self { transfer: transfer(answer, chunks_in).boxed().fuse(), objects, parser })
    }

    pub(super) async fn next(&mut self) -> Result<ListItem<K>, Error> {
        loop {
            tokio::select! {
                biased;
                object = self.objects.recv() => return match object {
                    Some(object) => Ok(ListItem::Object(object)),
                    None => self.end().await.map(ListItem::End),
                },
                sent = &mut self.transfer => {
                    sent.map_err(|error| Error::InitialListFailed(kube::Error::ReadEvents(error)))?;
                }
            }
        }
    }

    async fn end(&mut self) -> Result<String, Error> {
        let failed = |error: serde_json::Error| Error::InitialListFailed(kube::Error::SerdeError(error));
        let parsed = (&mut self.parser).await.unwrap_or_else(|panic| Err(serde_json::Error::custom(panic)));
        let version = parsed.map_err(failed)?.resource_version.filter(|version| !version.is_empty());
        version.ok_or(Error::NoResourceVersion)
    }
}

async fn transfer(answer: impl AsyncBufRead, chunks: mpsc::Sender<Bytes>) -> io::Result<()> {
    let mut answer = std::pin::pin!(answer);
    loop {
        let chunk = Bytes::copy_from_slice(answer.fill_buf().await?);
        let length = chunk.len();
        // The parser stops reading at an error, which is its result.
        if length == 0 || chunks.send(chunk).await.is_err() {
            return Ok(());
        }
        answer.consume_unpin(length);
    }
}

/// Blocks until the next chunk arrives.
struct ChunkReader {
    chunks: mpsc::Receiver<Bytes>,
    current: Bytes,
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.current.is_empty() {
            self.current = self.chunks.blocking_recv().unwrap_or_default();
        }
        let length = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

/// Sends the objects of a list and returns its metadata, in whichever order the two arrive.
struct ListSeed<K>(mpsc::Sender<RawObject<K>>);

impl<'de, K> DeserializeSeed<'de> for ListSeed<K> {
    type Value = ListMeta;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ListMeta, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, K> Visitor<'de> for ListSeed<K> {
    type Value = ListMeta;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a Kubernetes list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut list: A) -> Result<ListMeta, A::Error> {
        let mut metadata = None;
        while let Some(field) = list.next_key::<String>()? {
            match field.as_str() {
                "metadata" => metadata = Some(list.next_value()?),
                "items" => list.next_value_seed(ItemsSeed(&self.0))?,
                _ => drop(list.next_value::<IgnoredAny>()?),
            }
        }
        metadata.ok_or_else(|| A::Error::missing_field("metadata"))
    }
}

struct ItemsSeed<'a, K>(&'a mpsc::Sender<RawObject<K>>);

impl<'de, K> DeserializeSeed<'de> for ItemsSeed<'_, K> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, K> Visitor<'de> for ItemsSeed<'_, K> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the objects of a list")
    }

    /// An empty list may be `null`.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(object) = items.next_element()? {
            let sent = self.0.blocking_send(object);
            sent.map_err(|_| A::Error::custom("the list is no longer read"))?;
        }
        Ok(())
    }
}
