//! Transactions: all operations of a batch in one, or each in its own.

use std::time::Instant;

use rusqlite::Connection;

use super::operation::Operation;
use super::{Writer, checkpoint, lock};
use crate::clock::Timestamp;
use crate::sqlite::clock_step;
use crate::sqlite::space::{Growth, full, is_full};
use crate::sqlite::unit_of_work::{Counters, UnitOfWork};

type Batch = Vec<Box<dyn Operation>>;

impl Writer {
    /// Runs the operations and answers their callers.
    pub(super) fn run_batch(&mut self, batch: Batch) {
        let connection = &self.connection;
        self.reserve.look_for_room(|| {
            if let Err(error) = checkpoint(connection, "TRUNCATE") {
                tracing::warn!(%error, "cannot shorten the write-ahead log of the full store");
            }
        });
        let accepts_new = self.reserve.accepts_new();
        let (accepted, refused): (Batch, Batch) =
            batch.into_iter().partition(|operation| accepts_new || operation.growth() != Growth::New);
        for operation in refused {
            operation.fail(full());
        }
        self.run_accepted(accepted);
    }

    fn run_accepted(&mut self, mut batch: Batch) {
        let mut done = self.transaction(&mut batch);
        if let [operation] = &batch[..] {
            let found_no_room = match &done {
                Ok(true) => false,
                Ok(false) => operation.found_no_room(),
                Err(error) => is_full(error),
            };
            if found_no_room && self.reserve.no_room(operation.growth()) {
                done = self.transaction(&mut batch);
            }
        }
        match done {
            Ok(false) | Err(_) if batch.len() > 1 => {
                for operation in batch {
                    self.run_batch(vec![operation]);
                }
            }
            Ok(_) => {
                for operation in batch {
                    operation.answer();
                }
            }
            Err(error) => {
                if let Some(operation) = batch.pop() {
                    operation.fail(error.into());
                }
            }
        }
    }

    /// Runs the operations in one transaction that is committed or rolled back as a whole. Returns whether all
    /// succeeded.
    fn transaction(&mut self, batch: &mut Batch) -> rusqlite::Result<bool> {
        let (before, count) = (self.state.counters, batch.len());
        let has_new = batch.iter().any(|operation| operation.growth() == Growth::New);
        let writes = batch.iter().any(|operation| operation.growth() != Growth::Memory);
        // One reading for all: a step of the clock is noticed between two transactions and not within one.
        let reading = self.clock.reading();
        let mut done = if writes {
            execute(&self.connection, "BEGIN IMMEDIATE")
                .and_then(|()| clock_step::follow(&self.connection, &mut self.state.counters, reading))
        } else {
            Ok(())
        }
        .map(|()| true);
        for operation in batch {
            if !matches!(done, Ok(true)) {
                break;
            }
            done = Ok(self.run_operation(operation.as_mut(), reading.wall));
        }
        if writes && matches!(done, Ok(true)) {
            let started = Instant::now();
            done = self.commit(before).map(|()| true);
            self.pacing.record(count, started.elapsed());
        }
        if matches!(done, Ok(true)) {
            // A claim that finds no job needs no room.
            if has_new && self.state.counters.job_seq != before.job_seq {
                self.reserve.stored_new();
            }
            lock(&self.live).commit();
            self.state.usage.commit();
            self.state.pending.notify(&self.notifier);
        } else {
            self.roll_back();
            lock(&self.live).roll_back();
            self.state.usage.roll_back();
            self.state.pending.clear();
            self.state.counters = before;
        }
        done
    }

    fn run_operation(&mut self, operation: &mut dyn Operation, now: Timestamp) -> bool {
        let mut live = lock(&self.live);
        let mut tx = UnitOfWork {
            connection: &self.connection,
            live: &mut live,
            state: &mut self.state,
            policy: &self.policy,
            now,
        };
        operation.run(&mut tx)
    }

    fn commit(&self, before: Counters) -> rusqlite::Result<()> {
        let now = self.state.counters;
        if (now.job_seq, now.sample_seq) != (before.job_seq, before.sample_seq) {
            self.connection
                .prepare_cached("UPDATE store SET job_seq = ?1, sample_seq = ?2")?
                .execute([now.job_seq, now.sample_seq])?;
        }
        self.state.usage.store(&self.connection)?;
        execute(&self.connection, "COMMIT")
    }

    fn roll_back(&self) {
        // Some disk errors roll the transaction back by themselves.
        if !self.connection.is_autocommit()
            && let Err(error) = execute(&self.connection, "ROLLBACK")
        {
            tracing::error!(path = %self.path.display(), %error, "cannot roll a transaction back");
        }
    }
}

fn execute(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(|_| ())
}
