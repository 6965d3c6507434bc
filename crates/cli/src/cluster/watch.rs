//! A watch on resources that survives restarts of the API server.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Api;
use kube::core::DynamicObject;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::time::Instant;

use super::connection::Cluster;
use super::error::KubeError;
use crate::remote::watch::retry_delays;

/// Status codes of a server that is overloaded or shutting down.
const TRANSIENT_CODES: [u16; 5] = [429, 500, 502, 503, 504];
/// An API server that has just started rejects permitted requests until it has loaded its roles and CRDs.
const STARTUP_GRACE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) enum WatchEvent {
    /// The resource exists, or has changed.
    Applied(Box<DynamicObject>),
    Deleted(Box<DynamicObject>),
    /// The initial list is complete.
    Listed,
}

pub(super) trait WatchHandler {
    /// `Break` ends the watch.
    fn on_event(&mut self, news: WatchEvent) -> ControlFlow<()>;
    /// The API server does not answer; the watch is retried.
    fn on_retry(&mut self, why: &str);
}

/// Passes every resource and each of its changes to the handler once, until the handler ends the watch.
pub(super) async fn watch(
    cluster: &Cluster,
    api: Api<DynamicObject>,
    config: watcher::Config,
    handler: &mut impl WatchHandler,
) -> Result<(), KubeError> {
    let mut stream = std::pin::pin!(watcher(api, config));
    let mut tracker = ResourceTracker::default();
    let mut delays = retry_delays();
    // Time of the first error since the last event.
    let mut failing_since: Option<Instant> = None;
    let mut listed = false;
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                (delays, failing_since) = (retry_delays(), None);
                listed |= matches!(event, Event::InitDone);
                for change in tracker.apply(event) {
                    if handler.on_event(change).is_break() {
                        return Ok(());
                    }
                }
            }
            Err(error) => {
                if let Some((error, transient)) = classify(cluster, error) {
                    let since = *failing_since.get_or_insert_with(Instant::now);
                    if listed && (transient || since.elapsed() < STARTUP_GRACE) {
                        handler.on_retry(&error.to_string());
                    } else {
                        return Err(error);
                    }
                }
                tokio::time::sleep(delays.next().unwrap_or(Duration::from_secs(5))).await;
            }
        }
    }
    Ok(())
}

/// The error, and whether it is transient; `None` if the watch only has to list again.
fn classify(cluster: &Cluster, error: watcher::Error) -> Option<(KubeError, bool)> {
    use watcher::Error::{InitialListFailed, NoResourceVersion, WatchError, WatchFailed, WatchStartFailed};
    let what = "watch the resources";
    match error {
        InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => {
            // A watch whose connection breaks ends with an incomplete event.
            let broke = matches!(error, kube::Error::ReadEvents(_) | kube::Error::SerdeError(_));
            let busy = matches!(&error, kube::Error::Api(status) if TRANSIENT_CODES.contains(&status.code));
            let error = KubeError::from_kube(what, &cluster.server, error);
            let transient = broke || busy || error.is_transient();
            Some((error, transient))
        }
        // Gone: the resource version has expired, and everything is listed again.
        WatchError(status) if status.code == 410 => None,
        WatchError(status) => {
            let busy = TRANSIENT_CODES.contains(&status.code);
            Some((KubeError::from_kube(what, &cluster.server, kube::Error::Api(status)), busy))
        }
        error @ NoResourceVersion => {
            Some((KubeError::Failed { what: what.to_owned(), cause: error.to_string() }, false))
        }
    }
}

/// Tracks the reported resources, so that a repeated list reports only differences.
#[derive(Debug, Default)]
struct ResourceTracker {
    reported: HashMap<String, DynamicObject>,
    /// During a list: reported resources that the list has not contained so far.
    unlisted: HashMap<String, DynamicObject>,
}

impl ResourceTracker {
    fn apply(&mut self, event: Event<DynamicObject>) -> Vec<WatchEvent> {
        match event {
            Event::Init => {
                self.unlisted = self.reported.clone();
                Vec::new()
            }
            Event::InitApply(object) | Event::Apply(object) => {
                self.unlisted.remove(&key(&object));
                let before = self.reported.insert(key(&object), object.clone());
                let unchanged = before.is_some_and(|before| {
                    before.metadata.resource_version == object.metadata.resource_version
                });
                if unchanged { Vec::new() } else { vec![WatchEvent::Applied(Box::new(object))] }
            }
            Event::Delete(object) => {
                self.reported.remove(&key(&object));
                vec![WatchEvent::Deleted(Box::new(object))]
            }
            Event::InitDone => {
                let deleted: Vec<DynamicObject> = self.unlisted.drain().map(|(_, object)| object).collect();
                for object in &deleted {
                    self.reported.remove(&key(object));
                }
                let deleted = deleted.into_iter().map(|object| WatchEvent::Deleted(Box::new(object)));
                deleted.chain([WatchEvent::Listed]).collect()
            }
        }
    }
}

fn key(object: &DynamicObject) -> String {
    object.metadata.uid.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(uid: &str, version: &str) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
            "metadata": { "name": uid, "uid": uid, "resourceVersion": version },
        }))
        .unwrap()
    }

    fn changes(tracker: &mut ResourceTracker, event: Event<DynamicObject>) -> Vec<String> {
        let name = |object: &DynamicObject| object.metadata.name.clone().unwrap_or_default();
        tracker
            .apply(event)
            .iter()
            .map(|change| match change {
                WatchEvent::Applied(object) => format!("+{}", name(object)),
                WatchEvent::Deleted(object) => format!("-{}", name(object)),
                WatchEvent::Listed => "listed".to_owned(),
            })
            .collect()
    }

    #[test]
    fn a_repeated_list_reports_only_differences() {
        let mut tracker = ResourceTracker::default();
        for event in [Event::Init, Event::InitApply(object("a", "1")), Event::InitApply(object("b", "2"))] {
            changes(&mut tracker, event);
        }
        assert_eq!(changes(&mut tracker, Event::InitDone), ["listed"]);
        assert_eq!(changes(&mut tracker, Event::Apply(object("a", "3"))), ["+a"]);
        assert!(changes(&mut tracker, Event::Init).is_empty());
        assert!(changes(&mut tracker, Event::InitApply(object("a", "3"))).is_empty());
        assert_eq!(changes(&mut tracker, Event::InitApply(object("c", "4"))), ["+c"]);
        assert_eq!(changes(&mut tracker, Event::InitDone), ["-b", "listed"]);
        assert_eq!(changes(&mut tracker, Event::Delete(object("a", "5"))), ["-a"]);
    }
}
