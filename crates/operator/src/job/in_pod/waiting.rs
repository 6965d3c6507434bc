//! The condition `Running` of a job in a Pod: why it does not run yet, and what to do about it. Pure.

use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;
use vmafx_job::RunResult;

use super::observe::ObservedPodJob;
use super::outcome::{failure_of, newest};
use super::render::queue;
use super::snapshot::{AgentState, BatchJobSnapshot, KubernetesReason, PodSnapshot};
use crate::conditions::ConditionState;

pub fn running(job: &VmafxJob, live: &BatchJobSnapshot, observed: &ObservedPodJob) -> ConditionState {
    if live.suspended {
        return suspended(job);
    }
    let open: Vec<_> = observed.pods.iter().filter(|pod| !pod.is_over()).cloned().collect();
    match newest(&open).or_else(|| newest(&observed.pods)) {
        Some(last) if last.phase == "Failed" && is_retried(live, observed, last) => {
            let message = failure_of(last).1;
            let text = format!("attempt {} failed and will be retried: {message}", live.failed.max(1));
            ConditionState::unmet(Reason::BackingOff, text)
        }
        Some(pod) => of_pod(pod),
        None => {
            let name = &live.identity.key.name;
            let text = format!("no Pod yet; if this does not change, see `kubectl describe job {name}`");
            ConditionState::unmet(Reason::JobCreated, text)
        }
    }
}

/// Whether Kubernetes will replace a failed Pod. It takes a moment to record that it will not.
pub(super) fn is_retried(live: &BatchJobSnapshot, observed: &ObservedPodJob, last: &PodSnapshot) -> bool {
    let is_permanent = match &last.agent {
        AgentState::Terminated(ended) => {
            [RunResult::EXIT_FINAL, RunResult::EXIT_USAGE].map(i32::from).contains(&ended.exit_code)
        }
        _ => false,
    };
    let allowed = usize::try_from(live.backoff_limit.unwrap_or_default()).unwrap_or_default();
    !live.ending && !is_permanent && observed.failed_pods() <= allowed
}

fn suspended(job: &VmafxJob) -> ConditionState {
    let text = match queue(job) {
        Some(queue) => format!("waiting for Kueue to admit the job to the queue {queue}"),
        None => "the Kubernetes Job was suspended by another client; it starts when its spec.suspend is set to false".to_owned(),
    };
    ConditionState::unmet(Reason::WaitingForAdmission, text)
}

fn of_pod(pod: &PodSnapshot) -> ConditionState {
    let name = &pod.identity.key.name;
    if pod.agent != AgentState::Waiting || pod.is_over() {
        // Also between the end of this container and that of the Job, because other containers may still run.
        let node = pod.node.as_deref().unwrap_or("a node");
        return ConditionState::met(Reason::Scoring, format!("Pod {name} on {node} is scoring the clips"));
    }
    if let Some(message) = &pod.unschedulable {
        return ConditionState::unmet(
            Reason::Unschedulable,
            format!("Pod {name} cannot be scheduled: {message}"),
        );
    }
    match &pod.blocked {
        Some(KubernetesReason { reason, message }) if is_image_problem(reason) => ConditionState::unmet(
            Reason::ImageUnavailable,
            format!("an image of Pod {name} cannot be pulled ({reason}): {message}"),
        ),
        Some(KubernetesReason { reason, message }) => {
            ConditionState::unmet(Reason::PodStuck, format!("Pod {name} cannot start ({reason}): {message}"))
        }
        None => ConditionState::unmet(Reason::PodStarting, format!("Pod {name} is starting")),
    }
}

fn is_image_problem(reason: &str) -> bool {
    matches!(
        reason,
        "ErrImagePull"
            | "ImagePullBackOff"
            | "InvalidImageName"
            | "ErrImageNeverPull"
            | "ImageInspectError"
            | "RegistryUnavailable"
            | "SignatureValidationFailed"
    )
}
