//! Ground truths that are set or changed after the submission of a job. Pure.
//!
//! While a resource is open, its ground truth is compared with that of the controller's job, which is observed anyway.
//! The controller is not asked about a job that has ended: the status records the ground truth of its sample, and a
//! difference counts only in a generation of the spec that the status has not observed. So nothing is called or written
//! while nothing changes, not even after a restart with thousands of finished jobs, and a rejected ground truth is not
//! sent again.

use vmafx_api::conditions::Reason;
use vmafx_api::job::{Execution, Phase};
use vmafx_api::{VmafxJob, VmafxJobStatus};
use vmafx_proto::controller::v1::{Job, JobStatus, LabelScale};

use super::controller_client::LabelResponse;
use crate::events::ResourceEvent;

/// For a job that is older than the controller's retention.
pub(super) const FORGOTTEN: &str = "the controller no longer has the job; create a new VmafxJob instead";

const WITHOUT_SCORE: &str =
    "the job has no score, so it cannot become a training sample; create a new VmafxJob instead";

/// What to do about the ground truth of a job that has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum LateLabelPlan<'a> {
    Send {
        id: &'a str,
        value: f64,
    },
    /// The job cannot become a training sample; the message says why.
    Reject(&'static str),
}

/// The ground truth of the controller's job, from 0 to 100.
pub fn of(live: &Job) -> Option<f64> {
    let truth = live.ground_truth.as_ref()?;
    Some(match truth.scale() {
        LabelScale::Mos => (truth.value - 1.0) * 25.0,
        LabelScale::Percent | LabelScale::Unspecified => truth.value,
    })
}

/// The ground truth that the controller's job lacks, if it can still get one. The ground truth of a job that was just
/// submitted is not known yet: its revision is 0.
pub fn missing(job: &VmafxJob, live: &Job) -> Option<f64> {
    let can_be_labelled =
        matches!(live.status(), JobStatus::Pending | JobStatus::Running | JobStatus::Completed);
    job.spec.ground_truth.filter(|desired| can_be_labelled && live.revision > 0 && of(live) != Some(*desired))
}

/// Whether a job that has ended has a ground truth that was not sent to the controller.
pub fn is_late(job: &VmafxJob) -> bool {
    let (spec, status) = (&job.spec, job.status.as_ref());
    spec.execution == Execution::Queue
        && spec.ground_truth.is_some()
        && spec.ground_truth != status.and_then(|status| status.ground_truth)
        && status.and_then(|status| status.observed_generation) < job.metadata.generation
}

pub fn plan_late(job: &VmafxJob) -> LateLabelPlan<'_> {
    let status = job.status.as_ref();
    let id = status.and_then(|status| status.controller_job_id.as_deref());
    let scored = status.and_then(|status| status.phase) == Some(Phase::Succeeded);
    match (id.filter(|_| scored), job.spec.ground_truth) {
        (Some(id), Some(value)) => LateLabelPlan::Send { id, value },
        _ => LateLabelPlan::Reject(WITHOUT_SCORE),
    }
}

/// The status after the controller has answered.
pub fn status_after(job: &VmafxJob, response: &LabelResponse) -> VmafxJobStatus {
    let before = job.status.clone().unwrap_or_default();
    let ground_truth = match response {
        LabelResponse::Accepted => job.spec.ground_truth,
        LabelResponse::Rejected(_) => before.ground_truth,
    };
    VmafxJobStatus { ground_truth, observed_generation: job.metadata.generation, ..before }
}

pub fn rejection_event(value: f64, message: &str) -> ResourceEvent {
    ResourceEvent::warning(Reason::LabelRefused, format!("the ground truth {value} is not used: {message}"))
}

#[cfg(test)]
mod tests;
