//! Requests about jobs, from the wire.

use vmafx_job::ScoringRequest;
use vmafx_proto::controller::v1 as wire;
use vmafx_queue::transition::State;

use super::origin;
use crate::refusal::Refusal;
use crate::service::request::{
    GroundTruth, JobFilter, JobRef, LabelJob, LabelScale, ListJobs, SubmitJob, UpdateJob, WatchJobs,
};

pub(in crate::grpc) fn submit(request: wire::SubmitJobRequest) -> Result<SubmitJob, Refusal> {
    let params = request.scoring.ok_or_else(|| Refusal::invalid("scoring", "is required"))?;
    Ok(SubmitJob {
        scoring: ScoringRequest::try_from(params)
            .map_err(|error| Refusal::invalid_request("scoring", error))?,
        priority: request.priority,
        idempotency_key: request.idempotency_key,
        origin: request.origin.map(origin),
        max_lost_attempts: request.max_lost_attempts,
        active_deadline_seconds: request.active_deadline_seconds,
        ground_truth: request.ground_truth.map(ground_truth).transpose()?,
    })
}

pub(in crate::grpc) fn update(request: wire::UpdateJobRequest) -> Result<(String, UpdateJob), Refusal> {
    let scoring = request.scoring.map(ScoringRequest::try_from).transpose();
    let update = UpdateJob {
        scoring: scoring.map_err(|error| Refusal::invalid_request("scoring", error))?,
        priority: request.priority,
        max_lost_attempts: request.max_lost_attempts,
        active_deadline_seconds: request.active_deadline_seconds,
    };
    Ok((request.job_id, update))
}

fn ground_truth(truth: wire::GroundTruth) -> Result<GroundTruth, Refusal> {
    let scale = match wire::LabelScale::try_from(truth.scale) {
        Ok(wire::LabelScale::Unspecified | wire::LabelScale::Percent) => LabelScale::Percent,
        Ok(wire::LabelScale::Mos) => LabelScale::Mos,
        Err(_) => return Err(unknown("ground_truth.scale", truth.scale)),
    };
    Ok(GroundTruth { value: truth.value, scale })
}

pub(in crate::grpc) fn label_job(request: wire::LabelJobRequest) -> Result<LabelJob, Refusal> {
    let job = match request.target {
        Some(wire::label_job_request::Target::JobId(id)) => JobRef::JobId(id),
        Some(wire::label_job_request::Target::IdempotencyKey(key)) => JobRef::IdempotencyKey(key),
        None => return Err(Refusal::invalid("job_id", "or idempotency_key is required")),
    };
    let truth = request.ground_truth.ok_or_else(|| Refusal::invalid("ground_truth", "is required"))?;
    Ok(LabelJob { job, ground_truth: ground_truth(truth)? })
}

/// The two modes of `StreamJobs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::grpc) enum StreamJobs {
    Snapshot(JobFilter),
    Watch(WatchJobs),
}

pub(in crate::grpc) fn stream_jobs(request: wire::StreamJobsRequest) -> Result<StreamJobs, Refusal> {
    let wire::StreamJobsRequest {
        status_filter,
        watch,
        cursor,
        origin_filter,
        job_ids,
        include_progress,
        changes_only,
    } = request;
    let filter = JobFilter { states: states(status_filter)?, origin: origin_filter.map(origin), job_ids };
    if watch {
        return Ok(StreamJobs::Watch(WatchJobs { filter, cursor, include_progress, changes_only }));
    }
    if !cursor.is_empty() {
        return Err(Refusal::invalid("cursor", "needs watch"));
    }
    if include_progress {
        return Err(Refusal::invalid("include_progress", "needs watch"));
    }
    if changes_only {
        return Err(Refusal::invalid("changes_only", "needs watch"));
    }
    Ok(StreamJobs::Snapshot(filter))
}

pub(in crate::grpc) fn list_jobs(request: wire::ListJobsRequest) -> Result<ListJobs, Refusal> {
    let wire::ListJobsRequest { status_filter, origin_filter, page_size, page_token, newest_first } = request;
    let origin = origin_filter.map(origin);
    let filter = JobFilter { states: states(status_filter)?, origin, job_ids: Vec::new() };
    Ok(ListJobs { filter, page_size, page_token, newest_first })
}

fn states(filter: Vec<i32>) -> Result<Vec<State>, Refusal> {
    let state =
        |(index, number)| state(number).ok_or_else(|| unknown(&format!("status_filter[{index}]"), number));
    filter.into_iter().enumerate().map(state).collect()
}

fn state(number: i32) -> Option<State> {
    Some(match wire::JobStatus::try_from(number).ok()? {
        wire::JobStatus::Pending => State::Pending,
        wire::JobStatus::Running => State::Running,
        wire::JobStatus::Completed => State::Completed,
        wire::JobStatus::Failed => State::Failed,
        wire::JobStatus::Cancelled => State::Cancelled,
    })
}

fn unknown(field: &str, number: i32) -> Refusal {
    Refusal::invalid(field, format!("{number} is not a value of this enum"))
}

#[cfg(test)]
mod tests;
