//! Changes of resources as they happen, through restarts of the API server.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures::StreamExt as _;
use kube::Api;
use kube::core::DynamicObject;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::time::Instant;

use super::reach::Cluster;
use super::trouble::KubeError;

/// Answers of a server that has too much to do, or is about to end.
const BUSY: [u16; 5] = [429, 500, 502, 503, 504];
/// A server that has just started refuses what it allowed before, until it knows its roles and resources again.
const GRACE: Duration = Duration::from_secs(30);

/// What is heard.
#[derive(Debug)]
pub(super) enum News {
    /// A resource is there, or has changed.
    Is(Box<DynamicObject>),
    /// A resource is gone.
    Gone(Box<DynamicObject>),
    /// All that were there have been told.
    Listed,
}

/// Who wants to hear of resources.
pub(super) trait Listener {
    /// News. `Break`: that is enough.
    fn hear(&mut self, news: News) -> ControlFlow<()>;
    /// The API server does not answer, and is asked again.
    fn waiting(&mut self, why: &str);
}

/// Tells a listener of every resource and of each change, each once, until it has heard enough.
pub(super) async fn watch(
    cluster: &Cluster,
    api: Api<DynamicObject>,
    config: watcher::Config,
    listener: &mut impl Listener,
) -> Result<(), KubeError> {
    let mut stream = std::pin::pin!(watcher(api, config));
    let mut memory = Memory::default();
    let mut pauses = pauses();
    // Since when every answer is a refusal, after one that was none.
    let mut refused: Option<Instant> = None;
    let mut listed = false;
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                (pauses, refused) = (self::pauses(), None);
                listed |= matches!(event, Event::InitDone);
                for news in memory.learn(event) {
                    if listener.hear(news).is_break() {
                        return Ok(());
                    }
                }
            }
            Err(error) => {
                if let Some((error, passes)) = trouble(cluster, error) {
                    let since = *refused.get_or_insert_with(Instant::now);
                    if listed && (passes || since.elapsed() < GRACE) {
                        listener.waiting(&error.to_string());
                    } else {
                        return Err(error);
                    }
                }
                tokio::time::sleep(pauses.next().unwrap_or(Duration::from_secs(5))).await;
            }
        }
    }
    Ok(())
}

/// What is wrong, and whether asking again may help; nothing if it is no trouble at all.
fn trouble(cluster: &Cluster, error: watcher::Error) -> Option<(KubeError, bool)> {
    use watcher::Error::{InitialListFailed, NoResourceVersion, WatchError, WatchFailed, WatchStartFailed};
    let what = "watch the resources";
    match error {
        InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => {
            // A watch that breaks off is told as an answer that cannot be read.
            let broke = matches!(error, kube::Error::ReadEvents(_) | kube::Error::SerdeError(_));
            let busy = matches!(&error, kube::Error::Api(status) if BUSY.contains(&status.code));
            let error = KubeError::of(what, &cluster.server, error);
            let passes = broke || busy || error.may_pass();
            Some((error, passes))
        }
        // The place in the stream is forgotten: everything is listed again.
        WatchError(status) if status.code == 410 => None,
        WatchError(status) => {
            let busy = BUSY.contains(&status.code);
            Some((KubeError::of(what, &cluster.server, kube::Error::Api(status)), busy))
        }
        error @ NoResourceVersion => {
            Some((KubeError::Failed { what: what.to_owned(), cause: error.to_string() }, false))
        }
    }
}

fn pauses() -> backon::ExponentialBackoff {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(Duration::from_secs(5))
        .without_max_times()
        .build()
}

/// What was told, so that a list that is read again tells only what is new.
#[derive(Debug, Default)]
struct Memory {
    told: HashMap<String, DynamicObject>,
    /// While a list is read: what was told before and has not been seen in it.
    unseen: HashMap<String, DynamicObject>,
}

impl Memory {
    fn learn(&mut self, event: Event<DynamicObject>) -> Vec<News> {
        match event {
            Event::Init => {
                self.unseen = self.told.clone();
                Vec::new()
            }
            Event::InitApply(object) | Event::Apply(object) => {
                self.unseen.remove(&key(&object));
                let before = self.told.insert(key(&object), object.clone());
                let known = before.is_some_and(|before| {
                    before.metadata.resource_version == object.metadata.resource_version
                });
                if known { Vec::new() } else { vec![News::Is(Box::new(object))] }
            }
            Event::Delete(object) => {
                self.told.remove(&key(&object));
                vec![News::Gone(Box::new(object))]
            }
            Event::InitDone => {
                let gone: Vec<DynamicObject> = self.unseen.drain().map(|(_, object)| object).collect();
                for object in &gone {
                    self.told.remove(&key(object));
                }
                let gone = gone.into_iter().map(|object| News::Gone(Box::new(object)));
                gone.chain([News::Listed]).collect()
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

    fn told(memory: &mut Memory, event: Event<DynamicObject>) -> Vec<String> {
        let name = |object: &DynamicObject| object.metadata.name.clone().unwrap_or_default();
        memory
            .learn(event)
            .iter()
            .map(|news| match news {
                News::Is(object) => format!("+{}", name(object)),
                News::Gone(object) => format!("-{}", name(object)),
                News::Listed => "listed".to_owned(),
            })
            .collect()
    }

    #[test]
    fn a_list_that_is_read_again_tells_only_what_is_new() {
        let mut memory = Memory::default();
        for event in [Event::Init, Event::InitApply(object("a", "1")), Event::InitApply(object("b", "2"))] {
            told(&mut memory, event);
        }
        assert_eq!(told(&mut memory, Event::InitDone), ["listed"]);
        assert_eq!(told(&mut memory, Event::Apply(object("a", "3"))), ["+a"]);
        assert!(told(&mut memory, Event::Init).is_empty());
        assert!(told(&mut memory, Event::InitApply(object("a", "3"))).is_empty());
        assert_eq!(told(&mut memory, Event::InitApply(object("c", "4"))), ["+c"]);
        assert_eq!(told(&mut memory, Event::InitDone), ["-b", "listed"]);
        assert_eq!(told(&mut memory, Event::Delete(object("a", "5"))), ["-a"]);
    }
}
