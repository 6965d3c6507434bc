//! Streams of labelled samples, in the order in which they were completed.

use std::collections::{BTreeMap, VecDeque};

use futures::StreamExt;
use futures::stream;
use tokio::sync::watch;
use tokio::time::Instant;
use vmafx_queue::store::{Cursor, Sample};

use super::request::StreamSamples;
use super::response::SampleItem;
use super::watch::PAGE_SIZE;
use super::{ItemStream, Service, check};
use crate::identity::Identity;
use crate::refusal::Refusal;
use crate::streams::StreamPermit;
use crate::subscriptions::Topic;

impl Service {
    /// Samples after a cursor; with `follow` also future ones. An invalid cursor is refused at once, not as the first item.
    pub async fn samples(
        &self,
        who: &Identity,
        request: StreamSamples,
    ) -> Result<ItemStream<SampleItem>, Refusal> {
        check::samples(&request)?;
        let permit = self.acquire_stream(who)?;
        let mut reader = SampleReader {
            sampled: self.0.subscriptions.subscribe(&who.tenant, Topic::Sampled),
            service: self.clone(),
            who: who.clone(),
            selector: request.node_selector,
            follow: request.follow,
            cursor: request.cursor,
            ready: VecDeque::new(),
            caught_up: false,
            last_sent: Instant::now(),
            _permit: permit,
        };
        reader.read().await?;
        let next = |mut reader: SampleReader| async move {
            let item = reader.next().await?;
            Some((item, reader))
        };
        Ok(stream::unfold(reader, next).boxed())
    }
}

struct SampleReader {
    service: Service,
    who: Identity,
    selector: BTreeMap<String, String>,
    follow: bool,
    cursor: Cursor,
    ready: VecDeque<SampleItem>,
    caught_up: bool,
    last_sent: Instant,
    sampled: watch::Receiver<u64>,
    _permit: StreamPermit,
}

impl SampleReader {
    async fn next(&mut self) -> Option<Result<SampleItem, Refusal>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                self.last_sent = Instant::now();
                return Some(Ok(item));
            }
            if self.caught_up && !self.follow {
                return None;
            }
            let service = self.service.clone();
            let read = tokio::select! {
                biased;
                refusal = service.stream_end() => Err(refusal),
                read = self.wait_and_read() => read,
            };
            if let Err(refusal) = read {
                // The refusal is the last item of the stream.
                (self.caught_up, self.follow) = (true, false);
                return Some(Err(refusal));
            }
        }
    }

    async fn wait_and_read(&mut self) -> Result<(), Refusal> {
        if self.caught_up {
            let limits = self.service.0.limits;
            tokio::select! {
                // A closed channel never fires; the timer below still does.
                Ok(()) = self.sampled.changed() => tokio::time::sleep(limits.debounce).await,
                () = tokio::time::sleep_until(self.last_sent + limits.bookmark_interval) => {}
            }
        }
        self.read().await
    }

    async fn read(&mut self) -> Result<(), Refusal> {
        self.sampled.mark_unchanged();
        let page = self.service.0.store.samples(&self.who.tenant, &self.cursor, PAGE_SIZE).await?;
        self.caught_up = page.samples.len() < PAGE_SIZE as usize;
        self.cursor = page.next;
        let selected = page.samples.into_iter().filter(|(_, sample)| matches(&self.selector, sample));
        self.ready.extend(selected.map(|(cursor, sample)| SampleItem { cursor, sample: Some(sample) }));
        let overdue = self.last_sent.elapsed() >= self.service.0.limits.bookmark_interval;
        if self.caught_up || (overdue && self.ready.is_empty()) {
            self.ready.push_back(SampleItem { cursor: self.cursor.clone(), sample: None });
        }
        Ok(())
    }
}

/// Whether the node had all of these labels when it scored the job.
fn matches(selector: &BTreeMap<String, String>, sample: &Sample) -> bool {
    selector.iter().all(|(name, value)| sample.node_labels.get(name) == Some(value))
}
