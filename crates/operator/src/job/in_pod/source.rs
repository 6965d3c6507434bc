//! What the template of a Kubernetes Job was made from, and how far the Job follows the spec of its resource. Pure.
//!
//! The template cannot be changed. While no attempt is under way, the Job is replaced by one with another template; an
//! attempt that runs keeps its request. The annotation [`SOURCE`] says what a template was made from. It is compared in
//! domain types, so that two spellings of one request, as of two releases of the operator, are no change. The arguments
//! of the container are not compared, because an admission webhook may change them, and the Job would be replaced again
//! and again.

use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use vmafx_api::VmafxJob;
use vmafx_job::ScoringRequest;

use super::observe::ObservedPodJob;
use super::render::{JobDefaults, render};
use super::snapshot::{AgentState, BatchJobSnapshot, PodSnapshot};
use super::waiting::is_retried;
use crate::reserved::SOURCE;

/// The parts of a spec that a template is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateSource {
    request: ScoringRequest,
    /// Digest of `spec.podTemplate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod_template: Option<String>,
    /// Failed attempts of the Jobs before this one, which count against `spec.backoffLimit`.
    #[serde(default)]
    pub failed_before: i32,
}

impl TemplateSource {
    pub fn of(job: &VmafxJob, failed_before: i32) -> Self {
        let digest = |template: &_| {
            let text = serde_json::to_string(template).unwrap_or_default();
            let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(text).into();
            format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
        };
        Self {
            request: job.spec.scoring_request(),
            pod_template: job.spec.pod_template.as_ref().map(digest),
            failed_before,
        }
    }

    /// `None` if an operator of another release made the Job and left no annotation, or one that cannot be read.
    pub fn of_live(job: &Job) -> Option<Self> {
        serde_json::from_str(job.annotations().get(SOURCE)?).ok()
    }

    pub fn annotation(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// How far the Kubernetes Job follows the spec of its resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateProgress {
    /// Also if there is no Kubernetes Job: the one to come follows the spec.
    UpToDate,
    /// The Job has to be replaced; no attempt is under way, and so many have failed.
    Behind { failed_before: i32 },
    /// The running attempt uses the request before the change.
    NextAttempt,
    /// The changed spec yields no Kubernetes Job, so the one before stays.
    Refused(String),
}

pub fn progress(job: &VmafxJob, observed: &ObservedPodJob, defaults: &JobDefaults) -> TemplateProgress {
    let Some(live) = observed.job.as_deref().filter(|live| is_changed(job, live)) else {
        return TemplateProgress::UpToDate;
    };
    let failed_before = failed_attempts(live, observed);
    match render(job, defaults, failed_before) {
        Err(error) => TemplateProgress::Refused(error.to_string()),
        Ok(_) if is_under_way(live, observed) => TemplateProgress::NextAttempt,
        Ok(_) => TemplateProgress::Behind { failed_before },
    }
}

/// The failed attempts of this Job and of those before it. Kubernetes counts a failed Pod a moment after it has failed.
fn failed_attempts(live: &BatchJobSnapshot, observed: &ObservedPodJob) -> i32 {
    let failed = i32::try_from(observed.failed_pods()).unwrap_or(i32::MAX);
    live.failed_before().saturating_add(live.failed.max(failed))
}

/// Whether the Job was made from another spec. One of an unknown source was made from the spec that the status has
/// observed, so that a new release of the operator replaces no Job whose resource has not changed.
fn is_changed(job: &VmafxJob, live: &BatchJobSnapshot) -> bool {
    if let Some(source) = &live.source {
        return *source != TemplateSource::of(job, source.failed_before);
    }
    let observed = job.status.as_ref().and_then(|status| status.observed_generation);
    observed.is_some_and(|observed| Some(observed) < job.metadata.generation)
}

/// Whether an attempt runs, or has ended in a way that ends the job.
fn is_under_way(live: &BatchJobSnapshot, observed: &ObservedPodJob) -> bool {
    let is_waiting = |pod: &PodSnapshot| match pod.phase.as_str() {
        "Succeeded" => false,
        "Failed" => is_retried(live, observed, pod),
        _ => pod.agent == AgentState::Waiting,
    };
    live.ending
        || live.end.is_some()
        || live.succeeded > 0
        || !observed.pods.iter().all(|pod| is_waiting(pod))
}

#[cfg(test)]
mod tests;
