//! Transactions: all operations in one, or each in its own.

use std::time::Instant;

use rusqlite::Connection;

use super::operation::Operation;
use super::{Writer, lock};
use crate::sqlite::unit::{Counters, Unit};

type Batch = Vec<Box<dyn Operation>>;

impl Writer {
    /// Runs all of them and answers.
    pub(super) fn run(&mut self, mut batch: Batch) {
        match self.transaction(&mut batch) {
            Ok(false) | Err(_) if batch.len() > 1 => {
                for operation in batch {
                    self.run(vec![operation]);
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

    /// Runs all of them as one: durable, or as if nothing had been. Whether all went well.
    fn transaction(&mut self, batch: &mut Batch) -> rusqlite::Result<bool> {
        let (before, count) = (self.book.counters, batch.len());
        let writes = batch.iter().any(|operation| operation.writes());
        let mut done =
            if writes { execute(&self.connection, "BEGIN IMMEDIATE") } else { Ok(()) }.map(|()| true);
        for operation in batch {
            if !matches!(done, Ok(true)) {
                break;
            }
            done = Ok(self.operate(operation.as_mut()));
        }
        if writes && matches!(done, Ok(true)) {
            let begin = Instant::now();
            done = self.commit(before).map(|()| true);
            self.pace.note(count, begin.elapsed());
        }
        if matches!(done, Ok(true)) {
            lock(&self.live).commit();
            self.book.news.tell(&self.notices);
        } else {
            self.roll_back();
            lock(&self.live).roll_back();
            self.book.news.forget();
            self.book.counters = before;
        }
        done
    }

    fn operate(&mut self, operation: &mut dyn Operation) -> bool {
        let mut live = lock(&self.live);
        let mut unit = Unit {
            connection: &self.connection,
            live: &mut live,
            book: &mut self.book,
            policy: &self.policy,
            now: self.clock.now(),
        };
        operation.run(&mut unit)
    }

    fn commit(&self, before: Counters) -> rusqlite::Result<()> {
        let now = self.book.counters;
        if (now.job_seq, now.sample_seq) != (before.job_seq, before.sample_seq) {
            self.connection
                .prepare_cached("UPDATE store SET job_seq = ?1, sample_seq = ?2")?
                .execute([now.job_seq, now.sample_seq])?;
        }
        execute(&self.connection, "COMMIT")
    }

    fn roll_back(&self) {
        // Some errors of the disk end the transaction by themselves.
        if !self.connection.is_autocommit()
            && let Err(error) = execute(&self.connection, "ROLLBACK")
        {
            tracing::error!(path = %self.path.display(), %error, "a transaction cannot be undone");
        }
    }
}

fn execute(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(|_| ())
}
