//! Whether the database has room.
//!
//! After a statement found no room, whatever makes the store grow is refused for a while without being tried: what
//! retention and others free goes to the ends of jobs first. [`super::reserve`] holds space for those.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::error::full;
use crate::store::{StoreError, StoreResult};

/// Time after which one more attempt is made.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// Time after which a store that nobody tried again no longer counts as full.
const MAX_MEMORY: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct Room(Mutex<Option<Instant>>);

impl Room {
    /// Refuses what makes the store grow while there is no room.
    pub(super) fn check(&self) -> StoreResult<()> {
        if self.get().is_some_and(|at| at.elapsed() < RETRY_INTERVAL) { Err(full()) } else { Ok(()) }
    }

    /// Records whether something that makes the store grow found room.
    pub(super) fn record<T>(&self, stored: StoreResult<T>) -> StoreResult<T> {
        match &stored {
            Ok(_) => self.set(None),
            Err(StoreError::Full { .. }) => self.set(Some(Instant::now())),
            Err(_) => {}
        }
        stored
    }

    pub(super) fn is_full(&self) -> bool {
        self.get().is_some_and(|at| at.elapsed() < MAX_MEMORY)
    }

    fn get(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, full_at: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = full_at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn growth_is_tried_again_after_a_while() {
        let room = Room::default();
        room.check().unwrap();
        assert!(room.record::<()>(Err(full())).is_err());
        assert!(room.is_full() && room.check().is_err());
        tokio::time::advance(RETRY_INTERVAL).await;
        room.check().unwrap();
        assert!(room.is_full(), "until something was stored");
        room.record(Ok(())).unwrap();
        assert!(!room.is_full());
    }
}
