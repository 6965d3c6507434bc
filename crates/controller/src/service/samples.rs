//! Labelled samples, in the order in which they came to be.

use std::collections::{BTreeMap, VecDeque};

use futures::StreamExt;
use futures::stream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;
use vmafx_queue::store::{Cursor, Sample};

use super::answer::SampleItem;
use super::request::ReadSamples;
use super::watch::{PAGE, too_many};
use super::{Items, Service, check, shutting_down};
use crate::identity::Identity;
use crate::live::Happening;
use crate::refusal::Refusal;

impl Service {
    /// Samples after a cursor; with `follow` also those to come. A cursor that cannot be continued from is refused
    /// at once, not as the first item.
    pub async fn samples(&self, who: &Identity, request: ReadSamples) -> Result<Items<SampleItem>, Refusal> {
        check::samples(&request)?;
        let permit = self.0.live.admit().ok_or_else(too_many)?;
        let mut reading = Reading {
            sampled: self.0.live.listen(&who.tenant, Happening::Sampled),
            service: self.clone(),
            who: who.clone(),
            selector: request.node_selector,
            follow: request.follow,
            cursor: request.cursor,
            ready: VecDeque::new(),
            caught_up: false,
            told: Instant::now(),
            _permit: permit,
        };
        reading.read().await?;
        let next = |mut reading: Reading| async move {
            let item = reading.next().await?;
            Some((item, reading))
        };
        Ok(stream::unfold(reading, next).boxed())
    }
}

struct Reading {
    service: Service,
    who: Identity,
    selector: BTreeMap<String, String>,
    follow: bool,
    cursor: Cursor,
    ready: VecDeque<SampleItem>,
    caught_up: bool,
    told: Instant,
    sampled: watch::Receiver<u64>,
    _permit: OwnedSemaphorePermit,
}

impl Reading {
    /// The next item; `None` at the end.
    async fn next(&mut self) -> Option<Result<SampleItem, Refusal>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                self.told = Instant::now();
                return Some(Ok(item));
            }
            if self.caught_up && !self.follow {
                return None;
            }
            let shutdown = self.service.0.shutdown.clone();
            let read = tokio::select! {
                biased;
                () = shutdown.begun() => Err(shutting_down()),
                read = self.wait_and_read() => read,
            };
            if let Err(refusal) = read {
                // The stream ends with it.
                (self.caught_up, self.follow) = (true, false);
                return Some(Err(refusal));
            }
        }
    }

    async fn wait_and_read(&mut self) -> Result<(), Refusal> {
        if self.caught_up {
            let patience = self.service.0.patience;
            tokio::select! {
                // A closed channel means nobody tells any more; the look below still comes.
                Ok(()) = self.sampled.changed() => tokio::time::sleep(patience.gather).await,
                () = tokio::time::sleep_until(self.told + patience.bookmark) => {}
            }
        }
        self.read().await
    }

    async fn read(&mut self) -> Result<(), Refusal> {
        self.sampled.mark_unchanged();
        let page = self.service.0.store.samples(&self.who.tenant, &self.cursor, PAGE).await?;
        self.caught_up = page.samples.len() < PAGE as usize;
        self.cursor = page.next;
        let wanted = page.samples.into_iter().filter(|(_, sample)| selected(&self.selector, sample));
        self.ready.extend(wanted.map(|(cursor, sample)| SampleItem { cursor, sample: Some(sample) }));
        let overdue = self.told.elapsed() >= self.service.0.patience.bookmark;
        if self.caught_up || (overdue && self.ready.is_empty()) {
            self.ready.push_back(SampleItem { cursor: self.cursor.clone(), sample: None });
        }
        Ok(())
    }
}

/// Whether the node had all of these labels when it scored.
fn selected(selector: &BTreeMap<String, String>, sample: &Sample) -> bool {
    selector.iter().all(|(name, value)| sample.node_labels.get(name) == Some(value))
}
