//! The job itself, from clips to a score and a report.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, FailureReason, ScoreResult};
use vmafx_scoring::input::{self, ReadActivity, Tools};
use vmafx_scoring::report::ScoringReport;
use vmafx_scoring::score::plan::{ClipProperties, plan};
use vmafx_scoring::score::{self, Request, ScoreError};

use super::message_writer::MessageWriter;
use super::path_redactor::PathRedactor;
use super::{admission, classify, internal, request, result};
use crate::task::{Task, WorkerMessage};

/// Interval between two reports of what was read; far below every sensible stall timeout.
const ACTIVITY_INTERVAL: Duration = Duration::from_millis(200);

pub(super) fn score<W: Write + Send>(
    task: &Task,
    tools: &Tools,
    writer: &MessageWriter<W>,
) -> Result<ScoreResult, Failure> {
    let redactor = PathRedactor::of(task);
    let mut request = request::request(task);
    request.threads = admitted_threads(task, &request, tools, &redactor)?;
    // The token is never cancelled: a worker whose job is cancelled is killed.
    let outcomes = reporting_activity(&request.activity, writer, || {
        score::run(&request, tools, writer, &CancellationToken::new())
    })?
    .map_err(|error| classify::scoring_failure(&error, &redactor))?;
    let Some(outcome) = outcomes.into_iter().next() else {
        return Err(internal("the comparison has no outcome"));
    };
    let outcome = result::with_public_names(outcome, task);
    let scored = result::score_result(&outcome)?;
    if let Some(path) = &task.report {
        let report = ScoringReport { outcomes: std::slice::from_ref(&outcome), speed: None };
        report
            .save(path)
            .map_err(|error| Failure::new(FailureReason::ReportNotWritten, redactor.message(&error)))?;
    }
    Ok(scored)
}

/// Runs `work`, and reports meanwhile what was read, from another thread because `work` may block.
fn reporting_activity<T, W: Write + Send>(
    activity: &ReadActivity,
    writer: &MessageWriter<W>,
    work: impl FnOnce() -> T,
) -> Result<T, Failure> {
    let (finished, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let report = move || {
            let mut last = (0, 0);
            while wait.recv_timeout(ACTIVITY_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let now = (activity.frames(), activity.bytes());
                if now != last {
                    writer.send(&WorkerMessage::Activity { frames: now.0, bytes: now.1 });
                    last = now;
                }
            }
        };
        let started = thread::Builder::new().name("activity".to_owned()).spawn_scoped(scope, report);
        started.map_err(|error| internal(format!("cannot start a thread: {error}")))?;
        let result = work();
        drop(finished);
        Ok(result)
    })
}

/// How many of the task's threads fit into its memory.
fn admitted_threads(
    task: &Task,
    request: &Request,
    tools: &Tools,
    redactor: &PathRedactor,
) -> Result<u32, Failure> {
    let failed = |error: ScoreError| classify::scoring_failure(&error, redactor);
    let facts = |clip| Ok(ClipProperties::new(clip, &input::probe(clip, tools)?));
    let reference = facts(&request.reference).map_err(failed)?;
    let distorted: Vec<ClipProperties> =
        request.distorted.iter().map(facts).collect::<Result<_, _>>().map_err(failed)?;
    let plan = plan(request, &reference, &distorted).map_err(failed)?;
    let clips = distorted.iter().chain([&reference]).map(|clip| clip.format);
    let compared = plan.groups.iter().map(|group| group.format);
    let mut threads = request.threads;
    for format in clips.chain(compared) {
        threads = admission::threads(format, &task.options.features, threads, task.limits.memory_bytes)?;
    }
    Ok(threads)
}
