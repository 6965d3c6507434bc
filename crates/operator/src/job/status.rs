//! What the status of a job says, from the resource and the controller's word. Pure: one mapping for all that can be.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::{JobCondition, Reason};
use vmafx_api::job::{ModelUsed, Phase, Scores};
use vmafx_api::{Condition, ConditionStatus, VmafxJob, VmafxJobStatus};
use vmafx_proto::controller::v1::{FailureReason, Job, JobStatus, PooledScores};

use super::plan::{Remote, Why, was_held_back};
use crate::conditions::{Statement, whole_second};
use crate::events::Happening;

/// The five statements about a job.
struct Said {
    accepted: Statement,
    running: Statement,
    complete: Statement,
    failed: Statement,
}

/// The status of a job. `waiting` is why it waits, if the controller was asked.
pub fn status(job: &VmafxJob, remote: &Remote, waiting: Option<&Why>, now: Timestamp) -> VmafxJobStatus {
    let before = job.status.clone().unwrap_or_default();
    let said = said(job, &before, remote, waiting);
    let suspended = suspended(job, remote);
    let generation = job.metadata.generation;
    let phase = phase(&said);
    let message = first_words(&said, &suspended);
    let all = [
        (JobCondition::Accepted, said.accepted),
        (JobCondition::Running, said.running),
        (JobCondition::Complete, said.complete),
        (JobCondition::Failed, said.failed),
        (JobCondition::Suspended, suspended),
    ];
    let conditions = all
        .into_iter()
        .map(|(type_, one)| settled(one, type_, &before.conditions, generation, now))
        .collect();
    let status = VmafxJobStatus {
        phase: Some(phase),
        message: Some(message).filter(|text| !text.is_empty()),
        observed_generation: generation,
        conditions,
        ..before
    };
    match remote {
        Remote::Job(live) => with(status, job, live, phase),
        _ if is_over(&status) => VmafxJobStatus { finished_at: Some(Time(whole_second(now))), ..status },
        _ => status,
    }
}

/// What the controller's job adds.
fn with(status: VmafxJobStatus, job: &VmafxJob, live: &Job, phase: Phase) -> VmafxJobStatus {
    let details = live.result.as_ref();
    let score = (phase == Phase::Succeeded).then_some(live.final_score);
    VmafxJobStatus {
        controller_job_id: Some(live.id.clone()),
        assigned_node: Some(live.assigned_node.clone()).filter(|name| !name.is_empty()),
        attempts: i32::try_from(live.attempt).ok(),
        started_at: instant(live.started_at_ms),
        finished_at: instant(live.finished_at_ms).filter(|_| phase != Phase::Pending),
        score,
        passed: score.and_then(|score| job.spec.min_score.map(|least| score >= least)),
        frames: details.and_then(|details| i64::try_from(details.frames).ok()),
        model: details.filter(|details| !details.model.is_empty()).map(|details| ModelUsed {
            name: details.model.clone(),
            digest: Some(details.model_digest.clone()).filter(|digest| !digest.is_empty()),
        }),
        scores: details.and_then(|details| details.scores.as_ref()).map(scores),
        report_uri: details.map(|details| details.report_uri.clone()).filter(|uri| !uri.is_empty()),
        ..status
    }
}

fn said(job: &VmafxJob, before: &VmafxJobStatus, remote: &Remote, waiting: Option<&Why>) -> Said {
    let accepted = Statement::yes(Reason::Submitted, "the controller has the job");
    let no = |reason, message: &str| Statement::no(reason, message);
    let open = |accepted: Statement, running: Statement| Said {
        complete: no(Reason::Unfinished, ""),
        failed: no(Reason::Unfinished, ""),
        accepted,
        running,
    };
    let failed = |accepted: Statement, why: Reason, message: &str| Said {
        accepted,
        running: no(Reason::Finished, ""),
        complete: no(why, ""),
        failed: Statement::yes(why, message),
    };
    let held = job.spec.suspend && !job.spec.cancel;
    match remote {
        Remote::Job(live) => match live.status() {
            JobStatus::Completed => Said {
                accepted,
                running: no(Reason::Finished, ""),
                complete: completed(job, live),
                failed: no(Reason::Scored, ""),
            },
            JobStatus::Failed => failed(accepted, failure(live), &live.error),
            JobStatus::Cancelled if was_held_back(live) && !job.spec.cancel => {
                open(no(Reason::Suspended, "the job is held back"), no(Reason::Suspended, ""))
            }
            JobStatus::Cancelled => failed(accepted, Reason::Cancelled, &live.error),
            JobStatus::Running => {
                let node = if live.assigned_node.is_empty() { "a node" } else { &live.assigned_node };
                open(accepted, Statement::yes(Reason::Scoring, format!("{node} scores it")))
            }
            JobStatus::Pending => open(accepted, waits(before, waiting)),
        },
        Remote::Missing if job.spec.cancel => failed(
            no(Reason::Cancelled, ""),
            Reason::Cancelled,
            "it was given up before the controller had it",
        ),
        Remote::Refused(why) => failed(no(why.reason, &why.message), why.reason, &why.message),
        // What was known of it is still the best that is known.
        Remote::Unreachable(why) if before.controller_job_id.is_some() => {
            let accepted = Statement { status: ConditionStatus::True, ..no(why.reason, &why.message) };
            open(accepted, kept(before, JobCondition::Running).unwrap_or_else(|| no(why.reason, "")))
        }
        Remote::Unreachable(why) => open(no(why.reason, &why.message), no(why.reason, "")),
        _ if held => open(no(Reason::Suspended, "the job is held back"), no(Reason::Suspended, "")),
        Remote::Missing => {
            let message = "the controller does not know the job any more; it is submitted again";
            open(no(Reason::Forgotten, message), no(Reason::Forgotten, ""))
        }
        Remote::NotAsked => open(no(Reason::Reconciling, ""), no(Reason::Reconciling, "")),
    }
}

/// Why it waits: as the controller explained it, or as it was said before.
fn waits(before: &VmafxJobStatus, waiting: Option<&Why>) -> Statement {
    const WAITS: &[Reason] = &[Reason::WaitingForSlot, Reason::NoMatchingNode, Reason::BackingOff];
    match waiting {
        Some(why) => Statement::no(why.reason, why.message.clone()),
        None => kept(before, JobCondition::Running)
            .filter(|kept| kept.status == ConditionStatus::False && WAITS.contains(&kept.reason))
            .unwrap_or_else(|| Statement::no(Reason::WaitingForSlot, "it waits for a node")),
    }
}

/// A statement as it was made before.
fn kept(before: &VmafxJobStatus, type_: JobCondition) -> Option<Statement> {
    let condition = before.conditions.iter().find(|one| one.type_ == type_.as_str())?;
    let reason = *Reason::ALL.iter().find(|reason| reason.as_str() == condition.reason)?;
    Some(Statement { status: condition.status, reason, message: condition.message.clone() })
}

fn completed(job: &VmafxJob, live: &Job) -> Statement {
    let score = live.final_score;
    match job.spec.min_score {
        Some(least) if score < least => {
            Statement::yes(Reason::BelowMinScore, format!("the score is {score:.3}, less than {least}"))
        }
        _ => Statement::yes(Reason::Scored, format!("the score is {score:.3}")),
    }
}

fn suspended(job: &VmafxJob, remote: &Remote) -> Statement {
    let open = match remote {
        Remote::Job(live) => match live.status() {
            JobStatus::Pending | JobStatus::Running => true,
            JobStatus::Cancelled => !was_held_back(live),
            JobStatus::Completed | JobStatus::Failed => return Statement::no(Reason::Finished, ""),
        },
        _ => false,
    };
    match (job.spec.suspend, open) {
        (true, false) => Statement::yes(Reason::Suspended, "set spec.suspend to false to go on"),
        (true, true) => Statement::no(Reason::Draining, "it is being taken out of the queue"),
        (false, _) => Statement::no(Reason::NotSuspended, ""),
    }
}

/// Whether a status is a last word.
pub fn is_over(status: &VmafxJobStatus) -> bool {
    matches!(status.phase, Some(Phase::Succeeded | Phase::Failed | Phase::Cancelled))
}

/// What happened between two statuses that people should hear of. What goes well is said by the status alone: an event
/// for each step of each job would be as many writes again.
pub fn happenings(before: Option<&VmafxJobStatus>, after: &VmafxJobStatus) -> Vec<Happening> {
    let holds = |status: Option<&VmafxJobStatus>, type_: JobCondition| {
        let condition = status?.conditions.iter().find(|one| one.type_ == type_.as_str())?;
        Some(condition.status == ConditionStatus::True)
    };
    let mut all = Vec::new();
    if let Some(failed) = kept(after, JobCondition::Failed).filter(|one| one.status == ConditionStatus::True)
    {
        all.push(match failed.reason {
            Reason::Cancelled => Happening::normal(failed.reason, failed.message),
            reason => Happening::warning(reason, failed.message),
        });
    }
    match (holds(before, JobCondition::Suspended), holds(Some(after), JobCondition::Suspended)) {
        (Some(true), Some(false)) => all.push(Happening::normal(Reason::Resumed, "the job goes on")),
        (Some(false) | None, Some(true)) => {
            all.push(Happening::normal(Reason::Suspended, "the job is held back"));
        }
        _ => {
            let id = |status: Option<&VmafxJobStatus>| status?.controller_job_id.clone();
            if let (Some(old), Some(new)) = (id(before), id(Some(after)))
                && old != new
            {
                let note = format!(
                    "the controller does not know job {old} any more; it was submitted again as {new}"
                );
                all.push(Happening::warning(Reason::Forgotten, note));
            }
        }
    }
    all
}

/// Derived from the conditions, never the other way round.
fn phase(said: &Said) -> Phase {
    let holds = |statement: &Statement| statement.status == ConditionStatus::True;
    if holds(&said.complete) {
        Phase::Succeeded
    } else if holds(&said.failed) && said.failed.reason == Reason::Cancelled {
        Phase::Cancelled
    } else if holds(&said.failed) {
        Phase::Failed
    } else if holds(&said.running) {
        Phase::Running
    } else {
        Phase::Pending
    }
}

/// What people want to read first.
fn first_words(said: &Said, suspended: &Statement) -> String {
    let holds = |statement: &&Statement| statement.status == ConditionStatus::True;
    let last = [&said.complete, &said.failed].into_iter().find(holds);
    let words = match last {
        Some(last) => last,
        None if suspended.status == ConditionStatus::True => suspended,
        None if said.accepted.reason == Reason::Submitted => &said.running,
        None => &said.accepted,
    };
    words.message.clone()
}

/// The condition; with the words that it has while its reason stays, since numbers of a waiting job move by themselves
/// and are not worth a write.
fn settled(
    statement: Statement,
    type_: JobCondition,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let kept = before.iter().find(|one| {
        one.type_ == type_.as_str()
            && one.status == statement.status
            && one.reason == statement.reason.as_str()
    });
    let waits = statement.status == ConditionStatus::False && type_ == JobCondition::Running;
    let statement = match kept {
        Some(kept) if waits => Statement { message: kept.message.clone(), ..statement },
        _ => statement,
    };
    statement.condition(type_.as_str(), before, generation, now)
}

fn failure(live: &Job) -> Reason {
    match live.failure_reason() {
        FailureReason::InputDenied => Reason::InputRefused,
        FailureReason::InputNotFound | FailureReason::SourceUnreachable => Reason::InputUnavailable,
        FailureReason::NodeLost => Reason::AttemptsExhausted,
        FailureReason::DeadlineExceeded => Reason::DeadlineExceeded,
        _ => Reason::ScoringFailed,
    }
}

fn instant(milliseconds: i64) -> Option<Time> {
    let time = Timestamp::from_millisecond(milliseconds).ok().filter(|_| milliseconds != 0)?;
    Some(Time(whole_second(time)))
}

fn scores(pooled: &PooledScores) -> Scores {
    Scores {
        mean: Some(pooled.mean),
        harmonic_mean: Some(pooled.harmonic_mean),
        min: Some(pooled.min),
        max: Some(pooled.max),
        stddev: Some(pooled.stddev),
        p1: Some(pooled.p1),
        p5: Some(pooled.p5),
        p10: Some(pooled.p10),
        p50: Some(pooled.p50),
    }
}

#[cfg(test)]
mod tests;
