//! Fills the cache of one kind and notifies the controllers that a change concerns.
//!
//! An error affects this kind only: it is counted, logged once and followed by a growing delay. An object that cannot be
//! decoded is counted and ignored: it must not hide all others, as it would if the whole list failed, and its cached
//! version stays until it is deleted.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;

use futures::StreamExt;
use kube::Resource;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use vmafx_kit::causes::chain;
use vmafx_kit::health::ReadinessGate;
use vmafx_kit::metrics::{LabelSet, MetricLabel as _};
use vmafx_kit::tasks::Shutdown;

use super::cache::{Cache, Cached};
use super::identity::ObjectIdentity;
use super::list_watch::ListWatch;
use super::metrics::{RuntimeMetrics, WatchedKind};
use super::notifier::Notifier;
use super::raw_object::RawObject;
use crate::key::ObjectKey;

/// The keys of the resources that an object concerns.
type ConcernedKeys<V> = Box<dyn Fn(&V) -> Vec<ObjectKey> + Send + Sync>;

/// The watch of one kind.
pub struct Watch<K, V> {
    kind: WatchedKind,
    client: kube::Client,
    labels: Option<String>,
    project: fn(K) -> V,
    cache: Cache<V>,
    subscribers: Vec<(Notifier, ConcernedKeys<V>)>,
    listed: watch::Sender<bool>,
}

impl<K, V> Watch<K, V>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
    V: Cached,
{
    /// `project` reduces an object to what is cached of it.
    pub fn new(kind: WatchedKind, client: kube::Client, project: fn(K) -> V) -> Self {
        Self {
            kind,
            client,
            labels: None,
            project,
            cache: Cache::default(),
            subscribers: Vec::new(),
            listed: watch::Sender::new(false),
        }
    }

    /// Restricts the watch to objects that have this label.
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        self.labels = Some(label.to_owned());
        self
    }

    pub fn cache(&self) -> Cache<V> {
        self.cache.clone()
    }

    /// Becomes `true` when the first list is complete.
    pub fn listed(&self) -> watch::Receiver<bool> {
        self.listed.subscribe()
    }

    /// Notifies a controller of the resources that a changed object concerns.
    #[must_use]
    pub fn notifies(
        mut self,
        controller: Notifier,
        concerned: impl Fn(&V) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        self.subscribers.push((controller, Box::new(concerned)));
        self
    }

    /// Watches until shutdown. The gate opens when the first list is complete.
    pub async fn run(
        self,
        gate: ReadinessGate,
        metrics: RuntimeMetrics,
        shutdown: Shutdown,
    ) -> Result<(), Infallible> {
        let list_watch = ListWatch::<K>::new(self.client.clone(), self.labels.clone());
        let mut events = std::pin::pin!(list_watch.events().backoff(watcher::DefaultBackoff::default()));
        let mut reported = ReportedProblems::default();
        let mut lists = 0_u64;
        while let Some(Some(event)) = shutdown.run_until_begun(events.next()).await {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    metrics.watch_errors.get_or_create(&LabelSet((self.kind,))).inc();
                    reported.error(self.kind, &gate, &error);
                    continue;
                }
            };
            let list_done = matches!(event, Event::InitDone);
            let changed = self.handle(event, &metrics, &mut reported);
            if list_done {
                lists += 1;
                if lists > 1 {
                    metrics.restarts.get_or_create(&LabelSet((self.kind,))).inc();
                }
                reported.recovered();
                gate.open();
                self.listed.send_replace(true);
            }
            let cached = i64::try_from(self.cache.len()).unwrap_or(i64::MAX);
            metrics.objects.get_or_create(&LabelSet((self.kind,))).set(cached);
            for object in &changed {
                for (controller, concerned) in &self.subscribers {
                    for key in concerned(object) {
                        // The channel of the controller may be full for a while.
                        if shutdown.run_until_begun(controller.notify(key)).await.is_none() {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Applies an event to the cache and returns the objects that are new, changed or deleted.
    fn handle(
        &self,
        event: Event<RawObject<K>>,
        metrics: &RuntimeMetrics,
        reported: &mut ReportedProblems,
    ) -> Vec<Arc<V>> {
        let mut decode = |object: RawObject<K>| match object.decode() {
            Ok(object) => Ok((self.project)(object)),
            Err(error) => {
                let identity = object.identity();
                metrics.undecodable.get_or_create(&LabelSet((self.kind,))).inc();
                reported.undecodable(self.kind, &identity, &error.to_string());
                Err(identity)
            }
        };
        let event = match event {
            Event::Apply(object) => decode(object).map(Event::Apply),
            Event::InitApply(object) => decode(object).map(Event::InitApply),
            Event::Delete(object) => match decode(object) {
                Ok(object) => Ok(Event::Delete(object)),
                Err(identity) => return self.cache.remove(&identity).into_iter().collect(),
            },
            Event::Init => Ok(Event::Init),
            Event::InitDone => Ok(Event::InitDone),
        };
        match event {
            Ok(event) => self.cache.handle(event),
            Err(identity) => {
                self.cache.keep_undecodable(&identity);
                Vec::new()
            }
        }
    }
}

/// Problems that were logged already and are not logged again.
#[derive(Debug, Default)]
struct ReportedProblems {
    error: Option<String>,
    undecodable: HashMap<String, String>,
}

impl ReportedProblems {
    /// Undecodable objects that are remembered; with more, some are logged again.
    const MAX_OBJECTS: usize = 1000;

    fn error(&mut self, kind: WatchedKind, gate: &ReadinessGate, error: &watcher::Error) {
        let text = chain(error);
        if is_not_installed(error) {
            gate.close(format!("{} is not installed: apply its CustomResourceDefinition", kind.value()));
        }
        if self.error.as_ref() != Some(&text) {
            tracing::warn!(kind = kind.value(), problem = text, "cannot watch; trying again");
            self.error = Some(text);
        }
    }

    fn recovered(&mut self) {
        self.error = None;
    }

    fn undecodable(
        &mut self,
        kind: WatchedKind,
        ObjectIdentity { key, uid, .. }: &ObjectIdentity,
        error: &str,
    ) {
        if self.undecodable.get(uid).is_none_or(|before| before != error) {
            tracing::warn!(
                kind = kind.value(),
                namespace = key.namespace,
                name = key.name,
                problem = error,
                "cannot decode an object; it is ignored"
            );
            if self.undecodable.len() >= Self::MAX_OBJECTS {
                self.undecodable.clear();
            }
            self.undecodable.insert(uid.clone(), error.to_owned());
        }
    }
}

/// Whether the API server does not know the kind.
fn is_not_installed(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
}
