//! The submission that a resource stands for.

use kube::ResourceExt as _;
use vmafx_api::VmafxJob;
use vmafx_proto::controller::v1 as wire;

/// What is submitted for a resource, under a key that makes a repetition harmless.
pub fn request(job: &VmafxJob, cluster: &str, key: String) -> wire::SubmitJobRequest {
    let spec = &job.spec;
    let retries = u32::try_from(spec.backoff_limit).unwrap_or_default();
    wire::SubmitJobRequest {
        scoring: Some(spec.scoring_request().into()),
        priority: spec.priority,
        idempotency_key: key,
        origin: Some(origin(job, cluster)),
        // The first attempt is none that is repeated.
        max_lost_attempts: Some(retries.saturating_add(1)),
        active_deadline_seconds: spec
            .active_deadline_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .unwrap_or_default(),
        ground_truth: spec.ground_truth.map(ground_truth),
    }
}

/// What viewers say, as the resource has it.
pub fn ground_truth(value: f64) -> wire::GroundTruth {
    wire::GroundTruth { value, scale: wire::LabelScale::Percent.into() }
}

/// The key of a submission: the resource itself, and after a job that was given up or forgotten, that one too. So it is
/// the same however often the operator dies between submission and record, and another one when another job is meant.
pub fn key(job: &VmafxJob, instead_of: Option<&str>) -> String {
    let uid = job.uid().unwrap_or_default();
    instead_of.map_or_else(|| uid.clone(), |id| format!("{uid}/{id}"))
}

/// Whose job it is.
pub fn origin(job: &VmafxJob, cluster: &str) -> wire::ResourceRef {
    wire::ResourceRef {
        cluster: cluster.to_owned(),
        namespace: job.namespace().unwrap_or_default(),
        name: job.name_any(),
        uid: job.uid().unwrap_or_default(),
    }
}
