//! Why a job does not run yet, in words that say what to do. Pure.

use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;
use vmafx_job::RunResult;

use super::Found;
use super::facts::{Agent, JobFacts, PodFacts};
use super::outcome::{newest, why};
use super::render::queue;
use crate::conditions::ConditionState;

/// Whether it runs, and if not, why.
pub fn running(job: &VmafxJob, live: &JobFacts, found: &Found) -> ConditionState {
    if live.suspended {
        return suspended(job);
    }
    let open: Vec<_> = found.pods.iter().filter(|pod| !pod.is_over()).cloned().collect();
    match newest(&open).or_else(|| newest(&found.pods)) {
        Some(last) if last.phase == "Failed" && is_repeated(live, found, last) => {
            let text = format!("attempt {} failed, another follows: {}", live.failed.max(1), why(last).1);
            ConditionState::unmet(Reason::BackingOff, text)
        }
        Some(pod) => of_pod(pod),
        None => {
            let name = &live.identity.key.name;
            let text = format!("no Pod yet; if that does not change, `kubectl describe job {name}` says why");
            ConditionState::unmet(Reason::JobCreated, text)
        }
    }
}

/// Whether another Pod follows one that failed. Kubernetes takes a moment to say that none does.
fn is_repeated(live: &JobFacts, found: &Found, last: &PodFacts) -> bool {
    let own_fault = match &last.agent {
        Agent::Ended(ended) => {
            [RunResult::EXIT_FINAL, RunResult::EXIT_USAGE].map(i32::from).contains(&ended.code)
        }
        _ => false,
    };
    let failed = found.pods.iter().filter(|pod| pod.phase == "Failed" && pod.disrupted.is_none()).count();
    let allowed = usize::try_from(live.backoff_limit.unwrap_or_default()).unwrap_or_default();
    !live.ending && !own_fault && failed <= allowed
}

fn suspended(job: &VmafxJob) -> ConditionState {
    let text = match queue(job) {
        Some(queue) => format!("Kueue holds it back until its queue {queue} admits it"),
        None => "its Kubernetes Job was suspended by somebody else, who is to let it go on".to_owned(),
    };
    ConditionState::unmet(Reason::WaitingForAdmission, text)
}

fn of_pod(pod: &PodFacts) -> ConditionState {
    let name = &pod.identity.key.name;
    if pod.agent != Agent::Waiting || pod.is_over() {
        // Also in the moment between its end and that of the Job: other containers may still be at work.
        let node = pod.node.as_deref().unwrap_or("a node");
        return ConditionState::met(Reason::Scoring, format!("Pod {name} on {node} scores it"));
    }
    if let Some(message) = &pod.unschedulable {
        return ConditionState::unmet(Reason::Unschedulable, format!("no node takes Pod {name}: {message}"));
    }
    match &pod.waits {
        Some(word) if is_about_an_image(&word.reason) => ConditionState::unmet(
            Reason::ImageUnavailable,
            format!("an image of Pod {name} cannot be pulled ({}): {}", word.reason, word.message),
        ),
        Some(word) => ConditionState::unmet(
            Reason::PodStuck,
            format!("Pod {name} cannot start ({}): {}", word.reason, word.message),
        ),
        None => ConditionState::unmet(Reason::PodStarting, format!("Pod {name} is being started")),
    }
}

fn is_about_an_image(reason: &str) -> bool {
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
