//! An operator and what it sees of the world, a step at a time.

use std::sync::atomic::{AtomicU64, Ordering};

use kube::runtime::watcher::Event;
use vmafx_api::workload::StatefulSetRef;
use vmafx_kit::metrics::Metrics;
use vmafx_operator::error::ApiError;
use vmafx_operator::runtime::Cache;
use vmafx_operator::workload::{Facts, Owner, Seen, Synced, WorkloadMetrics, Workloads};

use super::server::{Deed, Fault, Server};
use crate::objects::{NAME, NAMESPACE, Wanted, owner};

/// What becomes of a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    pub(crate) fault: Fault,
    /// What somebody does just before the request of this number.
    pub(crate) meanwhile: Option<(usize, Deed)>,
    pub(crate) status_lost: bool,
    pub(crate) crash: bool,
}

impl Fate {
    pub(crate) const GOOD: Self =
        Self { fault: Fault::None, meanwhile: None, status_lost: false, crash: false };
}

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) wanted: Wanted,
    workloads: Workloads,
    cache: Cache<Facts>,
    known: Option<Facts>,
    /// The resource as the cache has it, and its version.
    seen: (Seen, u64),
}

impl World {
    pub(crate) fn new() -> Self {
        let server = Server::new();
        let (workloads, cache) = started(&server);
        let seen = read(&server);
        Self { server, wanted: Wanted::default(), workloads, cache, known: None, seen }
    }

    /// The process starts anew and lists everything.
    pub(crate) fn restart(&mut self) {
        (self.workloads, self.cache) = started(&self.server);
        self.known = None;
        self.watch();
    }

    /// The watches catch up.
    pub(crate) fn watch(&mut self) {
        let now = self.server.state().object.clone();
        let now = now.map(|object| {
            Facts::from(serde_json::from_value::<k8s_openapi::api::apps::v1::StatefulSet>(object).unwrap())
        });
        if let Some(gone) =
            self.known.take_if(|known| now.as_ref().is_none_or(|now| now.identity.uid != known.identity.uid))
        {
            self.cache.take(Event::Delete(gone));
        }
        // What we put in ourselves and is gone since.
        for known in self.cache.all() {
            if now.as_ref().is_none_or(|now| now.identity.uid != known.identity.uid) {
                self.cache.take(Event::Delete((*known).clone()));
            }
        }
        if let Some(now) = now {
            self.cache.take(Event::Apply(now.clone()));
            self.known = Some(now);
        }
        self.seen = read(&self.server);
    }

    /// One pass of the reconciler, which writes the status if it has changed.
    pub(crate) async fn pass(&mut self, fate: Fate) -> Result<Synced, ApiError> {
        {
            let mut state = self.server.state();
            state.policy = self.wanted.policy;
            (state.requests, state.writes) = (0, 0);
            (state.fault, state.meanwhile) = (fate.fault, fate.meanwhile);
        }
        let (seen, version) = self.seen.clone();
        let version = AtomicU64::new(version);
        let wanted = self.wanted.rendered(NAMESPACE);
        let fresh = || async {
            if !self.server.state().step() {
                return Err(ApiError::TimedOut {
                    action: "read the resource",
                    within: std::time::Duration::ZERO,
                });
            }
            let (seen, now) = read(&self.server);
            version.store(now, Ordering::Relaxed);
            Ok(Some(seen))
        };
        let result = self.workloads.sync(&seen, &wanted, fresh).await;
        {
            let mut state = self.server.state();
            (state.fault, state.meanwhile) = (Fault::None, None);
            if let Ok(synced) = &result {
                let tracked = synced.tracked.as_ref().map(|tracked| tracked.uid.clone());
                let writes = !fate.status_lost && !fate.crash && state.status_version == version.into_inner();
                if tracked != state.tracked && writes {
                    state.tracked = tracked;
                    state.status_version += 1;
                    state.writes += 1;
                }
            }
        }
        if fate.crash {
            self.restart();
        } else if result.is_ok() && !fate.status_lost {
            self.seen = read(&self.server);
        }
        result
    }
}

fn started(server: &Server) -> (Workloads, Cache<Facts>) {
    let cache = Cache::default();
    let metrics = WorkloadMetrics::new(&mut Metrics::new("test"));
    (Workloads::new(server.client(), cache.clone(), metrics), cache)
}

fn read(server: &Server) -> (Seen, u64) {
    let state = server.state();
    let tracked = state.tracked.clone().map(|uid| StatefulSetRef { name: NAME.to_owned(), uid });
    let owner = Owner { adopts: state.adopts, ..owner() };
    (Seen { owner, tracked, said: None }, state.status_version)
}
