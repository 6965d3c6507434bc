//! Events: what happened to a resource, for people who describe it.
//!
//! One event per transition, never one per look. An event that cannot be written is counted and forgotten: the same is
//! said by a condition. What must be told, and told once, has a name that follows from what happened
//! ([`EventRecorder::publish_once`]): telling it again is no second event.

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
use crate::error::{ApiError, Retry, call};

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
pub enum EventSeverity {
    /// Nothing to worry about.
    Normal,
    /// Somebody should look.
    Warning,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceEvent {
    /// Good or bad.
    pub severity: EventSeverity,
    /// In one word.
    pub reason: Reason,
    /// In a sentence.
    pub note: String,
}

impl ResourceEvent {
    /// Nothing to worry about.
    pub fn normal(reason: Reason, note: impl Into<String>) -> Self {
        Self { severity: EventSeverity::Normal, reason, note: note.into() }
    }

    /// Somebody should look.
    pub fn warning(reason: Reason, note: impl Into<String>) -> Self {
        Self { severity: EventSeverity::Warning, reason, note: note.into() }
    }
}

/// Writes events.
#[derive(Clone)]
pub struct EventRecorder {
    client: Client,
    instance: String,
    lost: Counter,
}

impl EventRecorder {
    /// `instance` is which operator it is.
    pub fn new(client: Client, instance: impl Into<String>, metrics: &mut Metrics) -> Self {
        let lost = metrics.counter("operator_events_lost", "Events that could not be written");
        Self { client, instance: instance.into(), lost }
    }

    /// Writes what happened to a resource.
    pub async fn publish<K: Resource<DynamicType = ()>>(&self, about: &K, happening: &ResourceEvent) {
        let (api, event) = self.event(about.object_ref(&()), happening, Uuid::new_v4());
        match tokio::time::timeout(DEADLINE, api.create(&PostParams::default(), &event)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => self.lose(happening, &error.to_string()),
            Err(_) => self.lose(happening, &format!("no answer within {DEADLINE:?}")),
        }
    }

    /// Writes what happened to a resource, however often it is called with the same `id`. An error is one that may be
    /// over by the next try; an event that will never be taken is counted and forgotten.
    pub async fn publish_once<K: Resource<DynamicType = ()>>(
        &self,
        about: &K,
        happening: &ResourceEvent,
        id: Uuid,
    ) -> Result<(), ApiError> {
        let (api, event) = self.event(about.object_ref(&()), happening, id);
        let create = async {
            match api.create(&PostParams::default(), &event).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
                answer => answer.map(drop),
            }
        };
        match call("write an event", create).await {
            Err(error) if error.retry() == Retry::Slowly => {
                self.lose(happening, &error.to_string());
                Ok(())
            }
            told => told,
        }
    }

    fn lose(&self, happening: &ResourceEvent, problem: &str) {
        self.lost.inc();
        tracing::warn!(problem, reason = happening.reason.as_str(), "an event was lost");
    }

    fn event(&self, about: ObjectReference, happening: &ResourceEvent, id: Uuid) -> (Api<Event>, Event) {
        let namespace = about.namespace.clone().unwrap_or_default();
        let event = Event {
            metadata: ObjectMeta {
                name: Some(name(about.name.as_deref().unwrap_or_default(), id)),
                namespace: about.namespace.clone(),
                ..ObjectMeta::default()
            },
            action: Some(happening.reason.as_str().to_owned()),
            reason: Some(happening.reason.as_str().to_owned()),
            note: Some(happening.note.chars().take(LONGEST_NOTE).collect()),
            type_: Some(format!("{:?}", happening.severity)),
            event_time: Some(MicroTime(Timestamp::now())),
            reporting_controller: Some(format!("{}/{FIELD_MANAGER}", vmafx_api::GROUP)),
            reporting_instance: Some(self.instance.chars().take(128).collect()),
            regarding: Some(about),
            ..Event::default()
        };
        (Api::namespaced(self.client.clone(), &namespace), event)
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
