//! Readiness gates: conditions that must all hold before work is sent here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::tasks::Shutdown;

/// Why a gate is closed; `None` when it is open.
type Gates = BTreeMap<&'static str, Option<String>>;

/// Named gates: the process is ready when all are open and shutdown has not begun. Clones see the same gates.
#[derive(Clone, Debug)]
pub struct Readiness {
    gates: Arc<Mutex<Gates>>,
    /// What `/readyz` says about open gates.
    notes: Arc<Mutex<BTreeMap<&'static str, String>>>,
    changed: Arc<Notify>,
    shutdown: Shutdown,
}

impl Readiness {
    /// Ready until a gate is added. Once `shutdown` begins it is no longer ready, so that no new work is sent to a
    /// process that is about to exit.
    pub fn new(shutdown: Shutdown) -> Self {
        Self { gates: Arc::default(), notes: Arc::default(), changed: Arc::default(), shutdown }
    }

    /// Adds a gate that is closed for `reason`, such as "the store is not open yet".
    pub fn gate(&self, name: &'static str, reason: impl Into<String>) -> ReadinessGate {
        self.lock().insert(name, Some(reason.into()));
        ReadinessGate { name, readiness: self.clone() }
    }

    /// The closed gates with their reasons; empty when ready.
    pub fn missing(&self) -> Vec<(&'static str, String)> {
        let shutting_down =
            self.shutdown.has_begun().then(|| ("shutdown", "the process is shutting down".to_owned()));
        let closed =
            |(name, reason): (&&'static str, &Option<String>)| reason.clone().map(|reason| (*name, reason));
        shutting_down.into_iter().chain(self.lock().iter().filter_map(closed)).collect()
    }

    /// What limits the process although it is ready.
    pub fn notes(&self) -> Vec<(&'static str, String)> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.iter().map(|(name, note)| (*name, note.clone())).collect()
    }

    /// Waits until every gate is open.
    pub async fn ready(&self) {
        loop {
            // Subscribed before the check, so that a gate that opens in between is not missed.
            let changed = self.changed.notified();
            if self.missing().is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// A poisoned lock is taken over: every change is a single insert, so the map is consistent after a panic.
    fn lock(&self) -> MutexGuard<'_, Gates> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One condition of readiness. Dropping it changes nothing: a part that ends does not thereby become ready.
#[derive(Clone, Debug)]
pub struct ReadinessGate {
    name: &'static str,
    readiness: Readiness,
}

impl ReadinessGate {
    pub fn open(&self) {
        self.set(None);
    }

    /// Opens the gate although something is wrong: calls still have to come here, and some of them succeed.
    pub fn open_with_note(&self, note: impl Into<String>) {
        self.set(None);
        self.notes().insert(self.name, note.into());
    }

    pub fn close(&self, reason: impl Into<String>) {
        self.set(Some(reason.into()));
    }

    fn notes(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.readiness.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, reason: Option<String>) {
        self.notes().remove(self.name);
        let before = self.readiness.lock().insert(self.name, reason.clone()).flatten();
        self.readiness.changed.notify_waiters();
        match (before, reason) {
            (Some(_), None) => tracing::info!(gate = self.name, "ready"),
            (None, Some(reason)) => tracing::warn!(gate = self.name, reason, "no longer ready"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_must_be_open() {
        let readiness = Readiness::new(Shutdown::new());
        assert_eq!(readiness.missing(), []);
        let store = readiness.gate("store", "not open yet");
        let cache = readiness.gate("cache", "not synced yet");
        store.open();
        assert_eq!(readiness.missing(), [("cache", "not synced yet".to_owned())]);
        cache.open();
        assert_eq!(readiness.missing(), []);
        store.close("disk full");
        assert_eq!(readiness.missing(), [("store", "disk full".to_owned())]);
    }

    #[test]
    fn a_note_keeps_the_process_ready() {
        let readiness = Readiness::new(Shutdown::new());
        let store = readiness.gate("store", "not open yet");
        store.open_with_note("full");
        assert_eq!(readiness.missing(), []);
        assert_eq!(readiness.notes(), [("store", "full".to_owned())]);
        store.open();
        assert_eq!(readiness.notes(), []);
    }

    #[tokio::test]
    async fn whoever_waits_hears_the_last_gate_open() {
        let readiness = Readiness::new(Shutdown::new());
        let (store, cache) = (readiness.gate("store", "closed"), readiness.gate("cache", "closed"));
        let waiting = readiness.ready();
        tokio::pin!(waiting);
        for gate in [store, cache] {
            assert!(futures::poll!(&mut waiting).is_pending());
            gate.open();
        }
        assert!(futures::poll!(&mut waiting).is_ready());
    }

    #[test]
    fn a_process_that_shuts_down_is_not_ready() {
        let shutdown = Shutdown::new();
        let readiness = Readiness::new(shutdown.clone());
        shutdown.begin();
        assert_eq!(readiness.missing(), [("shutdown", "the process is shutting down".to_owned())]);
    }
}
