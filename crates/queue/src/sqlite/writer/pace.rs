//! How long the thread waits for company.
//!
//! When a transaction with many operations is answered, their callers come back within a moment, but not at once. A
//! transaction that begins with the first of them makes all others wait for a sync that was hardly used. So the thread
//! waits until as many are there as last time, for a small part of what a sync costs at most. A caller who was alone
//! last time is never made to wait.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::Receiver;

/// What is known from the last transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Pace {
    company: usize,
    patience: Duration,
}

impl Pace {
    /// The part of a sync that is spent on waiting at most.
    const PART: u32 = 4;
    /// Never longer, however slow the disk is.
    const LONGEST: Duration = Duration::from_millis(2);

    /// So many operations were made durable, which took so long.
    pub(super) fn note(&mut self, company: usize, took: Duration) {
        *self = Self { company, patience: (took / Self::PART).min(Self::LONGEST) };
    }

    /// Adds what comes in time to what is there.
    pub(super) fn gather<T>(self, inbox: &mut Receiver<T>, taken: &mut Vec<T>) {
        if taken.len() >= self.company {
            return;
        }
        let end = Instant::now() + self.patience;
        while taken.len() < self.company && Instant::now() < end {
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

    fn gathered(pace: Pace, waiting: usize) -> usize {
        let (sender, mut inbox) = channel(16);
        for number in 0..waiting {
            sender.try_send(number).unwrap();
        }
        let mut taken = vec![0];
        pace.gather(&mut inbox, &mut taken);
        taken.len()
    }

    #[test]
    fn whoever_was_there_last_time_is_waited_for() {
        let mut pace = Pace::default();
        assert_eq!(gathered(pace, 8), 1);
        pace.note(5, Duration::from_secs(1));
        assert_eq!(gathered(pace, 8), 5);
    }

    #[test]
    fn whoever_does_not_come_is_not_waited_for_long() {
        let mut pace = Pace::default();
        pace.note(5, Duration::from_mins(1));
        assert_eq!(gathered(pace, 2), 3);
    }
}
