//! Subscriptions of waiting calls to changes of jobs.
//!
//! A subscriber gets a signal to read the store, never the change itself: a counter per tenant and topic that increases.
//! Any number of changes between two reads is one signal, and a subscriber that does not read costs nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};
use vmafx_queue::notification::Notification;
use vmafx_queue::{JobId, TenantId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    Changed,
    Sampled,
    /// Nodes reported the progress of jobs.
    Progressed,
}

#[derive(Clone, Default)]
pub(crate) struct Subscriptions(Arc<Inner>);

#[derive(Default)]
struct Inner {
    signals: Mutex<HashMap<(TenantId, Topic), watch::Sender<u64>>>,
    ends: Mutex<HashMap<JobId, Vec<oneshot::Sender<()>>>>,
}

impl Subscriptions {
    pub(crate) fn subscribe(&self, tenant: &TenantId, topic: Topic) -> watch::Receiver<u64> {
        let mut signals = self.signals();
        // Topics without subscribers are removed here, so the map cannot grow without bound.
        signals.retain(|_, signal| signal.receiver_count() > 0);
        signals.entry((tenant.clone(), topic)).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    pub(crate) fn publish(&self, notification: &Notification) {
        match notification {
            Notification::Changed { tenant } => self.notify(tenant, Topic::Changed),
            Notification::Sampled { tenant } => self.notify(tenant, Topic::Sampled),
            Notification::Work { .. } => {}
        }
    }

    /// Signals every subscriber after notifications of the store were missed.
    pub(crate) fn notify_all(&self) {
        for signal in self.signals().values() {
            signal.send_modify(|count| *count += 1);
        }
    }

    pub(crate) fn progressed(&self, tenant: &TenantId) {
        self.notify(tenant, Topic::Progressed);
    }

    /// Resolves when this process ends the job; an end by another controller is only signalled as [`Topic::Changed`].
    pub(crate) fn await_end(&self, job: JobId) -> oneshot::Receiver<()> {
        let (sender, end) = oneshot::channel();
        let mut ends = self.ends();
        ends.retain(|_, senders| {
            senders.retain(|sender| !sender.is_closed());
            !senders.is_empty()
        });
        ends.entry(job).or_default().push(sender);
        end
    }

    pub(crate) fn ended(&self, job: JobId) {
        for sender in self.ends().remove(&job).unwrap_or_default() {
            // The waiting call may have ended.
            let _ = sender.send(());
        }
    }

    fn notify(&self, tenant: &TenantId, topic: Topic) {
        if let Some(signal) = self.signals().get(&(tenant.clone(), topic)) {
            signal.send_modify(|count| *count += 1);
        }
    }

    fn signals(&self) -> MutexGuard<'_, HashMap<(TenantId, Topic), watch::Sender<u64>>> {
        self.0.signals.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn a_subscriber_gets_one_signal_for_many_changes_of_its_own_tenant() {
        let subscriptions = Subscriptions::default();
        let mut ours = subscriptions.subscribe(&tenant("ours"), Topic::Changed);
        let theirs = subscriptions.subscribe(&tenant("theirs"), Topic::Changed);
        for _ in 0..3 {
            subscriptions.publish(&Notification::Changed { tenant: tenant("ours") });
        }
        subscriptions.publish(&Notification::Sampled { tenant: tenant("theirs") });
        assert!(ours.has_changed().unwrap());
        ours.mark_unchanged();
        assert!(!ours.has_changed().unwrap());
        assert!(!theirs.has_changed().unwrap());
        subscriptions.notify_all();
        assert!(ours.has_changed().unwrap() && theirs.has_changed().unwrap());
    }

    #[test]
    fn closed_subscriptions_are_removed() {
        let subscriptions = Subscriptions::default();
        drop(subscriptions.subscribe(&tenant("gone"), Topic::Changed));
        let _here = subscriptions.subscribe(&tenant("here"), Topic::Changed);
        assert_eq!(subscriptions.signals().len(), 1);
        drop(subscriptions.await_end(JobId(uuid::Uuid::nil())));
        let _waiting = subscriptions.await_end(JobId(uuid::Uuid::max()));
        assert_eq!(subscriptions.ends().len(), 1);
    }
}
