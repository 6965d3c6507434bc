//! Whether an open job of the controller is wanted by a resource. Pure.
//!
//! | resource                                        | job                                  | wanted                       |
//! |-------------------------------------------------|--------------------------------------|------------------------------|
//! | absent, another one of its name, deleted, ended | any                                  | no                           |
//! | open, not reconciled since this operator leads  | any                                  | yes: its status may be older |
//! | open                                            | the one that the reconciler tracks   | yes                          |
//! | open                                            | another one, young                   | yes: it may be its next one  |
//! | open                                            | another one                          | no                           |
//!
//! The status of the resource is not asked: it names the job before, as long as its write fails.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use vmafx_api::VmafxJob;
use vmafx_proto::controller::v1::Job;

use super::plan::is_final;
use super::tracked::TrackedJob;
use crate::key::ObjectKey;

/// A job that is younger may not be tracked yet.
const TRACKING_GRACE: SignedDuration = SignedDuration::from_mins(5);

const MAX_NAMESPACE_LENGTH: usize = 63;

/// The resource that a job was submitted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweptOrigin {
    /// Another client submitted the job.
    None,
    /// No Kubernetes resource can have this name.
    Unreadable,
    Resource(ObjectKey),
}

/// The origin comes from whoever submitted the job, so it is checked before it becomes part of a request.
pub fn origin(job: &Job) -> SweptOrigin {
    let Some(origin) = job.origin.as_ref().filter(|origin| !origin.uid.is_empty()) else {
        return SweptOrigin::None;
    };
    let is_namespace = is_name(&origin.namespace)
        && origin.namespace.len() <= MAX_NAMESPACE_LENGTH
        && !origin.namespace.contains('.');
    if is_namespace && is_name(&origin.name) {
        SweptOrigin::Resource(ObjectKey::new(origin.namespace.clone(), origin.name.clone()))
    } else {
        SweptOrigin::Unreadable
    }
}

/// Whether a text has the form of a DNS subdomain, as the name of every resource.
fn is_name(text: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= vmafx_job::limits::MAX_NAME_LENGTH
        && text.bytes().all(allowed)
        && edge(text.bytes().next())
        && edge(text.bytes().next_back())
}

pub fn wants(resource: &VmafxJob, tracked: Option<&TrackedJob>, job: &Job, now: Timestamp) -> bool {
    let same = resource.metadata.uid.as_deref() == job.origin.as_ref().map(|origin| origin.uid.as_str());
    if !same || resource.metadata.deletion_timestamp.is_some() || is_final(resource) {
        return false;
    }
    let Some(tracked) = tracked.filter(|tracked| tracked.settled) else { return true };
    let created = Timestamp::from_second(job.created_at).unwrap_or(now);
    tracked.id.as_deref() == Some(job.id.as_str()) || now.duration_since(created) < TRACKING_GRACE
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use vmafx_proto::controller::v1::ResourceRef;

    use super::*;

    const NOW: i64 = 1_000_000;

    fn job_of(namespace: &str, name: &str, uid: &str) -> Job {
        let [cluster, namespace, name, uid] = ["c", namespace, name, uid].map(str::to_owned);
        let origin = Some(ResourceRef { cluster, namespace, name, uid });
        Job { id: "7".to_owned(), origin, ..Job::default() }
    }

    #[rstest]
    #[case::a_resource("video", "clip.1-a", "u", SweptOrigin::Resource(ObjectKey::new("video", "clip.1-a")))]
    #[case::no_resource("", "", "", SweptOrigin::None)]
    #[case::no_name("video", "", "u", SweptOrigin::Unreadable)]
    #[case::no_namespace("", "clip", "u", SweptOrigin::Unreadable)]
    #[case::a_path("video", "../../secrets", "u", SweptOrigin::Unreadable)]
    #[case::a_dotted_namespace("a.b", "clip", "u", SweptOrigin::Unreadable)]
    #[case::capitals("video", "Clip", "u", SweptOrigin::Unreadable)]
    fn what_an_origin_names(
        #[case] namespace: &str,
        #[case] name: &str,
        #[case] uid: &str,
        #[case] expected: SweptOrigin,
    ) {
        assert_eq!(origin(&job_of(namespace, name, uid)), expected);
    }

    fn tracked(id: &str, settled: bool) -> TrackedJob {
        TrackedJob { id: Some(id.to_owned()), settled, ..TrackedJob::default() }
    }

    fn ended() -> Value {
        json!({ "conditions": [{ "type": "Complete", "status": "True", "reason": "Scored", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z" }] })
    }

    #[rstest]
    #[case::tracked("u", json!({ "controllerJobID": "6" }), Some(tracked("7", true)), 900, true)]
    #[case::not_reconciled("u", json!({ "controllerJobID": "6" }), None, 900, true)]
    #[case::not_observed("u", json!({ "controllerJobID": "6" }), Some(tracked("6", false)), 900, true)]
    #[case::another_tracked("u", json!({ "controllerJobID": "7" }), Some(tracked("6", true)), 900, false)]
    #[case::another_tracked_yet("u", json!({}), Some(tracked("6", true)), 60, true)]
    #[case::a_namesake("v", json!({}), Some(tracked("7", true)), 1, false)]
    #[case::ended("u", ended(), Some(tracked("7", true)), 1, false)]
    fn what_a_resource_wants(
        #[case] uid: &str,
        #[case] status: Value,
        #[case] tracked: Option<TrackedJob>,
        #[case] age: i64,
        #[case] expected: bool,
    ) {
        let resource: VmafxJob = serde_json::from_value(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
            "metadata": { "name": "j", "namespace": "video", "uid": uid },
            "spec": { "reference": "file:///r", "distorted": "file:///d" }, "status": status,
        }))
        .unwrap();
        let job = Job { created_at: NOW - age, ..job_of("video", "j", "u") };
        let now = Timestamp::from_second(NOW).unwrap();
        assert_eq!(wants(&resource, tracked.as_ref(), &job, now), expected);
    }
}
