//! Converts a resource into its submission to the controller. Pure.

use kube::ResourceExt as _;
use vmafx_api::VmafxJob;
use vmafx_proto::controller::v1 as wire;

/// `key` is the idempotency key, which makes a repetition harmless.
pub fn request(job: &VmafxJob, cluster: &str, key: String) -> wire::SubmitJobRequest {
    let spec = &job.spec;
    let retries = u32::try_from(spec.backoff_limit).unwrap_or_default();
    wire::SubmitJobRequest {
        scoring: Some(spec.scoring_request().into()),
        priority: spec.priority,
        idempotency_key: key,
        origin: Some(origin(job, cluster)),
        // `backoffLimit` counts the retries, without the first attempt.
        max_lost_attempts: Some(retries.saturating_add(1)),
        active_deadline_seconds: spec
            .active_deadline_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .unwrap_or_default(),
        ground_truth: spec.ground_truth.map(ground_truth),
    }
}

/// Everything of a submission that can change afterwards. What is compared cannot: the resource does not permit it.
pub fn changes(job: &VmafxJob, id: &str) -> wire::UpdateJobRequest {
    let submission = request(job, "", String::new());
    wire::UpdateJobRequest {
        job_id: id.to_owned(),
        scoring: submission.scoring,
        priority: Some(submission.priority),
        max_lost_attempts: submission.max_lost_attempts,
        active_deadline_seconds: Some(submission.active_deadline_seconds),
    }
}

/// The ground truth on the scale of the resource, 0 to 100.
pub fn ground_truth(value: f64) -> wire::GroundTruth {
    wire::GroundTruth { value, scale: wire::LabelScale::Percent.into() }
}

/// The idempotency key of a submission: the UID of the resource, and the id of the job that it replaces if there is one.
/// So the key stays the same when the operator crashes between submission and status write, and differs for a new job.
pub fn key(job: &VmafxJob, replaces: Option<&str>) -> String {
    let uid = job.uid().unwrap_or_default();
    replaces.map_or_else(|| uid.clone(), |id| format!("{uid}/{id}"))
}

/// Separates the key of a submission from the mark of its submitter. Neither UIDs nor ids of jobs contain it.
const MARK: char = '@';

/// The key with the mark of the installation that submits.
pub fn marked(key: &str, installation: &str) -> String {
    if installation.is_empty() { key.to_owned() } else { format!("{key}{MARK}{installation}") }
}

/// The installation that submitted a job with this key; empty if it left no mark.
pub fn mark(key: &str) -> &str {
    key.rsplit_once(MARK).map_or("", |(_, mark)| mark)
}

pub fn origin(job: &VmafxJob, cluster: &str) -> wire::ResourceRef {
    wire::ResourceRef {
        cluster: cluster.to_owned(),
        namespace: job.namespace().unwrap_or_default(),
        name: job.name_any(),
        uid: job.uid().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_who_submitted() {
        assert_eq!(marked("u/7", "i1"), "u/7@i1");
        assert_eq!((mark("u/7@i1"), mark("u/7")), ("i1", ""));
        assert_eq!(mark(&marked("u", "")), "");
    }
}
