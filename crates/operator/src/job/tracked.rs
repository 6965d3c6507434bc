//! What was observed of open resources and is not in their status yet. All of it can be observed again after a restart: a
//! submission is repeated under the same idempotency key, and jobs of deleted resources are swept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;
use vmafx_api::VmafxJob;
use vmafx_proto::controller::v1::{JobStatus, UpdateJobRequest};

use super::observe::{Explanation, ObservedJob};
use super::timing::RESYNC_INTERVAL;
use crate::key::ObjectKey;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrackedJob {
    /// Tells resources apart that had the same name one after the other.
    pub uid: String,
    /// The id of its job at the controller, once it is submitted.
    pub id: Option<String>,
    /// The id before that, if the controller lost that job and no event was published about it.
    pub forgotten: Option<String>,
    /// Since when the status of the resource is outdated.
    pub behind_since: Option<Instant>,
    /// Whether the controller's job was observed since this operator leads. Before that, the status of the resource may name
    /// an older job than the one that it wants.
    pub settled: bool,
    /// Whether an earlier operator may have submitted a job for the resource without recording it.
    pub may_be_submitted: bool,
    /// A ground truth that the controller rejected.
    pub rejected_label: Option<f64>,
    /// The last change of the spec that the controller rejected.
    pub rejected_update: Option<RejectedUpdate>,
    /// When the controller was asked why the job is pending, and its answer.
    pub explained: Option<(Instant, Option<Explanation>)>,
    /// The last refused submission, if none was accepted since.
    pub refused: Option<RefusedCall>,
    /// The last refused change of the submitted job, while the job lacks the change.
    pub refused_change: Option<RefusedCall>,
    /// Since when every observation failed.
    pub unreachable_since: Option<Instant>,
}

/// A submission or a change that the controller refused and may accept later.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedCall {
    pub explanation: Explanation,
    /// The spec that the call was made for; for a changed one it is made at once.
    pub generation: Option<i64>,
    pub retry_at: Instant,
    delay: Duration,
}

impl RefusedCall {
    /// `before` is the refusal before this one.
    fn new(before: Option<&Self>, job: &VmafxJob, explanation: Explanation, now: Instant) -> Self {
        let generation = job.metadata.generation;
        let before = before.filter(|refused| refused.generation == generation);
        let delay = before.map_or(MIN_REFUSAL_DELAY, |refused| (refused.delay * 2).min(MAX_REFUSAL_DELAY));
        Self { explanation, generation, retry_at: now + delay, delay }
    }

    fn is_too_early(&self, job: &VmafxJob, now: Instant) -> bool {
        now < self.retry_at && self.generation == job.metadata.generation
    }
}

/// Delay before a refused call is repeated; it doubles with every further refusal.
const MIN_REFUSAL_DELAY: Duration = Duration::from_secs(5);
const MAX_REFUSAL_DELAY: Duration = Duration::from_mins(1);

/// A change of the spec that the controller rejected, when, and its message.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedUpdate {
    pub request: UpdateJobRequest,
    pub message: String,
    pub at: Instant,
}

impl TrackedJob {
    /// Whether the controller rejected this change lately. It is sent again later, because an administrator may have
    /// permitted it.
    pub(super) fn was_rejected(&self, update: &UpdateJobRequest, now: Instant) -> bool {
        let rejected = self.rejected_update.as_ref().filter(|rejected| rejected.request == *update);
        rejected.is_some_and(|rejected| now.saturating_duration_since(rejected.at) < RESYNC_INTERVAL)
    }

    /// Why the controller rejected a change that the job still lacks.
    pub fn rejection(&self) -> Option<&str> {
        self.rejected_update.as_ref().map(|rejected| rejected.message.as_str())
    }

    pub(super) fn submitted(&mut self, id: String, forgotten: Option<String>) {
        self.refused = None;
        self.id = Some(id);
        self.forgotten = forgotten.or_else(|| self.forgotten.take());
        self.explained = None;
    }

    /// Takes over what an observation says. Why a job was pending says nothing once it has left the queue.
    pub(super) fn update(&mut self, observed: &ObservedJob, now: Instant) {
        self.settled |= matches!(observed, ObservedJob::Present(_));
        let is_unreachable = matches!(observed, ObservedJob::Unreachable(_));
        self.unreachable_since = is_unreachable.then(|| self.unreachable_since.unwrap_or(now));
        if observed.status().is_some_and(|status| status != JobStatus::Pending) {
            self.explained = None;
        }
    }

    pub(super) fn refuse(&mut self, job: &VmafxJob, explanation: Explanation, now: Instant) {
        self.refused = Some(RefusedCall::new(self.refused.as_ref(), job, explanation, now));
    }

    pub(super) fn refuse_change(&mut self, job: &VmafxJob, explanation: Explanation, now: Instant) {
        self.refused_change = Some(RefusedCall::new(self.refused_change.as_ref(), job, explanation, now));
    }

    /// Whether it is too early to repeat a refused change.
    pub(super) fn is_change_put_off(&self, job: &VmafxJob, now: Instant) -> bool {
        self.refused_change.as_ref().is_some_and(|refused| refused.is_too_early(job, now))
    }

    /// Why the submission was refused, while it is too early to repeat it.
    pub fn refusal_until_retry(&self, job: &VmafxJob, now: Instant) -> Option<&Explanation> {
        self.refused
            .as_ref()
            .filter(|refused| refused.is_too_early(job, now))
            .map(|refused| &refused.explanation)
    }

    /// Why the job is pending, as far as the controller explained it.
    pub fn wait_explanation(&self) -> Option<&Explanation> {
        self.explained.as_ref()?.1.as_ref()
    }
}

/// By name. A name has several entries only until the jobs of deleted resources are cancelled. Clones share their content.
#[derive(Clone, Debug, Default)]
pub struct TrackedJobs(Arc<Mutex<HashMap<ObjectKey, Vec<TrackedJob>>>>);

impl TrackedJobs {
    /// The entry of a resource, or a new one with the job id that its status records.
    ///
    /// `started` is when this operator began to lead.
    pub fn get(&self, key: &ObjectKey, job: &VmafxJob, started: Timestamp) -> TrackedJob {
        let uid = job.metadata.uid.as_deref().unwrap_or_default();
        let created = job.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let tracked = self.find(key, uid).unwrap_or_else(|| TrackedJob {
            uid: uid.to_owned(),
            may_be_submitted: created.is_some_and(|created| created < started),
            ..TrackedJob::default()
        });
        let recorded = job.status.as_ref().and_then(|status| status.controller_job_id.clone());
        TrackedJob { id: tracked.id.or(recorded), ..tracked }
    }

    pub(super) fn find(&self, key: &ObjectKey, uid: &str) -> Option<TrackedJob> {
        self.entries().get(key)?.iter().find(|one| one.uid == uid).cloned()
    }

    pub fn put(&self, key: &ObjectKey, tracked: TrackedJob) {
        let mut entries = self.entries();
        let same_name = entries.entry(key.clone()).or_default();
        same_name.retain(|one| one.uid != tracked.uid);
        same_name.push(tracked);
    }

    /// The entries of this name with another UID: their resources were deleted.
    pub fn predecessors(&self, key: &ObjectKey, uid: Option<&str>) -> Vec<TrackedJob> {
        let entries = self.entries();
        let same_name = entries.get(key).into_iter().flatten();
        same_name.filter(|one| Some(one.uid.as_str()) != uid).cloned().collect()
    }

    pub fn remove(&self, key: &ObjectKey, uid: &str) {
        let mut entries = self.entries();
        if let Some(same_name) = entries.get_mut(key) {
            same_name.retain(|one| one.uid != uid);
            if same_name.is_empty() {
                entries.remove(key);
            }
        }
    }

    /// The number of open resources.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<ObjectKey, Vec<TrackedJob>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_submission_is_repeated_after_growing_delays_and_at_once_when_the_spec_changes() {
        let mut job = crate::job::fixtures::job(&serde_json::json!({}), &serde_json::Value::Null);
        let why = Explanation {
            reason: vmafx_api::conditions::Reason::InputRefused,
            message: "outside the roots".to_owned(),
        };
        let (mut tracked, mut now) = (TrackedJob::default(), Instant::now());
        for seconds in [5, 10, 20, 40, 60, 60] {
            tracked.refuse(&job, why.clone(), now);
            let delay = Duration::from_secs(seconds);
            assert_eq!(tracked.refusal_until_retry(&job, now + delay - Duration::from_millis(1)), Some(&why));
            now += delay;
            assert_eq!(tracked.refusal_until_retry(&job, now), None);
        }
        tracked.refuse(&job, why, now);
        job.metadata.generation = Some(3);
        assert_eq!(tracked.refusal_until_retry(&job, now), None);
        tracked.submitted("7".to_owned(), None);
        assert_eq!(tracked.refused, None);
    }

    #[test]
    fn an_outage_of_a_job_lasts_until_anything_else_is_observed() {
        let (mut tracked, begin) = (TrackedJob::default(), Instant::now());
        let down = crate::job::fixtures::down();
        for seconds in [0, 1] {
            tracked.update(&down, begin + Duration::from_secs(seconds));
            assert_eq!(tracked.unreachable_since, Some(begin));
        }
        tracked.update(&ObservedJob::Missing, begin);
        assert_eq!(tracked.unreachable_since, None);
    }

    #[test]
    fn a_namesake_is_another_one() {
        let (jobs, key) = (TrackedJobs::default(), ObjectKey::new("video", "a"));
        let old = TrackedJob { uid: "old".to_owned(), id: Some("1".to_owned()), ..TrackedJob::default() };
        jobs.put(&key, old.clone());
        assert_eq!(jobs.find(&key, "new"), None);
        jobs.put(&key, TrackedJob { uid: "new".to_owned(), ..TrackedJob::default() });
        assert_eq!(jobs.predecessors(&key, Some("new")), [old]);
        assert_eq!(jobs.predecessors(&key, None).len(), 2);
        jobs.remove(&key, "old");
        assert_eq!(jobs.predecessors(&key, Some("new")), []);
        jobs.remove(&key, "new");
        assert!(jobs.is_empty());
    }
}
