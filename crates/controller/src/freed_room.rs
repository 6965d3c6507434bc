//! Wakes pulls that wait for a limit: for a slot of their session, or for a running job of their tenant to end.
//!
//! Such a pull is not queued, because it cannot use a wake-up for new work. Each end of a job in this process wakes one of
//! them; ends at other controllers and by the sweep are noticed by [`RECHECK_INTERVAL`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use vmafx_queue::{SessionId, TenantId};

/// A pull at a limit claims again after this time at the latest.
pub(crate) const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LimitedBy {
    Session(SessionId),
    Tenant(TenantId),
}

/// Clones share their waiting pulls.
#[derive(Clone, Default)]
pub(crate) struct FreedRoom(Arc<Mutex<HashMap<LimitedBy, Weak<Notify>>>>);

impl FreedRoom {
    /// Waits until there may be room.
    pub(crate) async fn wait(&self, limited_by: LimitedBy) {
        let freed = self.subscribe(limited_by);
        tokio::select! {
            () = freed.notified() => {}
            () = tokio::time::sleep(RECHECK_INTERVAL) => {}
        }
    }

    /// Wakes one of the pulls that wait for this room.
    pub(crate) fn freed(&self, limited_by: &LimitedBy) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = waiting.get(limited_by).and_then(Weak::upgrade) {
            waiting.notify_one();
        }
    }

    fn subscribe(&self, limited_by: LimitedBy) -> Arc<Notify> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = waiting.get(&limited_by).and_then(Weak::upgrade) {
            return known;
        }
        // Entries without a waiting pull are removed here, so the map cannot grow without bound.
        waiting.retain(|_, known| known.strong_count() > 0);
        let fresh = Arc::new(Notify::new());
        waiting.insert(limited_by, Arc::downgrade(&fresh));
        fresh
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn session(number: u128) -> LimitedBy {
        LimitedBy::Session(SessionId(uuid::Uuid::from_u128(number)))
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_wakes_one_pull_of_its_own_session() {
        let room = FreedRoom::default();
        let mut waiting: Vec<_> = [1, 1, 2].map(|number| Box::pin(room.wait(session(number)))).into();
        assert!(waiting.iter_mut().all(|pull| pull.now_or_never().is_none()));
        room.freed(&session(1));
        let woken = waiting.iter_mut().filter_map(FutureExt::now_or_never).count();
        assert_eq!(woken, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pull_looks_again_by_itself_and_leaves_nothing_behind() {
        let room = FreedRoom::default();
        room.wait(session(1)).await;
        room.wait(session(2)).await;
        assert_eq!(room.0.lock().unwrap().len(), 1);
    }
}
