//! An operator with its caches, run one pass at a time against the simulated API server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::runtime::watcher::Event;
use vmafx_api::workload::StatefulSetRef;
use vmafx_operator::error::ApiError;
use vmafx_operator::runtime::{Cache, ReconcileError};
use vmafx_operator::workload::{ResourceOwner, StatefulSetSnapshot, TrackedResource, Workloads};

use super::server::{Fault, Interference, Server};
use crate::objects::{DesiredSet, NAME, owner};
use crate::pass::{Pass, workloads};

/// What goes wrong during a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassFaults {
    pub(crate) fault: Fault,
    /// What another client does just before the request of this number.
    pub(crate) meanwhile: Option<(usize, Interference)>,
    pub(crate) status_lost: bool,
    pub(crate) crash: bool,
}

impl PassFaults {
    pub(crate) const NONE: Self =
        Self { fault: Fault::None, meanwhile: None, status_lost: false, crash: false };
}

pub(crate) struct Simulation {
    pub(crate) server: Server,
    pub(crate) desired: DesiredSet,
    workloads: Workloads,
    cache: Cache<StatefulSetSnapshot>,
    /// What the watch has delivered last.
    watched: Option<StatefulSetSnapshot>,
    /// The resource as it is cached, and the version of its status.
    resource: (TrackedResource, u64),
}

impl Simulation {
    pub(crate) fn new() -> Self {
        let server = Server::new();
        let (workloads, caches) = workloads(&server.client());
        let (resource, cache) = (read(&server), caches.stateful_sets);
        Self { server, desired: DesiredSet::default(), workloads, cache, watched: None, resource }
    }

    /// The operator restarts and lists everything.
    pub(crate) fn restart(&mut self) {
        let (workloads, caches) = workloads(&self.server.client());
        (self.workloads, self.cache) = (workloads, caches.stateful_sets);
        self.watched = None;
        self.watch();
    }

    /// The watches catch up.
    pub(crate) fn watch(&mut self) {
        let live = self.server.state().object.clone();
        let live = live
            .map(|object| StatefulSetSnapshot::from(serde_json::from_value::<StatefulSet>(object).unwrap()));
        let is_gone = |cached: &StatefulSetSnapshot| {
            live.as_ref().is_none_or(|live| live.identity.uid != cached.identity.uid)
        };
        if let Some(gone) = self.watched.take_if(|watched| is_gone(watched)) {
            self.cache.handle(Event::Delete(gone));
        }
        // The cache also contains own writes, whose objects may have been deleted since.
        for cached in self.cache.all() {
            if is_gone(&cached) {
                self.cache.handle(Event::Delete((*cached).clone()));
            }
        }
        if let Some(live) = live {
            self.cache.handle(Event::Apply(live.clone()));
            self.watched = Some(live);
        }
        self.resource = read(&self.server);
    }

    /// One pass of the reconciler, which writes the status if it has changed.
    pub(crate) async fn pass(&mut self, faults: PassFaults) -> Result<Pass, ReconcileError> {
        {
            let mut state = self.server.state();
            state.policy = self.desired.policy;
            (state.requests, state.writes) = (0, 0);
            (state.fault, state.meanwhile) = (faults.fault, faults.meanwhile);
        }
        let (resource, version) = self.resource.clone();
        let version = AtomicU64::new(version);
        let read_resource = || async {
            if !self.server.state().receive() {
                return Err(ApiError::TimedOut { action: "read the resource", within: Duration::ZERO });
            }
            let (resource, live_version) = read(&self.server);
            version.store(live_version, Ordering::Relaxed);
            Ok(Some(resource))
        };
        let desired = self.desired.workload(&resource.owner);
        let result = Pass::run(&self.workloads, &resource, desired, read_resource).await;
        {
            let mut state = self.server.state();
            (state.fault, state.meanwhile) = (Fault::None, None);
            if let Ok(pass) = &result {
                let tracked = pass.status.tracked.as_ref().map(|tracked| tracked.uid.clone());
                let unchanged = state.status_version == version.into_inner();
                if tracked != state.tracked && unchanged && !faults.status_lost && !faults.crash {
                    state.tracked = tracked;
                    state.status_version += 1;
                    state.writes += 1;
                }
            }
        }
        if faults.crash {
            self.restart();
        } else if result.is_ok() && !faults.status_lost {
            self.resource = read(&self.server);
        }
        result
    }
}

fn read(server: &Server) -> (TrackedResource, u64) {
    let state = server.state();
    let tracked = state.tracked.clone().map(|uid| StatefulSetRef { name: NAME.to_owned(), uid });
    let owner = ResourceOwner { adopts: state.adopts, ..owner() };
    (TrackedResource { owner, tracked, synced_reason: None }, state.status_version)
}
