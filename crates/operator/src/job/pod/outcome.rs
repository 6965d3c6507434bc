//! How a job ended, from its Kubernetes Job and its Pods. Pure.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::Reason;
use vmafx_job::{RunResult, ScoreResult};

use super::facts::{Agent, End, Ended, JobFacts, PodFacts};
use crate::job::status::failure;

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With a score.
    Scored {
        /// The score.
        score: Box<ScoreResult>,
        /// When.
        at: Option<Timestamp>,
    },
    /// Without.
    Failed {
        /// In one word.
        reason: Reason,
        /// In a sentence.
        message: String,
        /// When.
        at: Option<Timestamp>,
    },
}

/// How it ended, if it has. A Pod that ended well counts before its Job says so, and whatever its Job says.
pub fn outcome(job: &JobFacts, pods: &[Arc<PodFacts>]) -> Option<Outcome> {
    let done = pods.iter().filter(|pod| pod.phase == "Succeeded");
    let scored = done.filter_map(|pod| match (&pod.agent, result(pod)) {
        (Agent::Ended(ended), Some(RunResult::Scored(score))) => Some((score, ended.finished)),
        _ => None,
    });
    if let Some((score, at)) = scored.into_iter().next() {
        return Some(Outcome::Scored { score, at });
    }
    let end = job.end.as_ref()?;
    let (reason, message) = if end.complete { lost(pods) } else { failed(job, end, pods) };
    let at = newest(pods).and_then(|pod| match &pod.agent {
        Agent::Ended(ended) => ended.finished,
        _ => None,
    });
    Some(Outcome::Failed { reason, message, at: end.at.max(at) })
}

/// The Pod of the attempt that is under way, or of the last one.
pub fn newest(pods: &[Arc<PodFacts>]) -> Option<&PodFacts> {
    pods.iter().map(AsRef::as_ref).max_by_key(|pod| (pod.created, !pod.is_over(), &pod.identity.key.name))
}

/// What the scoring container left, if that can be read.
fn result(pod: &PodFacts) -> Option<RunResult> {
    match &pod.agent {
        Agent::Ended(ended) => serde_json::from_str(&ended.message).ok(),
        _ => None,
    }
}

fn lost(pods: &[Arc<PodFacts>]) -> (Reason, String) {
    let message = match newest(pods) {
        Some(pod) => format!(
            "Pod {} ended well, but the result that it left cannot be read: is its image one of vmafx-node?",
            pod.identity.key.name
        ),
        None => "the Pod ended well, but it was removed before its result was read: create the job again"
            .to_owned(),
    };
    (Reason::ResultLost, message)
}

fn failed(job: &JobFacts, end: &End, pods: &[Arc<PodFacts>]) -> (Reason, String) {
    if end.reason == "DeadlineExceeded" {
        let allowed = job.deadline.map(|seconds| format!(" than {seconds} s")).unwrap_or_default();
        return (Reason::DeadlineExceeded, format!("the job took longer{allowed}"));
    }
    let over = pods.iter().filter(|pod| pod.is_over() || matches!(pod.agent, Agent::Ended(_)));
    let over: Vec<_> = over.cloned().collect();
    let Some(last) = newest(&over) else {
        // Its Pods are gone; Kubernetes' own words are all there is.
        return (Reason::AttemptsExhausted, format!("{}: {}", end.reason, end.message));
    };
    let (reason, message) = why(last);
    if end.reason == "BackoffLimitExceeded" && job.failed > 1 {
        return (reason, format!("{} attempts failed; the last one: {message}", job.failed));
    }
    (reason, message)
}

/// Why a Pod failed.
pub fn why(pod: &PodFacts) -> (Reason, String) {
    let name = &pod.identity.key.name;
    if let Some(result) = result(pod)
        && let (Some(reason), RunResult::Failed { message, .. }) = (result.reason(), result)
    {
        return (failure(reason), message);
    }
    let lost = |text: String| (Reason::AttemptsExhausted, text);
    if let Some(word) = pod.trouble.as_ref().or(pod.disrupted.as_ref()) {
        return lost(format!("Pod {name} was taken away ({}): {}", word.reason, word.message));
    }
    match &pod.agent {
        Agent::Ended(ended) => ended_without_result(name, ended),
        _ if pod.terminating => lost(format!("Pod {name} was deleted")),
        _ => lost(format!("Pod {name} failed before it scored anything")),
    }
}

fn ended_without_result(pod: &str, ended: &Ended) -> (Reason, String) {
    let code = ended.code;
    if ended.reason == "OOMKilled" {
        let text = format!("Pod {pod} was ended for its memory: allow it more in spec.podTemplate");
        return (Reason::AttemptsExhausted, text);
    }
    if code == i32::from(RunResult::EXIT_USAGE) {
        let text = format!(
            "vmafx-node in Pod {pod} did not understand what it was told: use an image of the operator's release, \
             and for a GPU one that sets VMAFX_VMAF_BINARY; the Pod's log says more"
        );
        return (Reason::Invalid, text);
    }
    let how = match code {
        0 => "ended without an error".to_owned(),
        137 => "was killed".to_owned(),
        _ => format!("ended with code {code}"),
    };
    let left =
        if ended.message.trim().is_empty() { "left no result" } else { "left a result that cannot be read" };
    let reason = if code == i32::from(RunResult::EXIT_FINAL) {
        Reason::ScoringFailed
    } else {
        Reason::AttemptsExhausted
    };
    let word = Some(ended.reason.as_str()).filter(|word| !matches!(*word, "" | "Error" | "Completed"));
    let word = word.map(|word| format!(" ({word})")).unwrap_or_default();
    (reason, format!("the container in Pod {pod} {how}{word} and {left}; the Pod's log may say why"))
}

#[cfg(test)]
mod tests;
