//! Events: what happened to a resource, for people who describe it.
//!
//! One event per transition, never one per look. An event that cannot be written is counted and forgotten: the same is
//! said by a condition.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, Resource};
use uuid::Uuid;
use vmafx_api::conditions::Reason;
use vmafx_kit::metrics::{Counter, Metrics};

use crate::FIELD_MANAGER;

/// For one event.
const DEADLINE: Duration = Duration::from_secs(5);

/// The API server's limit on a note.
const LONGEST_NOTE: usize = 1024;

/// As Kubernetes' own components name them: the object and something that no other event has.
fn name(about: &str, id: Uuid) -> String {
    const LONGEST: usize = 253;
    let id = id.simple().to_string();
    let about: String = about.chars().take(LONGEST - 1 - id.len()).collect();
    format!("{}.{id}", about.trim_end_matches(['.', '-']))
}

/// Good news or bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing to worry about.
    Normal,
    /// Somebody should look.
    Warning,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// Good or bad.
    pub severity: Severity,
    /// In one word.
    pub reason: Reason,
    /// In a sentence.
    pub note: String,
}

impl Happening {
    /// Nothing to worry about.
    pub fn normal(reason: Reason, note: impl Into<String>) -> Self {
        Self { severity: Severity::Normal, reason, note: note.into() }
    }

    /// Somebody should look.
    pub fn warning(reason: Reason, note: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, reason, note: note.into() }
    }
}

/// Writes events.
#[derive(Clone)]
pub struct Recorder {
    client: Client,
    instance: String,
    lost: Counter,
}

impl Recorder {
    /// `instance` is which operator it is.
    pub fn new(client: Client, instance: impl Into<String>, metrics: &mut Metrics) -> Self {
        let lost = metrics.counter("operator_events_lost", "Events that could not be written");
        Self { client, instance: instance.into(), lost }
    }

    /// Writes what happened to a resource.
    pub async fn tell<K: Resource<DynamicType = ()>>(&self, about: &K, happening: &Happening) {
        let reference = about.object_ref(&());
        let event = self.event(reference, happening, Timestamp::now());
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let problem = match tokio::time::timeout(DEADLINE, api.create(&PostParams::default(), &event)).await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {DEADLINE:?}"),
        };
        self.lost.inc();
        tracing::warn!(problem, reason = happening.reason.as_str(), "an event was lost");
    }

    fn event(&self, about: ObjectReference, happening: &Happening, now: Timestamp) -> Event {
        Event {
            metadata: ObjectMeta {
                name: Some(name(about.name.as_deref().unwrap_or_default(), Uuid::new_v4())),
                namespace: about.namespace.clone(),
                ..ObjectMeta::default()
            },
            action: Some(happening.reason.as_str().to_owned()),
            reason: Some(happening.reason.as_str().to_owned()),
            note: Some(happening.note.chars().take(LONGEST_NOTE).collect()),
            type_: Some(format!("{:?}", happening.severity)),
            event_time: Some(MicroTime(now)),
            reporting_controller: Some(format!("{}/{FIELD_MANAGER}", vmafx_api::GROUP)),
            reporting_instance: Some(self.instance.chars().take(128).collect()),
            regarding: Some(about),
            ..Event::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_the_api_server_takes() {
        assert_eq!(name("pool", Uuid::nil()), "pool.00000000000000000000000000000000");
        let long = name(&format!("{}.b", "a".repeat(219)), Uuid::nil());
        assert!(long.len() <= 253 && long.starts_with("aaa") && !long.contains(".."), "{long}");
    }
}
