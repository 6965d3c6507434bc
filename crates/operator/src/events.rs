//! Events about a resource, as `kubectl describe` shows them.
//!
//! One event per transition, never one per pass. An event that cannot be written is counted and dropped, because a
//! condition says the same. An event that must be published, and only once, has a name that follows from its cause
//! ([`EventRecorder::publish_once`]): publishing it again does not make a second event.

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

const TIMEOUT: Duration = Duration::from_secs(5);

/// Limits of the API server. It counts the bytes of a note and of an instance, not their characters.
const MAX_NOTE_BYTES: usize = 1024;
const MAX_NAME_LENGTH: usize = 253;
const MAX_INSTANCE_BYTES: usize = 128;

/// The name that Kubernetes' own components would give: the object's name and a unique id.
fn event_name(object: &str, id: Uuid) -> String {
    let id = id.simple().to_string();
    let object: String = object.chars().take(MAX_NAME_LENGTH - 1 - id.len()).collect();
    format!("{}.{id}", object.trim_end_matches(['.', '-']))
}

/// The beginning of a text, in whole characters.
fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSeverity {
    Normal,
    Warning,
}

/// An event before it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceEvent {
    pub severity: EventSeverity,
    pub reason: Reason,
    pub note: String,
}

impl ResourceEvent {
    pub fn normal(reason: Reason, note: impl Into<String>) -> Self {
        Self { severity: EventSeverity::Normal, reason, note: note.into() }
    }

    pub fn warning(reason: Reason, note: impl Into<String>) -> Self {
        Self { severity: EventSeverity::Warning, reason, note: note.into() }
    }
}

#[derive(Clone)]
pub struct EventRecorder {
    client: Client,
    instance: String,
    lost: Counter,
}

impl EventRecorder {
    /// `instance` tells this operator from its other replicas.
    pub fn new(client: Client, instance: impl Into<String>, metrics: &mut Metrics) -> Self {
        let lost = metrics.counter("operator_events_lost", "Events that could not be written");
        Self { client, instance: instance.into(), lost }
    }

    /// Publishes an event about a resource; one that cannot be written is counted and dropped.
    pub async fn publish<K: Resource<DynamicType = ()>>(&self, about: &K, event: &ResourceEvent) {
        let (api, object) = self.object(about.object_ref(&()), event, Uuid::new_v4());
        match tokio::time::timeout(TIMEOUT, api.create(&PostParams::default(), &object)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => self.lose(event, &error.to_string()),
            Err(_) => self.lose(event, &format!("no answer within {TIMEOUT:?}")),
        }
    }

    /// Publishes an event once, however often it is called with the same `id`. A retry may succeed after an error; an event
    /// that the API server will never accept is counted and dropped.
    pub async fn publish_once<K: Resource<DynamicType = ()>>(
        &self,
        about: &K,
        event: &ResourceEvent,
        id: Uuid,
    ) -> Result<(), ApiError> {
        let (api, object) = self.object(about.object_ref(&()), event, id);
        let create = async {
            match api.create(&PostParams::default(), &object).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
                answer => answer.map(drop),
            }
        };
        match call("write an event", create).await {
            Err(error) if error.retry() == Retry::Slowly => {
                self.lose(event, &error.to_string());
                Ok(())
            }
            published => published,
        }
    }

    fn lose(&self, event: &ResourceEvent, problem: &str) {
        self.lost.inc();
        tracing::warn!(problem, reason = event.reason.as_str(), "cannot write an event");
    }

    fn object(&self, about: ObjectReference, event: &ResourceEvent, id: Uuid) -> (Api<Event>, Event) {
        let namespace = about.namespace.clone().unwrap_or_default();
        let object = Event {
            metadata: ObjectMeta {
                name: Some(event_name(about.name.as_deref().unwrap_or_default(), id)),
                namespace: about.namespace.clone(),
                ..ObjectMeta::default()
            },
            action: Some(event.reason.as_str().to_owned()),
            reason: Some(event.reason.as_str().to_owned()),
            note: Some(cut(&event.note, MAX_NOTE_BYTES).to_owned()),
            type_: Some(format!("{:?}", event.severity)),
            event_time: Some(MicroTime(Timestamp::now())),
            reporting_controller: Some(format!("{}/{FIELD_MANAGER}", vmafx_api::GROUP)),
            reporting_instance: Some(cut(&self.instance, MAX_INSTANCE_BYTES).to_owned()),
            regarding: Some(about),
            ..Event::default()
        };
        (Api::namespaced(self.client.clone(), &namespace), object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_bytes_between_two_characters() {
        assert_eq!(cut("short", MAX_NOTE_BYTES), "short");
        let note = format!("x{}", "ü".repeat(MAX_NOTE_BYTES));
        assert_eq!(cut(&note, MAX_NOTE_BYTES).len(), MAX_NOTE_BYTES - 1);
        assert_eq!(cut("日本", 4), "日");
    }

    #[test]
    fn names_are_those_that_the_api_server_takes() {
        assert_eq!(event_name("pool", Uuid::nil()), "pool.00000000000000000000000000000000");
        let long = event_name(&format!("{}.b", "a".repeat(219)), Uuid::nil());
        assert!(long.len() <= 253 && long.starts_with("aaa") && !long.contains(".."), "{long}");
    }
}
