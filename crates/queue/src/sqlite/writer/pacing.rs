//! How long the writer thread waits for further operations before it starts a transaction.
//!
//! When a large transaction is answered, its callers come back within moments of each other. A transaction that
//! started with the first of them would make all others wait for a sync that serves a single operation. So the
//! thread waits until as many operations have arrived as last time, but at most for a fraction of the duration of a
//! sync. A caller that was alone last time never waits.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::Receiver;

/// Measurements of the last transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct BatchPacing {
    batch_size: usize,
    max_wait: Duration,
}

impl BatchPacing {
    /// The wait is at most one part in this many of the last sync.
    const SYNC_FRACTION: u32 = 4;
    /// Upper limit on slow disks.
    const MAX_WAIT: Duration = Duration::from_millis(2);

    /// Records the size of a committed transaction and the duration of its commit.
    pub(super) fn record(&mut self, batch_size: usize, took: Duration) {
        *self = Self { batch_size, max_wait: (took / Self::SYNC_FRACTION).min(Self::MAX_WAIT) };
    }

    /// Adds the operations that arrive in time.
    pub(super) fn gather<T>(self, inbox: &mut Receiver<T>, taken: &mut Vec<T>) {
        if taken.len() >= self.batch_size {
            return;
        }
        let end = Instant::now() + self.max_wait;
        while taken.len() < self.batch_size && Instant::now() < end {
            match inbox.try_recv() {
                Ok(item) => taken.push(item),
                Err(_) => std::thread::yield_now(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::channel;

    use super::*;

    fn gathered(pacing: BatchPacing, waiting: usize) -> usize {
        let (sender, mut inbox) = channel(16);
        for number in 0..waiting {
            sender.try_send(number).unwrap();
        }
        let mut taken = vec![0];
        pacing.gather(&mut inbox, &mut taken);
        taken.len()
    }

    #[test]
    fn waits_for_as_many_operations_as_last_time() {
        let mut pacing = BatchPacing::default();
        assert_eq!(gathered(pacing, 8), 1);
        pacing.record(5, Duration::from_secs(1));
        assert_eq!(gathered(pacing, 8), 5);
    }

    #[test]
    fn the_wait_ends_when_no_operation_arrives() {
        let mut pacing = BatchPacing::default();
        pacing.record(5, Duration::from_mins(1));
        assert_eq!(gathered(pacing, 2), 3);
    }
}
