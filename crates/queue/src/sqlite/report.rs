//! Ends of attempts, as their nodes tell them.

use super::live::Seal;
use super::rows::{self, Row, StoredResult};
use super::unit::Unit;
use super::{attempts, label};
use crate::StoreError;
use crate::fence::{Held, Verdict, judge};
use crate::ids::{AttemptNumber, JobId, SessionId, TenantId};
use crate::outcome::AttemptOutcome;
use crate::store::Released;
use crate::transition::Event;
use vmafx_job::FailureReason;

/// A report whose score is ready to be stored.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) job: JobId,
    pub(super) attempt: Option<AttemptNumber>,
    pub(super) result: Result<StoredResult, (FailureReason, String)>,
}

/// What came of it; the job is made readable by whoever hears it.
pub(super) enum Heard {
    NoSession,
    Fenced,
    Repeated,
    Moved { row: Box<Row>, sampled: bool },
}

/// Ends the attempt that the session holds.
pub(super) fn report(
    unit: &mut Unit<'_>,
    tenant: &TenantId,
    seal: &Seal,
    told: &Told,
) -> Result<Heard, StoreError> {
    if unit.live.session(tenant, seal).is_none() {
        return Ok(Heard::NoSession);
    }
    let Some(row) = rows::by_id(unit.connection, tenant, told.job)? else { return Ok(Heard::Fenced) };
    let Some(attempt) = spoken_of(unit, &row, seal.session, told.attempt)? else { return Ok(Heard::Fenced) };
    match verdict(unit, &row, seal.session, attempt)? {
        Verdict::Fenced => Ok(Heard::Fenced),
        Verdict::Repeat => Ok(Heard::Repeated),
        Verdict::Accept => accept(unit, row, told),
    }
}

fn accept(unit: &mut Unit<'_>, mut row: Row, told: &Told) -> Result<Heard, StoreError> {
    let event = if told.result.is_ok() { Event::Complete } else { Event::Fail };
    if row.leads(event).is_none() {
        return Ok(Heard::Fenced);
    }
    match &told.result {
        Ok(result) => {
            attempts::end(unit.connection, &row, AttemptOutcome::Completed, "", unit.now)?;
            row.complete(result.clone(), unit.now);
        }
        Err((reason, error)) => {
            attempts::end(unit.connection, &row, AttemptOutcome::Failed, error, unit.now)?;
            row.fail(*reason, error, unit.now);
        }
    }
    unit.live.end_lease(row.id);
    unit.store(&mut row)?;
    let sampled = label::sample(unit, &row)?;
    Ok(Heard::Moved { row: Box::new(row), sampled })
}

/// Gives an attempt back: the job waits again at once.
pub(super) fn release(
    unit: &mut Unit<'_>,
    tenant: &TenantId,
    seal: &Seal,
    job: JobId,
    attempt: AttemptNumber,
    reason: &str,
) -> Result<Released, StoreError> {
    if unit.live.session(tenant, seal).is_none() {
        return Ok(Released::NoSession);
    }
    let Some(mut row) = rows::by_id(unit.connection, tenant, job)? else { return Ok(Released::Over) };
    let verdict = verdict(unit, &row, seal.session, attempt)?;
    if verdict != Verdict::Accept || row.leads(Event::Release).is_none() {
        return Ok(Released::Over);
    }
    attempts::end(unit.connection, &row, AttemptOutcome::Released, reason, unit.now)?;
    unit.live.end_lease(job);
    row.wait(None);
    unit.store(&mut row)?;
    Ok(Released::Moved)
}

/// The attempt that is meant: the one named, or the last one of this session.
fn spoken_of(
    unit: &Unit<'_>,
    row: &Row,
    session: SessionId,
    named: Option<AttemptNumber>,
) -> Result<Option<AttemptNumber>, StoreError> {
    if named.is_some() || row.holder() == Some(session) {
        return Ok(named.or(Some(row.attempt)));
    }
    Ok(attempts::last_of(unit.connection, row.number, session)?)
}

fn verdict(
    unit: &Unit<'_>,
    row: &Row,
    session: SessionId,
    attempt: AttemptNumber,
) -> Result<Verdict, StoreError> {
    let mut held = Held { state: row.state, attempt: row.attempt, session: row.holder(), spoken_of: None };
    // Most are about the attempt that runs, and need no look at what was before.
    if judge(&held, session, attempt) == Verdict::Accept {
        return Ok(Verdict::Accept);
    }
    held.spoken_of = attempts::owner(unit.connection, row.number, attempt)?;
    Ok(judge(&held, session, attempt))
}
