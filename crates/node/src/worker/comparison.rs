//! The job itself, from clips to a score and a report.

use std::io::Write;

use tokio_util::sync::CancellationToken;
use vmafx_scoring::input::{self, Tools};
use vmafx_scoring::report::Report;
use vmafx_scoring::score::plan::{ClipFacts, plan};
use vmafx_scoring::score::{self, Request, ScoreError};

use super::names::Names;
use super::speak::Speaker;
use super::{admit, internal, reason, request, result};
use crate::failure::{Failure, Reason};
use crate::task::{Score, Task};

/// Scores what the task asks for and writes the report.
pub(super) fn score<W: Write + Send>(
    task: &Task,
    tools: &Tools,
    speaker: &Speaker<W>,
) -> Result<Score, Failure> {
    let names = Names::of(task);
    let mut request = request::request(task)?;
    request.threads = admitted_threads(task, &request, tools, &names)?;
    // Nothing cancels it: a worker that is not wanted any more is killed.
    let outcomes = score::run(&request, tools, speaker, &CancellationToken::new())
        .map_err(|error| reason::failure(&error, &names))?;
    let Some(outcome) = outcomes.into_iter().next() else {
        return Err(internal("the comparison has no outcome"));
    };
    let outcome = result::renamed(outcome, task);
    let found = result::score(&outcome)?;
    if let Some(path) = &task.report {
        let report = Report { outcomes: std::slice::from_ref(&outcome), speed: None };
        report.save(path).map_err(|error| Failure::new(Reason::ReportNotWritten, names.message(&error)))?;
    }
    Ok(found)
}

/// How many threads there is memory for.
fn admitted_threads(task: &Task, request: &Request, tools: &Tools, names: &Names) -> Result<u32, Failure> {
    let failed = |error: ScoreError| reason::failure(&error, names);
    let facts = |clip| Ok(ClipFacts::new(clip, &input::probe(clip, tools)?));
    let reference = facts(&request.reference).map_err(failed)?;
    let distorted: Vec<ClipFacts> =
        request.distorted.iter().map(facts).collect::<Result<_, _>>().map_err(failed)?;
    let plan = plan(request, &reference, &distorted).map_err(failed)?;
    let clips = distorted.iter().chain([&reference]).map(|clip| clip.format);
    let compared = plan.groups.iter().map(|group| group.format);
    let mut threads = request.threads;
    for format in clips.chain(compared) {
        threads = admit::threads(format, &request.options.features, threads, task.limits.memory_bytes)?;
    }
    Ok(threads)
}
