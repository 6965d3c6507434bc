//! What viewers say of a job, when they say it after its submission.
//!
//! While a resource is open, its ground truth is compared with that of the controller's job, which is known anyway.
//! Of a job that has ended the controller is not asked again: the status records the ground truth of its sample, and a
//! difference counts only in a generation of the spec that the status does not speak of yet. So nothing is asked or
//! written while nothing changes, also not after a restart with thousands of ended jobs, and a refusal is no circle.

use vmafx_api::conditions::Reason;
use vmafx_api::job::{Execution, Phase};
use vmafx_api::{VmafxJob, VmafxJobStatus};
use vmafx_proto::controller::v1::{Job, JobStatus, LabelScale};

use super::link::Labelled;
use crate::events::ResourceEvent;

/// Of a job that is older than what the controller keeps.
pub(super) const FORGOTTEN: &str =
    "the controller does not know the job any more; create a new VmafxJob instead";

/// Of a job without features.
const WITHOUT_SCORE: &str =
    "the job has no score, so there is nothing to learn from it; create a new VmafxJob instead";

/// What is to be done about a job that has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Late<'a> {
    /// Tell the controller.
    Tell {
        /// Of which job.
        id: &'a str,
        /// What.
        value: f64,
    },
    /// Nothing can come of it.
    Useless(&'static str),
}

/// What the controller's job has, from 0 to 100.
pub fn of(live: &Job) -> Option<f64> {
    let truth = live.ground_truth.as_ref()?;
    Some(match truth.scale() {
        LabelScale::Mos => (truth.value - 1.0) * 25.0,
        LabelScale::Percent | LabelScale::Unspecified => truth.value,
    })
}

/// The ground truth that the controller's job should have and has not, if it can have one. What was just submitted is
/// not known that well.
pub fn missing(job: &VmafxJob, live: &Job) -> Option<f64> {
    let fit = matches!(live.status(), JobStatus::Pending | JobStatus::Running | JobStatus::Completed);
    job.spec.ground_truth.filter(|wanted| fit && live.revision > 0 && of(live) != Some(*wanted))
}

/// Whether a job that has ended has a ground truth that the controller was not told of.
pub fn is_late(job: &VmafxJob) -> bool {
    let (spec, status) = (&job.spec, job.status.as_ref());
    spec.execution == Execution::Queue
        && spec.ground_truth.is_some()
        && spec.ground_truth != status.and_then(|status| status.ground_truth)
        && status.and_then(|status| status.observed_generation) < job.metadata.generation
}

/// What is to be done about it.
pub fn late(job: &VmafxJob) -> Late<'_> {
    let status = job.status.as_ref();
    let id = status.and_then(|status| status.controller_job_id.as_deref());
    let scored = status.and_then(|status| status.phase) == Some(Phase::Succeeded);
    match (id.filter(|_| scored), job.spec.ground_truth) {
        (Some(id), Some(value)) => Late::Tell { id, value },
        _ => Late::Useless(WITHOUT_SCORE),
    }
}

/// The status after that.
pub fn after(job: &VmafxJob, told: &Labelled) -> VmafxJobStatus {
    let before = job.status.clone().unwrap_or_default();
    let ground_truth = match told {
        Labelled::Taken => job.spec.ground_truth,
        Labelled::Refused(_) => before.ground_truth,
    };
    VmafxJobStatus { ground_truth, observed_generation: job.metadata.generation, ..before }
}

/// What people are told of a ground truth that was not taken.
pub fn refused(value: f64, why: &str) -> ResourceEvent {
    ResourceEvent::warning(Reason::LabelRefused, format!("the ground truth {value} is not used: {why}"))
}

#[cfg(test)]
mod tests;
