//! How a job ended, from its Kubernetes Job and its Pods. Pure.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::Reason;
use vmafx_job::{RunResult, ScoreResult};

use super::snapshot::{
    AgentState, BatchJobEnd, BatchJobSnapshot, KubernetesReason, PodSnapshot, TerminatedAgent,
};
use crate::job::status::failure;

#[derive(Clone, Debug, PartialEq)]
pub enum PodJobOutcome {
    Scored { score: Box<ScoreResult>, at: Option<Timestamp> },
    Failed { reason: Reason, message: String, at: Option<Timestamp> },
}

/// `None` while the job has not ended. The score of a Pod that succeeded counts even before its Job is complete, and even
/// if its Job fails.
pub fn outcome(job: &BatchJobSnapshot, pods: &[Arc<PodSnapshot>]) -> Option<PodJobOutcome> {
    let done = pods.iter().filter(|pod| pod.phase == "Succeeded");
    let scored = done.filter_map(|pod| match (&pod.agent, result(pod)) {
        (AgentState::Terminated(ended), Some(RunResult::Scored(score))) => Some((score, ended.finished)),
        _ => None,
    });
    if let Some((score, at)) = scored.into_iter().next() {
        return Some(PodJobOutcome::Scored { score, at });
    }
    let end = job.end.as_ref()?;
    let (reason, message) = if end.complete { lost(pods) } else { failed(job, end, pods) };
    let at = newest(pods).and_then(|pod| match &pod.agent {
        AgentState::Terminated(ended) => ended.finished,
        _ => None,
    });
    Some(PodJobOutcome::Failed { reason, message, at: end.at.max(at) })
}

/// The Pod of the current attempt, or of the last one.
pub fn newest(pods: &[Arc<PodSnapshot>]) -> Option<&PodSnapshot> {
    pods.iter().map(AsRef::as_ref).max_by_key(|pod| (pod.created, !pod.is_over(), &pod.identity.key.name))
}

/// The result of the scoring container, if it can be parsed.
fn result(pod: &PodSnapshot) -> Option<RunResult> {
    match &pod.agent {
        AgentState::Terminated(ended) => serde_json::from_str(&ended.message).ok(),
        _ => None,
    }
}

fn lost(pods: &[Arc<PodSnapshot>]) -> (Reason, String) {
    let message = match newest(pods) {
        Some(pod) => format!(
            "Pod {} succeeded, but its result cannot be read: check that its image is a vmafx-node image",
            pod.identity.key.name
        ),
        None => "the Pod succeeded, but it was deleted before its result was read: create the job again"
            .to_owned(),
    };
    (Reason::ResultLost, message)
}

fn failed(job: &BatchJobSnapshot, end: &BatchJobEnd, pods: &[Arc<PodSnapshot>]) -> (Reason, String) {
    if end.reason == "DeadlineExceeded" {
        let allowed = job.deadline.map(|seconds| format!(" than {seconds} s")).unwrap_or_default();
        return (Reason::DeadlineExceeded, format!("the job took longer{allowed}"));
    }
    let over = pods.iter().filter(|pod| pod.is_over() || matches!(pod.agent, AgentState::Terminated(_)));
    let over: Vec<_> = over.cloned().collect();
    let Some(last) = newest(&over) else {
        // The Pods are gone, so only Kubernetes' own message is left.
        return (Reason::AttemptsExhausted, format!("{}: {}", end.reason, end.message));
    };
    let (reason, message) = failure_of(last);
    if end.reason == "BackoffLimitExceeded" && job.failed > 1 {
        return (reason, format!("{} attempts failed; the last one: {message}", job.failed));
    }
    (reason, message)
}

/// Why a Pod failed.
pub fn failure_of(pod: &PodSnapshot) -> (Reason, String) {
    let name = &pod.identity.key.name;
    if let Some(result) = result(pod)
        && let (Some(reason), RunResult::Failed { message, .. }) = (result.reason(), result)
    {
        return (failure(reason), message);
    }
    let lost = |text: String| (Reason::AttemptsExhausted, text);
    if let Some(KubernetesReason { reason, message }) = pod.pod_reason.as_ref().or(pod.disrupted.as_ref()) {
        return lost(format!("Pod {name} was terminated by Kubernetes ({reason}): {message}"));
    }
    match &pod.agent {
        AgentState::Terminated(ended) => terminated_without_result(name, ended),
        _ if pod.terminating => lost(format!("Pod {name} was deleted")),
        _ => lost(format!("Pod {name} failed before scoring started")),
    }
}

fn terminated_without_result(pod: &str, ended: &TerminatedAgent) -> (Reason, String) {
    let code = ended.exit_code;
    if ended.reason == "OOMKilled" {
        let text = format!("Pod {pod} ran out of memory: raise its memory limit in spec.podTemplate");
        return (Reason::AttemptsExhausted, text);
    }
    if code == i32::from(RunResult::EXIT_USAGE) {
        let text = format!(
            "vmafx-node in Pod {pod} rejected its arguments or settings: use an image of the operator's release, \
             and for a GPU one that sets VMAFX_VMAF_BINARY; see the Pod's log"
        );
        return (Reason::Invalid, text);
    }
    let how = match code {
        0 => "exited without an error".to_owned(),
        137 => "was killed".to_owned(),
        _ => format!("exited with code {code}"),
    };
    let left =
        if ended.message.trim().is_empty() { "left no result" } else { "left a result that cannot be read" };
    let reason = if code == i32::from(RunResult::EXIT_FINAL) {
        Reason::ScoringFailed
    } else {
        Reason::AttemptsExhausted
    };
    let detail = match ended.reason.as_str() {
        "" | "Error" | "Completed" => String::new(),
        reason => format!(" ({reason})"),
    };
    (reason, format!("the container in Pod {pod} {how}{detail} and {left}; see the Pod's log"))
}

#[cfg(test)]
mod tests;
