//! Connections that have made no authorized call yet.
//!
//! Anybody can open them, so they are few, and a new one closes the oldest: whoever fills the list is soon its oldest entry,
//! and a client with a token leaves the list with its first call. An entry stays for at least [`MIN_STAY`], in which a
//! client can make that call; until then new clients wait in the kernel's queue.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

const MIN_STAY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct UnauthenticatedConnections {
    max: usize,
    list: Mutex<ConnectionList>,
    /// Notified when an entry leaves the list.
    left: Notify,
}

#[derive(Debug, Default)]
struct ConnectionList {
    last_id: u64,
    /// In the order in which the connections were accepted.
    open: BTreeMap<u64, OpenConnection>,
    /// Entries that were told to close and have not done so.
    closing: usize,
}

#[derive(Debug)]
struct OpenConnection {
    since: Instant,
    evicted: Arc<Notify>,
}

/// What a new connection has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Free,
    /// The oldest connection was told to close.
    Evicted,
    /// The oldest connection may be closed after this time.
    In(Duration),
}

impl UnauthenticatedConnections {
    pub(super) fn new(max: usize) -> Self {
        Self { max: max.max(1), list: Mutex::default(), left: Notify::new() }
    }

    /// Makes room for one more connection. With `listener_full`, none of any kind could be accepted.
    pub(super) fn make_room(&self, listener_full: bool) -> Room {
        let mut list = self.list();
        let crowded = list.open.len() >= self.max || (listener_full && list.closing == 0);
        let Some(oldest) = list.open.first_entry().filter(|_| crowded) else { return Room::Free };
        let age = oldest.get().since.elapsed();
        if age < MIN_STAY {
            return Room::In(MIN_STAY.saturating_sub(age));
        }
        oldest.remove().evicted.notify_one();
        list.closing += 1;
        Room::Evicted
    }

    pub(super) async fn left(&self) {
        self.left.notified().await;
    }

    pub(super) fn add(self: &Arc<Self>) -> ConnectionAuthentication {
        let evicted = Arc::new(Notify::new());
        let mut list = self.list();
        list.last_id += 1;
        let id = list.last_id;
        list.open.insert(id, OpenConnection { since: Instant::now(), evicted: Arc::clone(&evicted) });
        let entry = ListEntry { id, evicted, listed: AtomicBool::new(true), list: Arc::clone(self) };
        ConnectionAuthentication(Arc::new(entry))
    }

    fn list(&self) -> MutexGuard<'_, ConnectionList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a connection has made an authorized call. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct ConnectionAuthentication(Arc<ListEntry>);

#[derive(Debug)]
struct ListEntry {
    id: u64,
    evicted: Arc<Notify>,
    listed: AtomicBool,
    list: Arc<UnauthenticatedConnections>,
}

impl ConnectionAuthentication {
    /// Keeps the connection from now on.
    pub(super) fn authorized(&self) {
        // The load keeps the calls of a connection from writing to the same cache line.
        if !self.is_authorized() {
            self.0.leave();
        }
    }

    pub(super) fn is_authorized(&self) -> bool {
        !self.0.listed.load(Ordering::Relaxed)
    }

    /// Waits until the connection has to close.
    pub(super) async fn evicted(&self) {
        self.0.evicted.notified().await;
    }
}

impl ListEntry {
    fn leave(&self) {
        if !self.listed.swap(false, Ordering::Relaxed) {
            return;
        }
        let mut list = self.list.list();
        // An entry that is missing was evicted.
        if list.open.remove(&self.id).is_none() {
            list.closing = list.closing.saturating_sub(1);
        }
        drop(list);
        self.list.left.notify_one();
    }
}

impl Drop for ListEntry {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_connection_without_an_authorized_call_makes_room() {
        let list = Arc::new(UnauthenticatedConnections::new(2));
        let (authorized, oldest, newest) = (list.add(), list.add(), list.add());
        authorized.authorized();
        assert_eq!(list.make_room(false), Room::In(MIN_STAY));
        tokio::time::advance(MIN_STAY).await;
        assert_eq!(list.make_room(false), Room::Evicted);
        assert!(poll!(Box::pin(oldest.evicted())).is_ready());
        assert!(poll!(Box::pin(newest.evicted())).is_pending());
        assert!(poll!(Box::pin(authorized.evicted())).is_pending());
        assert_eq!(list.make_room(false), Room::Free);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_listener_closes_one_connection_at_a_time() {
        let list = Arc::new(UnauthenticatedConnections::new(9));
        let (first, second) = (list.add(), list.add());
        assert_eq!(list.make_room(false), Room::Free);
        tokio::time::advance(MIN_STAY).await;
        assert_eq!(list.make_room(true), Room::Evicted);
        assert_eq!(list.make_room(true), Room::Free, "the first is still closing");
        drop(first);
        assert_eq!(list.make_room(true), Room::Evicted);
        drop(second);
        assert_eq!(list.make_room(true), Room::Free, "nothing can be closed");
    }
}
