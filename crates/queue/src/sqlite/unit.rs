//! What an operation works with, inside a transaction.

use rusqlite::Connection;
use uuid::{ContextV7, Uuid};

use super::live::Live;
use super::news::News;
use super::rows::{self, Row};
use crate::StoreError;
use crate::clock::Timestamp;
use crate::policy::Policy;

/// Numbers that go back when a transaction fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    /// The last change of a job.
    pub(super) job_seq: i64,
    /// The last sample.
    pub(super) sample_seq: i64,
    /// When the sweep came last, since the store was opened.
    pub(super) last_sweep: Option<Timestamp>,
    /// No pause of a job ends before this; `None`: no job pauses.
    pub(super) next_pause: Option<Timestamp>,
}

impl Counters {
    /// As they are stored. Which jobs pause is found out by the first sweep.
    pub(super) fn new(job_seq: i64, sample_seq: i64) -> Self {
        Self { job_seq, sample_seq, last_sweep: None, next_pause: Some(Timestamp(i64::MIN)) }
    }

    /// A job pauses until then.
    pub(super) fn pause(&mut self, until: Timestamp) {
        self.next_pause = Some(self.next_pause.map_or(until, |next| next.min(until)));
    }

    /// Whether a pause may be over.
    pub(super) fn is_pause_over(&self, now: Timestamp) -> bool {
        self.next_pause.is_some_and(|next| next <= now)
    }
}

/// What the writer carries from operation to operation.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) counters: Counters,
    pub(super) news: News,
    ids: ContextV7,
}

impl Book {
    pub(super) fn new(counters: Counters) -> Self {
        Self { counters, news: News::default(), ids: ContextV7::new() }
    }
}

/// One operation at one time.
pub(super) struct Unit<'a> {
    pub(super) connection: &'a Connection,
    pub(super) live: &'a mut Live,
    pub(super) book: &'a mut Book,
    pub(super) policy: &'a Policy,
    pub(super) now: Timestamp,
}

impl Unit<'_> {
    /// A new name. Within one store they sort in the order in which they were made.
    pub(super) fn new_id(&self) -> Uuid {
        let millis = u64::try_from(self.now.0).unwrap_or(0);
        let nanos = u32::try_from(millis % 1000).unwrap_or(0) * 1_000_000;
        Uuid::new_v7(uuid::Timestamp::from_unix(&self.book.ids, millis / 1000, nanos))
    }

    /// The next number of a change.
    pub(super) fn next_change(&mut self) -> i64 {
        self.book.counters.job_seq += 1;
        self.book.counters.job_seq
    }

    /// The next number of a sample.
    pub(super) fn next_sample(&mut self) -> i64 {
        self.book.counters.sample_seq += 1;
        self.book.counters.sample_seq
    }

    /// Stores a changed row, as a change that everybody can see.
    pub(super) fn store(&mut self, row: &mut Row) -> Result<(), StoreError> {
        row.seq = self.next_change();
        row.revision += 1;
        row.updated_at = self.now;
        rows::save(self.connection, row)?;
        self.book.news.changed(&row.tenant);
        if row.ready {
            self.book.news.work(&row.tenant, &row.backend);
        }
        if let Some(until) = row.available_at.filter(|_| !row.ready) {
            self.book.counters.pause(until);
        }
        Ok(())
    }
}
