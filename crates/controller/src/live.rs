//! Who waits for something to happen to jobs, and how they hear of it.
//!
//! What they hear is a hint to look at the store, never the news itself: one number per tenant and kind that goes up.
//! However much happens between two looks, it is one hint, and a reader that does not look costs nothing.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use vmafx_queue::notification::Notification;
use vmafx_queue::{JobId, TenantId};

/// What may have happened to the jobs of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Happening {
    /// Jobs changed.
    Changed,
    /// There are new samples.
    Sampled,
    /// Nodes told how far they are.
    Progressed,
}

/// Everybody who waits. Clones are the same.
#[derive(Clone)]
pub(crate) struct Live(Arc<Inner>);

struct Inner {
    hints: Mutex<HashMap<(TenantId, Happening), watch::Sender<u64>>>,
    ends: Mutex<HashMap<JobId, Vec<oneshot::Sender<()>>>>,
    streams: Arc<Semaphore>,
}

impl Live {
    /// Nobody waits; at most so many streams at once.
    pub(crate) fn new(streams: usize) -> Self {
        let streams = Arc::new(Semaphore::new(streams));
        Self(Arc::new(Inner { hints: Mutex::default(), ends: Mutex::default(), streams }))
    }

    /// Room for one stream, until it is dropped; `None` when there is none.
    pub(crate) fn admit(&self) -> Option<OwnedSemaphorePermit> {
        self.0.streams.clone().try_acquire_owned().ok()
    }

    /// Hears of it from now on.
    pub(crate) fn listen(&self, tenant: &TenantId, to: Happening) -> watch::Receiver<u64> {
        let mut hints = self.hints();
        // Those nobody listens to any more go when somebody else comes.
        hints.retain(|_, hint| hint.receiver_count() > 0);
        hints.entry((tenant.clone(), to)).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Hears what the store tells.
    pub(crate) fn hear(&self, notice: &Notification) {
        match notice {
            Notification::Changed { tenant } => self.tell(tenant, Happening::Changed),
            Notification::Sampled { tenant } => self.tell(tenant, Happening::Sampled),
            Notification::Work { .. } => {}
        }
    }

    /// The store told more than could be heard: everybody looks.
    pub(crate) fn look(&self) {
        for hint in self.hints().values() {
            hint.send_modify(|number| *number += 1);
        }
    }

    /// Nodes of a tenant told how far they are.
    pub(crate) fn progressed(&self, tenant: &TenantId) {
        self.tell(tenant, Happening::Progressed);
    }

    /// Waits for the end of a job. It is heard at once when this process ends it; other ends are hinted at by
    /// [`Happening::Changed`].
    pub(crate) fn await_end(&self, job: JobId) -> oneshot::Receiver<()> {
        let (ear, end) = oneshot::channel();
        let mut ends = self.ends();
        ends.retain(|_, ears| {
            ears.retain(|ear| !ear.is_closed());
            !ears.is_empty()
        });
        ends.entry(job).or_default().push(ear);
        end
    }

    /// A job came to its end.
    pub(crate) fn ended(&self, job: JobId) {
        if let Entry::Occupied(ears) = self.ends().entry(job) {
            for ear in ears.remove() {
                // Whoever went away does not need to know.
                let _ = ear.send(());
            }
        }
    }

    fn tell(&self, tenant: &TenantId, what: Happening) {
        if let Some(hint) = self.hints().get(&(tenant.clone(), what)) {
            hint.send_modify(|number| *number += 1);
        }
    }

    fn hints(&self) -> MutexGuard<'_, HashMap<(TenantId, Happening), watch::Sender<u64>>> {
        self.0.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ends(&self) -> MutexGuard<'_, HashMap<JobId, Vec<oneshot::Sender<()>>>> {
        self.0.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name).unwrap()
    }

    #[test]
    fn only_the_own_tenant_is_heard_and_many_hints_are_one() {
        let live = Live::new(1);
        let mut ours = live.listen(&tenant("ours"), Happening::Changed);
        let theirs = live.listen(&tenant("theirs"), Happening::Changed);
        for _ in 0..3 {
            live.hear(&Notification::Changed { tenant: tenant("ours") });
        }
        live.hear(&Notification::Sampled { tenant: tenant("theirs") });
        assert!(ours.has_changed().unwrap());
        ours.mark_unchanged();
        assert!(!ours.has_changed().unwrap());
        assert!(!theirs.has_changed().unwrap());
        live.look();
        assert!(ours.has_changed().unwrap() && theirs.has_changed().unwrap());
    }

    #[test]
    fn who_does_not_listen_any_more_is_forgotten() {
        let live = Live::new(1);
        drop(live.listen(&tenant("gone"), Happening::Changed));
        let _here = live.listen(&tenant("here"), Happening::Changed);
        assert_eq!(live.hints().len(), 1);
        drop(live.await_end(JobId(uuid::Uuid::nil())));
        let _waiting = live.await_end(JobId(uuid::Uuid::max()));
        assert_eq!(live.ends().len(), 1);
    }

    #[test]
    fn there_is_room_for_so_many_streams() {
        let live = Live::new(1);
        let first = live.admit();
        assert!(first.is_some() && live.admit().is_none());
        drop(first);
        assert!(live.admit().is_some());
    }
}
