//! Jobs as everybody sees them.

use vmafx_proto::controller::v1 as wire;
use vmafx_queue::Job;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::outcome::{Details, PooledScores};
use vmafx_queue::scoring::{LengthMismatch, PlaneLayout, RawVideo, ScaleTo, Scoring};
use vmafx_queue::transition::State;

use super::resource_ref;
use crate::service::answer::{Change, Work};

/// A job for a node: the only message with scoring roots.
pub(in crate::grpc) fn work(work: Work) -> wire::Job {
    wire::Job { scoring_roots: work.scoring_roots, ..job(work.job) }
}

/// An item of a watch.
pub(in crate::grpc) fn change(change: Change) -> wire::Job {
    match change {
        Change::Snapshot(found) => job(found),
        Change::Job(cursor, found) => wire::Job { cursor, ..job(found) },
        Change::Bookmark(cursor) => wire::Job { cursor, ..wire::Job::default() },
    }
}

/// A job.
pub(in crate::grpc) fn job(job: Job) -> wire::Job {
    let (score, features, details) = match job.success {
        Some(success) => (success.score, success.features, success.details),
        None => Default::default(),
    };
    wire::Job {
        id: job.id.to_string(),
        status: status(job.state).into(),
        scoring: Some(scoring(job.scoring)),
        // Part of the contract, never filled.
        partial_results: Vec::new(),
        assigned_node: job.node.unwrap_or_default(),
        error: job.error,
        created_at: seconds(job.created_at),
        updated_at: seconds(job.updated_at),
        final_score: score,
        // Only nodes are told, by `work`.
        scoring_roots: Vec::new(),
        priority: job.priority,
        attempt: job.attempt,
        lost_attempts: job.lost_attempts,
        max_lost_attempts: job.max_lost_attempts,
        origin: job.origin.map(resource_ref),
        idempotency_key: job.key.map(|key| key.as_str().to_owned()).unwrap_or_default(),
        progress: job
            .progress
            .map(|progress| wire::Progress { frames_done: progress.done, frames_total: progress.total }),
        result: details.map(result),
        features,
        failure_reason: job.failure_reason.0,
        started_at_ms: milliseconds(job.started_at),
        finished_at_ms: milliseconds(job.finished_at),
        available_at_ms: milliseconds(job.available_at),
        lease_expires_at_ms: milliseconds(job.lease_expires_at),
        ground_truth: job
            .label
            .map(|label| wire::GroundTruth { value: label.value(), scale: wire::LabelScale::Percent.into() }),
        revision: job.revision,
        // Only where a stream can be resumed, by `change`.
        cursor: String::new(),
        deadline_at_ms: milliseconds(job.deadline_at),
    }
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

fn scoring(scoring: Scoring) -> wire::ScoringParams {
    wire::ScoringParams {
        reference: scoring.reference,
        distorted: scoring.distorted,
        model: scoring.model,
        backend: scoring.backend,
        input: scoring.input.map(raw_video),
        features: scoring.features,
        frame_step: scoring.frame_step,
        scale_to: scoring.scale_to.map(scale_to),
        length_mismatch: match scoring.length_mismatch {
            None => wire::LengthMismatch::Unspecified,
            Some(LengthMismatch::Fail) => wire::LengthMismatch::Fail,
            Some(LengthMismatch::Shortest) => wire::LengthMismatch::Shortest,
        }
        .into(),
        report_uri: scoring.report_uri,
    }
}

fn raw_video(input: RawVideo) -> wire::RawVideo {
    let pixel_format = match input.pixel_format {
        PlaneLayout::Yuv420p => wire::PlaneLayout::Yuv420p,
        PlaneLayout::Yuv422p => wire::PlaneLayout::Yuv422p,
        PlaneLayout::Yuv444p => wire::PlaneLayout::Yuv444p,
    };
    let (width, height, bit_depth) = (input.width, input.height, input.bit_depth);
    wire::RawVideo { width, height, pixel_format: pixel_format.into(), bit_depth }
}

fn scale_to(scale: ScaleTo) -> wire::ScaleTo {
    let mode = |mode: wire::ScaleMode| wire::scale_to::Target::Mode(mode.into());
    let target = match scale {
        ScaleTo::Reference => mode(wire::ScaleMode::Reference),
        ScaleTo::Distorted => mode(wire::ScaleMode::Distorted),
        ScaleTo::Never => mode(wire::ScaleMode::Never),
        ScaleTo::Size { width, height } => wire::scale_to::Target::Size(wire::PictureSize { width, height }),
    };
    wire::ScaleTo { target: Some(target) }
}

fn result(details: Details) -> wire::ResultDetails {
    wire::ResultDetails {
        model: details.model,
        model_digest: details.model_digest,
        backend: details.backend,
        frames: details.frames,
        size: details.size.map(|(width, height)| wire::PictureSize { width, height }),
        scores: details.scores.map(pooled),
        warnings: details.warnings,
        report_uri: details.report_uri,
    }
}

fn pooled(scores: PooledScores) -> wire::PooledScores {
    let PooledScores { mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50 } = scores;
    wire::PooledScores { mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50 }
}

/// Whole seconds, as the frozen fields have them.
fn seconds(at: Timestamp) -> i64 {
    at.0.div_euclid(1000)
}

/// 0 when it has not happened.
pub(super) fn milliseconds(at: Option<Timestamp>) -> i64 {
    at.map_or(0, |at| at.0)
}

#[cfg(test)]
mod tests;
