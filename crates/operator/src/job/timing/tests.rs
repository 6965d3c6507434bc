use std::sync::Arc;

use serde_json::{Value, json};
use vmafx_proto::controller::v1::Job;

use super::*;
use crate::job::fixtures::{self, down_since};
use crate::job::status::{StatusContext, status};

const MILLISECOND: Duration = Duration::from_millis(1);

fn job() -> VmafxJob {
    fixtures::job(&json!({}), &Value::Null)
}

fn live(status: JobStatus) -> ObservedJob {
    ObservedJob::Present(Arc::new(Job { id: "7".to_owned(), status: status.into(), ..Job::default() }))
}

/// The decision about the status that follows from an observation, so long after the first change.
fn write_after(job: &VmafxJob, observed: &ObservedJob, elapsed: Duration) -> StatusWrite {
    let first = Instant::now();
    let after = status(job, observed, StatusContext::default(), Timestamp::now());
    let tracked = TrackedJob { behind_since: Some(first), ..TrackedJob::default() };
    status_write(job, observed, &after, &tracked, first + elapsed)
}

/// The decision about a job that has been unreachable for `own`, in an outage that has lasted for `shared`.
fn write_in_outage(job: &VmafxJob, shared: Duration, own: Duration) -> StatusWrite {
    let begin = Instant::now();
    let now = begin + shared.max(own);
    let observed = down_since(now - shared);
    let after = status(job, &observed, StatusContext::default(), Timestamp::now());
    let own_since = Some(now - own);
    let tracked =
        TrackedJob { behind_since: own_since, unreachable_since: own_since, ..TrackedJob::default() };
    status_write(job, &observed, &after, &tracked, now)
}

#[test]
fn a_short_job_is_written_once_with_its_end_and_without_delay() {
    let job = job();
    let pending = write_after(&job, &live(JobStatus::Pending), Duration::ZERO);
    assert_eq!(pending, StatusWrite::Deferred(DEBOUNCE));
    let running = write_after(&job, &live(JobStatus::Running), DEBOUNCE / 2);
    assert_eq!(running, StatusWrite::Deferred(DEBOUNCE / 2));
    assert_eq!(write_after(&job, &live(JobStatus::Completed), DEBOUNCE / 2), StatusWrite::Due);
}

#[test]
fn further_changes_do_not_defer_the_write() {
    let job = job();
    for quarters in 0..4 {
        let write = write_after(&job, &live(JobStatus::Pending), DEBOUNCE / 4 * quarters);
        assert_eq!(write, StatusWrite::Deferred(DEBOUNCE / 4 * (4 - quarters)));
    }
    assert_eq!(write_after(&job, &live(JobStatus::Running), DEBOUNCE), StatusWrite::Due);
}

#[test]
fn a_short_outage_is_written_on_no_job() {
    let new = job();
    let running = status(&new, &live(JobStatus::Running), StatusContext::default(), Timestamp::now());
    let submitted = VmafxJob { status: Some(running), ..new.clone() };
    let almost = OUTAGE_GRACE.saturating_sub(MILLISECOND);
    for job in [new, submitted] {
        assert_eq!(write_in_outage(&job, almost, almost), StatusWrite::Deferred(MILLISECOND));
        assert_eq!(write_in_outage(&job, OUTAGE_GRACE, OUTAGE_GRACE), StatusWrite::Due);
    }
}

#[test]
fn a_job_that_is_created_during_a_long_outage_gets_its_status_soon() {
    assert_eq!(write_in_outage(&job(), OUTAGE_GRACE, Duration::ZERO), StatusWrite::Deferred(DEBOUNCE));
    assert_eq!(write_in_outage(&job(), OUTAGE_GRACE, DEBOUNCE), StatusWrite::Due);
}

#[test]
fn a_job_whose_own_calls_fail_again_and_again_says_so_although_others_are_answered() {
    let almost = OWN_OUTAGE_GRACE.saturating_sub(MILLISECOND);
    assert_eq!(write_in_outage(&job(), Duration::ZERO, almost), StatusWrite::Deferred(MILLISECOND));
    assert_eq!(write_in_outage(&job(), Duration::ZERO, OWN_OUTAGE_GRACE), StatusWrite::Due);
}
