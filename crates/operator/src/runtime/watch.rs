//! The stream of one kind into its cache.
//!
//! An error concerns this kind alone: it is counted, said once, and followed by a pause that grows. An object that does
//! not fit its type is counted and left alone: it must not hide all others, as it would if the whole list failed, and what
//! was known of it before stays known until it is gone.

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
use vmafx_kit::health::Gate;
use vmafx_kit::metrics::{By, Label as _};
use vmafx_kit::tasks::Shutdown;

use super::cache::{Cache, Cached};
use super::identity::ObjectIdentity;
use super::list_watch::ListWatch;
use super::metrics::{RuntimeMetrics, WatchedKind};
use super::notifier::Notifier;
use super::raw_object::RawObject;
use crate::key::ObjectKey;

/// Names the resources that an object concerns.
type Concerns<V> = Box<dyn Fn(&V) -> Vec<ObjectKey> + Send + Sync>;

/// One kind to be watched.
pub struct Watch<K, V> {
    kind: WatchedKind,
    client: kube::Client,
    labels: Option<String>,
    project: fn(K) -> V,
    cache: Cache<V>,
    concerned: Vec<(Notifier, Concerns<V>)>,
    listed: watch::Sender<bool>,
}

impl<K, V> Watch<K, V>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
    V: Cached,
{
    /// `project` takes from an object what its readers need.
    pub fn new(kind: WatchedKind, client: kube::Client, project: fn(K) -> V) -> Self {
        Self {
            kind,
            client,
            labels: None,
            project,
            cache: Cache::default(),
            concerned: Vec::new(),
            listed: watch::Sender::new(false),
        }
    }

    /// Only objects that have this label.
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        self.labels = Some(label.to_owned());
        self
    }

    /// What it fills.
    pub fn cache(&self) -> Cache<V> {
        self.cache.clone()
    }

    /// Whether its first list is complete, for whoever must not begin before.
    pub fn listed(&self) -> watch::Receiver<bool> {
        self.listed.subscribe()
    }

    /// Tells a controller of the resources that a changed object concerns.
    #[must_use]
    pub fn notifies(
        mut self,
        controller: Notifier,
        concerns: impl Fn(&V) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        self.concerned.push((controller, Box::new(concerns)));
        self
    }

    /// Watches until shutdown. The gate opens when the first list is complete.
    pub async fn run(
        self,
        gate: Gate,
        metrics: RuntimeMetrics,
        shutdown: Shutdown,
    ) -> Result<(), Infallible> {
        let source = ListWatch::<K>::new(self.client.clone(), self.labels.clone());
        let mut events = std::pin::pin!(source.events().backoff(watcher::DefaultBackoff::default()));
        let mut told = ReportedProblems::default();
        let mut lists = 0_u64;
        while let Some(Some(event)) = shutdown.cuts(events.next()).await {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    metrics.watch_errors.get_or_create(&By((self.kind,))).inc();
                    told.error(self.kind, &gate, &error);
                    continue;
                }
            };
            let done = matches!(event, Event::InitDone);
            let changed = self.take(event, &metrics, &mut told);
            if done {
                lists += 1;
                if lists > 1 {
                    metrics.restarts.get_or_create(&By((self.kind,))).inc();
                }
                told.well();
                gate.open();
                self.listed.send_replace(true);
            }
            let known = i64::try_from(self.cache.len()).unwrap_or(i64::MAX);
            metrics.objects.get_or_create(&By((self.kind,))).set(known);
            for object in &changed {
                for (controller, concerns) in &self.concerned {
                    for key in concerns(object) {
                        // The controller may be behind, and so may be we.
                        if shutdown.cuts(controller.notify(key)).await.is_none() {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps what is to be kept of an event; the objects that are new, changed or gone.
    fn take(
        &self,
        event: Event<RawObject<K>>,
        metrics: &RuntimeMetrics,
        told: &mut ReportedProblems,
    ) -> Vec<Arc<V>> {
        let mut read = |object: RawObject<K>| match object.read() {
            Ok(object) => Ok((self.project)(object)),
            Err(error) => {
                let identity = object.identity();
                metrics.undecodable.get_or_create(&By((self.kind,))).inc();
                told.undecodable(self.kind, &identity, &error.to_string());
                Err(identity)
            }
        };
        let event = match event {
            Event::Apply(object) => read(object).map(Event::Apply),
            Event::InitApply(object) => read(object).map(Event::InitApply),
            Event::Delete(object) => match read(object) {
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

/// What was said already, so that it is not said every second.
#[derive(Debug, Default)]
struct ReportedProblems {
    error: Option<String>,
    undecodable: HashMap<String, String>,
}

impl ReportedProblems {
    /// How many objects are remembered; with more, some are said again.
    const MOST: usize = 1000;

    fn error(&mut self, kind: WatchedKind, gate: &Gate, error: &watcher::Error) {
        let text = chain(error);
        if missing(error) {
            gate.close(format!("{} is not installed: apply its CustomResourceDefinition", kind.value()));
        }
        if self.error.as_ref() != Some(&text) {
            tracing::warn!(kind = kind.value(), problem = text, "cannot watch; trying again");
            self.error = Some(text);
        }
    }

    fn well(&mut self) {
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
                "an object does not fit its type and is left alone"
            );
            if self.undecodable.len() >= Self::MOST {
                self.undecodable.clear();
            }
            self.undecodable.insert(uid.clone(), error.to_owned());
        }
    }
}

/// Whether the kind itself is unknown to the server.
fn missing(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
}
