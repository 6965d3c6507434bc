//! The context of an operation inside a transaction.

use rusqlite::Connection;
use uuid::{ContextV7, Uuid};

use super::live::LiveState;
use super::pending_notifications::PendingNotifications;
use super::rows::{self, JobRow};
use super::usage::{JobUsage, UsageLedger};
use crate::StoreResult;
use crate::clock::{ClockReading, CreationOrder, Timeline, Timestamp};
use crate::policy::Policy;

/// State that is restored when a transaction is rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    /// The number of the last change.
    pub(super) job_seq: i64,
    /// The number of the last sample.
    pub(super) sample_seq: i64,
    /// `None` until the first sweep after opening.
    pub(super) last_sweep: Option<Timestamp>,
    /// No back-off ends before this time; `None` when no job is in back-off.
    pub(super) next_backoff_end: Option<Timestamp>,
    pub(super) creation_order: CreationOrder,
    pub(super) timeline: Timeline,
}

impl Counters {
    /// The first sweep finds out which jobs are in back-off; until then one is assumed to be due.
    pub(super) fn new(job_seq: i64, sample_seq: i64, opened: ClockReading) -> Self {
        Self {
            job_seq,
            sample_seq,
            last_sweep: None,
            next_backoff_end: Some(Timestamp(i64::MIN)),
            creation_order: CreationOrder::default(),
            timeline: Timeline::start(opened),
        }
    }

    pub(super) fn note_backoff(&mut self, until: Timestamp) {
        self.next_backoff_end = Some(self.next_backoff_end.map_or(until, |next| next.min(until)));
    }

    pub(super) fn is_backoff_over(&self, now: Timestamp) -> bool {
        self.next_backoff_end.is_some_and(|next| next <= now)
    }
}

/// State that the writer thread keeps from one operation to the next.
#[derive(Debug)]
pub(super) struct WriterState {
    pub(super) counters: Counters,
    pub(super) pending: PendingNotifications,
    pub(super) usage: UsageLedger,
    ids: ContextV7,
}

impl WriterState {
    pub(super) fn new(counters: Counters, usage: UsageLedger) -> Self {
        Self { counters, pending: PendingNotifications::default(), usage, ids: ContextV7::new() }
    }
}

pub(super) struct UnitOfWork<'a> {
    pub(super) connection: &'a Connection,
    pub(super) live: &'a mut LiveState,
    pub(super) state: &'a mut WriterState,
    pub(super) policy: &'a Policy,
    pub(super) now: Timestamp,
}

impl UnitOfWork<'_> {
    /// Ids of one store sort by this time, and then in the order of their creation.
    pub(super) fn new_id(&self, created_at: Timestamp) -> Uuid {
        let millis = u64::try_from(created_at.0).unwrap_or(0);
        let nanos = u32::try_from(millis % 1000).unwrap_or(0) * 1_000_000;
        Uuid::new_v7(uuid::Timestamp::from_unix(&self.state.ids, millis / 1000, nanos))
    }

    /// The next number of a change.
    pub(super) fn next_change(&mut self) -> i64 {
        self.state.counters.job_seq += 1;
        self.state.counters.job_seq
    }

    /// The next number of a sample.
    pub(super) fn next_sample(&mut self) -> i64 {
        self.state.counters.sample_seq += 1;
        self.state.counters.sample_seq
    }

    /// Stores a changed row with the next change number, and records the notifications of the change.
    pub(super) fn store(&mut self, row: &mut JobRow) -> StoreResult<()> {
        row.seq = self.next_change();
        row.revision += 1;
        row.updated_at = self.now;
        row.settle_request();
        let usage = JobUsage::of(row);
        self.state.usage.replace(&row.tenant, row.usage, usage);
        row.usage = usage;
        rows::save(self.connection, row)?;
        self.state.pending.changed(&row.tenant);
        if row.ready {
            self.state.pending.work(&row.tenant, &row.backend);
        }
        if let Some(until) = row.available_at.filter(|_| !row.ready) {
            self.state.counters.note_backoff(until);
        }
        Ok(())
    }
}
