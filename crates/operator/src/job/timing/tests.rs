use std::sync::Arc;

use serde_json::{Value, json};
use vmafx_proto::controller::v1::Job;

use super::*;
use crate::job::fixtures::{self, down};
use crate::job::status::{StatusContext, status};

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
    status_write(job, observed, &after, Some(first), first + elapsed)
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
fn an_outage_is_written_soon_only_on_a_job_without_a_status() {
    let mut job = job();
    assert_eq!(write_after(&job, &down(), Duration::ZERO), StatusWrite::Deferred(DEBOUNCE));
    job.status = Some(status(&job, &live(JobStatus::Running), StatusContext::default(), Timestamp::now()));
    assert_eq!(write_after(&job, &down(), Duration::ZERO), StatusWrite::Deferred(OUTAGE_GRACE));
}
