//! Jobs, to the wire.

use vmafx_proto::controller::v1 as wire;
use vmafx_queue::Job;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::FailedAttempt;
use vmafx_queue::transition::State;

use super::resource_ref;
use crate::service::response::{AssignedJob, JobChange};

/// A job for its node: the only message with scoring roots and report roots, and with the tenant if it is not that of the
/// node.
pub(in crate::grpc) fn assigned_job(assigned: AssignedJob) -> wire::Job {
    let AssignedJob { job: running, scoring_roots, report_roots, is_guest } = assigned;
    let tenant = if is_guest { running.tenant.as_str().to_owned() } else { String::new() };
    wire::Job { scoring_roots, report_roots, tenant, ..job(running) }
}

pub(in crate::grpc) fn change(change: JobChange) -> wire::Job {
    match change {
        JobChange::Snapshot(current) => job(current),
        JobChange::Job(cursor, current) => wire::Job { cursor, ..job(current) },
        JobChange::Bookmark(cursor) => wire::Job { cursor, ..wire::Job::default() },
    }
}

pub(in crate::grpc) fn job(job: Job) -> wire::Job {
    let (score, features, details) = match job.result {
        Some(success) => (success.score, success.features, success.details),
        None => Default::default(),
    };
    wire::Job {
        id: job.id.to_string(),
        status: status(job.state).into(),
        scoring: Some(job.scoring.into()),
        // The contract has this field, but the controller never fills it.
        partial_results: Vec::new(),
        assigned_node: job.node.unwrap_or_default(),
        error: job.error,
        created_at: seconds(job.created_at),
        updated_at: seconds(job.updated_at),
        final_score: score,
        // Only `assigned_job` sets them, for nodes.
        scoring_roots: Vec::new(),
        report_roots: Vec::new(),
        tenant: String::new(),
        priority: job.priority,
        attempt: job.attempt,
        lost_attempts: job.lost_attempts,
        max_lost_attempts: job.max_lost_attempts,
        origin: job.origin.map(resource_ref),
        idempotency_key: job.key.map(|key| key.as_str().to_owned()).unwrap_or_default(),
        progress: job
            .progress
            .map(|progress| wire::Progress { frames_done: progress.done, frames_total: progress.total }),
        result: details.map(Into::into),
        features,
        failure_reason: job.failure_reason.number(),
        started_at_ms: milliseconds(job.started_at),
        finished_at_ms: milliseconds(job.finished_at),
        available_at_ms: milliseconds(job.available_at),
        lease_expires_at_ms: milliseconds(job.lease_expires_at),
        ground_truth: job
            .label
            .map(|label| wire::GroundTruth { value: label.value(), scale: wire::LabelScale::Percent.into() }),
        revision: job.revision,
        // Only `change` sets it, where a stream can resume.
        cursor: String::new(),
        deadline_at_ms: milliseconds(job.deadline_at),
        next_scoring: job.next_scoring.map(Into::into),
        cancel_cause: job.cancel_cause.map_or(0, |cause| wire::CancelCause::from(cause).into()),
        last_failure: job.last_failure.map(failed_attempt),
        avoid_node: job.avoids.as_ref().map(|avoided| avoided.node.clone()).unwrap_or_default(),
        avoid_until_ms: milliseconds(job.avoids.map(|avoided| avoided.until)),
    }
}

fn failed_attempt(failure: FailedAttempt) -> wire::FailedAttempt {
    let FailedAttempt { attempt, node, reason, message } = failure;
    wire::FailedAttempt { attempt, node, reason: reason.number(), message }
}

fn status(state: State) -> wire::JobStatus {
    match state {
        State::Pending => wire::JobStatus::Pending,
        State::Running => wire::JobStatus::Running,
        State::Completed => wire::JobStatus::Completed,
        State::Failed => wire::JobStatus::Failed,
        State::Cancelled => wire::JobStatus::Cancelled,
    }
}

/// The unit of the frozen fields.
fn seconds(at: Timestamp) -> i64 {
    at.0.div_euclid(1000)
}

/// 0 for an event that has not happened.
pub(super) fn milliseconds(at: Option<Timestamp>) -> i64 {
    at.map_or(0, |at| at.0)
}

#[cfg(test)]
mod tests;
