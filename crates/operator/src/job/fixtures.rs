//! Resources and observations for tests.

use serde_json::{Value, json};
use tokio::time::Instant;
use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;
use vmafx_proto::controller::v1::{Job, JobStatus};

use super::observe::{Explanation, ObservedJob};
use super::outage::ControllerOutage;
use super::request;

/// A job of the second generation; `spec` is merged over the default one.
pub(super) fn job(spec: &Value, status: &Value) -> VmafxJob {
    let mut whole = json!({ "reference": "file:///r", "distorted": "file:///d" });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
        "metadata": { "name": "j", "namespace": "video", "uid": "u", "generation": 2,
                      "creationTimestamp": "1970-01-12T13:00:00Z" },
        "spec": whole, "status": status,
    }))
    .unwrap()
}

/// The controller's job of a resource with this spec.
pub(super) fn live_as(spec: &Value, status: JobStatus) -> Job {
    let resource = job(spec, &json!({}));
    let submission = request::request(&resource, "cluster", String::new());
    let (created_at, deadline) = (1_000, i64::try_from(submission.active_deadline_seconds).unwrap());
    Job {
        id: "7".to_owned(),
        status: status.into(),
        scoring: submission.scoring,
        priority: submission.priority,
        max_lost_attempts: submission.max_lost_attempts.unwrap(),
        created_at,
        deadline_at_ms: if deadline == 0 { 0 } else { (created_at + deadline) * 1000 + 999 },
        revision: 1,
        ..Job::default()
    }
}

pub(super) fn down() -> ObservedJob {
    down_since(Instant::now())
}

pub(super) fn down_since(since: Instant) -> ObservedJob {
    let (reason, message) = (Reason::ControllerUnreachable, "no answer".to_owned());
    let explanation = Explanation { reason, message };
    ObservedJob::Unreachable(ControllerOutage { explanation, since })
}
