//! Jobs as documents and as a table.

use std::fmt::Write as _;

use comfy_table::Cell;
use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;
use vmafx_controller::http::shape;
use vmafx_job::{FailureReason, ScoringRequest};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::convert::score_details;
use vmafx_queue::clock as queue;

use super::age;
use crate::terminal::Look;

#[derive(Serialize)]
pub(crate) struct JobsDocument {
    jobs: Vec<shape::Job>,
}

pub(crate) fn documents(jobs: &[wire::Job]) -> JobsDocument {
    JobsDocument { jobs: jobs.iter().map(document).collect() }
}

pub(crate) fn document(job: &wire::Job) -> shape::Job {
    let completed = job.status() == wire::JobStatus::Completed;
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    shape::Job {
        id: Uuid::try_parse(&job.id).unwrap_or_default(),
        status: status(job.status()),
        scoring: job.scoring.as_ref().map(scoring).unwrap_or_default(),
        next_scoring: job.next_scoring.as_ref().map(scoring),
        priority: job.priority,
        idempotency_key: text(&job.idempotency_key),
        origin: job.origin.as_ref().map(origin),
        node: text(&job.assigned_node),
        attempt: job.attempt,
        lost_attempts: job.lost_attempts,
        max_lost_attempts: job.max_lost_attempts,
        progress: job
            .progress
            .map(|at| shape::Progress { frames_done: at.frames_done, frames_total: at.frames_total }),
        score: completed.then_some(job.final_score),
        features: job.features.clone(),
        result: job.result.clone().map(|result| (&score_details(result)).into()),
        error: text(&job.error),
        failure_reason: (job.status() == wire::JobStatus::Failed)
            .then(|| FailureReason::from_number(job.failure_reason).name().to_owned()),
        ground_truth: job.ground_truth.map(|label| label.value),
        created_at: instant(job.created_at.saturating_mul(1000)).unwrap_or_default(),
        updated_at: instant(job.updated_at.saturating_mul(1000)).unwrap_or_default(),
        started_at: instant(job.started_at_ms),
        finished_at: instant(job.finished_at_ms),
        available_at: instant(job.available_at_ms),
        lease_expires_at: instant(job.lease_expires_at_ms),
        deadline_at: instant(job.deadline_at_ms),
        revision: job.revision,
        last_failure: job.last_failure.as_ref().map(|failure| shape::FailedAttempt {
            attempt: failure.attempt,
            node: failure.node.clone(),
            reason: FailureReason::from_number(failure.reason).name().to_owned(),
            message: failure.message.clone(),
        }),
    }
}

/// The time in RFC 3339; `None` for 0, the time of an event that has not happened.
pub(crate) fn instant(milliseconds: i64) -> Option<String> {
    (milliseconds != 0).then(|| shape::rfc3339(queue::Timestamp(milliseconds)))
}

pub(super) fn origin(origin: &wire::ResourceRef) -> shape::Origin {
    let wire::ResourceRef { cluster, namespace, name, uid } = origin.clone();
    shape::Origin { cluster, namespace, name, uid }
}

fn status(status: wire::JobStatus) -> shape::Status {
    match status {
        wire::JobStatus::Pending => shape::Status::Pending,
        wire::JobStatus::Running => shape::Status::Running,
        wire::JobStatus::Completed => shape::Status::Completed,
        wire::JobStatus::Failed => shape::Status::Failed,
        wire::JobStatus::Cancelled => shape::Status::Cancelled,
    }
}

/// A newer controller may return options that this version cannot parse. In that case only the clips are shown.
fn scoring(params: &wire::ScoringParams) -> shape::Scoring {
    let clips = || ScoringRequest {
        reference: params.reference.clone(),
        distorted: params.distorted.clone(),
        ..ScoringRequest::default()
    };
    shape::Scoring(ScoringRequest::try_from(params.clone()).unwrap_or_else(|_| clips()))
}

pub(crate) fn status_name(job: &wire::Job) -> &'static str {
    match job.status() {
        wire::JobStatus::Pending => "pending",
        wire::JobStatus::Running => "running",
        wire::JobStatus::Completed => "completed",
        wire::JobStatus::Failed => "failed",
        wire::JobStatus::Cancelled => "cancelled",
    }
}

/// The score of a completed job, the progress of a running one, or `-`.
pub(crate) fn score_or_progress(job: &wire::Job) -> String {
    match job.status() {
        wire::JobStatus::Completed => format!("{:.3}", job.final_score),
        wire::JobStatus::Running => match job.progress {
            Some(wire::Progress { frames_done, frames_total: total @ 1.. }) => {
                format!("{} %", frames_done.min(total) * 100 / total)
            }
            Some(wire::Progress { frames_done: done @ 1.., .. }) => format!("{done} frames"),
            _ => "-".to_owned(),
        },
        _ => "-".to_owned(),
    }
}

pub(crate) fn table(jobs: &[wire::Job], look: Look, wide: bool, now: Timestamp) -> String {
    if jobs.is_empty() {
        return "no jobs\n".to_owned();
    }
    let mut header = vec!["Job", "Status", "Score", "Distorted", "Age"];
    if wide {
        header.extend(["Reference", "Model", "Node", "Attempt", "Priority", "Took"]);
    }
    let mut table = look.table(&header, header.len());
    for job in jobs {
        let scoring = job.scoring.clone().unwrap_or_default();
        let mut cells = vec![
            Cell::new(&job.id),
            Cell::new(status_name(job)),
            look.bold(Cell::new(score_or_progress(job))),
            Cell::new(if wide { scoring.distorted.as_str() } else { short(&scoring.distorted) }),
            Cell::new(age::since(job.created_at.saturating_mul(1000), now)),
        ];
        if wide {
            let model = job.result.as_ref().map_or(scoring.model.as_str(), |result| result.model.as_str());
            let dash = |text: &str| Cell::new(if text.is_empty() { "-" } else { text });
            let took = age::since(
                job.started_at_ms,
                Timestamp::from_millisecond(job.finished_at_ms)
                    .ok()
                    .filter(|at| *at > Timestamp::UNIX_EPOCH)
                    .unwrap_or(now),
            );
            cells.extend([
                Cell::new(&scoring.reference),
                dash(model),
                dash(&job.assigned_node),
                Cell::new(job.attempt),
                Cell::new(job.priority),
                Cell::new(took),
            ]);
        }
        table.add_row(cells);
    }
    let mut text = format!("{}\n", table.trim_fmt());
    for job in jobs.iter().filter(|job| !job.error.is_empty()) {
        let _ = writeln!(text, "{} {}: {}", job.id, status_name(job), job.error);
    }
    for job in jobs.iter().filter(|job| job.status() == wire::JobStatus::Pending) {
        if let Some(wire::FailedAttempt { attempt, node, message, .. }) = &job.last_failure {
            let _ =
                writeln!(text, "{} attempt {attempt} failed on {node}: {message}{}", job.id, retry(job, now));
        }
    }
    text
}

/// When the next attempt of a job in back-off may start.
fn retry(job: &wire::Job, now: Timestamp) -> String {
    let due = Timestamp::from_millisecond(job.available_at_ms).ok().filter(|due| *due > now);
    due.map(|due| format!("; next attempt in {}", age::length(due.duration_since(now).unsigned_abs())))
        .unwrap_or_default()
}

/// The last segment of an address.
pub(crate) fn short(address: &str) -> &str {
    address.trim_end_matches('/').rsplit('/').next().unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(status: wire::JobStatus) -> wire::Job {
        wire::Job {
            id: "01890a5d-ac96-774b-bcce-b302099a8057".into(),
            status: status.into(),
            scoring: Some(wire::ScoringParams {
                reference: "/clips/ref.mp4".into(),
                distorted: "s3://bucket/a/dis.mp4".into(),
                ..Default::default()
            }),
            created_at: 1_700_000_000,
            ..Default::default()
        }
    }

    #[test]
    fn a_job_that_waits_for_another_attempt_says_why() {
        let now = Timestamp::from_second(1_700_000_065).unwrap();
        let failure = wire::FailedAttempt {
            attempt: 1,
            node: "node-a".into(),
            reason: 24,
            message: "the disk is full".into(),
        };
        let waiting = wire::Job {
            available_at_ms: 1_700_000_070_000,
            last_failure: Some(failure),
            ..job(wire::JobStatus::Pending)
        };
        let text = table(std::slice::from_ref(&waiting), Look::PLAIN, false, now);
        let line = "01890a5d-ac96-774b-bcce-b302099a8057 attempt 1 failed on node-a: the disk is full; next attempt in 5s";
        assert_eq!(text.lines().last(), Some(line));
        assert_eq!(
            document(&waiting).last_failure.map(|failure| failure.reason),
            Some("ScratchFull".to_owned())
        );
    }

    #[test]
    fn a_row_has_the_status_and_the_score_or_progress_of_a_job() {
        let now = Timestamp::from_second(1_700_000_065).unwrap();
        let running = wire::Job {
            progress: Some(wire::Progress { frames_done: 30, frames_total: 120 }),
            ..job(wire::JobStatus::Running)
        };
        let done = wire::Job { final_score: 93.123_456, ..job(wire::JobStatus::Completed) };
        let failed = wire::Job { error: "dis.mp4 is not a video".into(), ..job(wire::JobStatus::Failed) };
        let text = table(&[running, done, failed], Look::PLAIN, false, now);
        let words: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(words[0], "Job Status Score Distorted Age");
        assert_eq!(words[2], "01890a5d-ac96-774b-bcce-b302099a8057 running 25 % dis.mp4 1m5s");
        assert_eq!(words[3], "01890a5d-ac96-774b-bcce-b302099a8057 completed 93.123 dis.mp4 1m5s");
        assert_eq!(words[5], "01890a5d-ac96-774b-bcce-b302099a8057 failed: dis.mp4 is not a video");
    }

    #[test]
    fn programs_get_the_score_to_the_last_bit_and_only_of_a_completed_job() {
        let done = wire::Job { final_score: 93.123_456_789_012_34, ..job(wire::JobStatus::Completed) };
        assert_eq!(document(&done).score.map(f64::to_bits), Some(done.final_score.to_bits()));
        assert_eq!(document(&job(wire::JobStatus::Running)).score, None);
        let json = serde_json::to_value(document(&done)).unwrap();
        assert_eq!(json["createdAt"], "2023-11-14T22:13:20.000Z");
        assert_eq!(json["scoring"]["reference"], "/clips/ref.mp4");
    }

    #[test]
    fn an_empty_list_is_not_an_empty_table() {
        assert_eq!(table(&[], Look::PLAIN, false, Timestamp::UNIX_EPOCH), "no jobs\n");
    }
}
