//! Changes of jobs that have not finished.

use super::rows::{self, JobRow};
use super::unit_of_work::UnitOfWork;
use super::usage::JobUsage;
use crate::ids::{JobId, TenantId};
use crate::job::JobUpdate;
use crate::transition::State;
use crate::{StoreError, StoreResult};
use vmafx_job::TenantLimits;

/// A refusal is no error of the operation, which would roll back the whole batch.
pub(super) enum UpdateOutcome {
    NotFound,
    /// The job, and whether this call changed it.
    Found(Box<JobRow>, bool),
    Refused(StoreError),
}

/// Changes a job that has not finished. `spec` is the new scoring request as JSON.
pub(super) fn update(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    id: JobId,
    update: &JobUpdate,
    spec: Option<&str>,
    limits: &TenantLimits,
) -> StoreResult<UpdateOutcome> {
    let Some(mut row) = rows::by_id(tx.connection, tenant, id)? else { return Ok(UpdateOutcome::NotFound) };
    let changed = !row.state.is_final() && change(&mut row, update, spec);
    if changed {
        let growth = JobUsage::of(&row).bytes.saturating_sub(row.usage.bytes);
        if growth > 0
            && let Err(refused) = tx.state.usage.of(tenant).check_growth(growth, limits)
        {
            return Ok(UpdateOutcome::Refused(refused));
        }
        tx.store(&mut row)?;
    }
    Ok(UpdateOutcome::Found(Box::new(row), changed))
}

/// Returns whether anything is different now.
fn change(row: &mut JobRow, update: &JobUpdate, spec: Option<&str>) -> bool {
    let before = (row.priority, row.max_lost_attempts, row.deadline_at);
    row.priority = update.priority.unwrap_or(row.priority);
    row.max_lost_attempts = update.max_lost_attempts.unwrap_or(row.max_lost_attempts);
    row.deadline_at =
        update.deadline.map_or(row.deadline_at, |deadline| deadline.deadline_at(row.created_at));
    let changed = before != (row.priority, row.max_lost_attempts, row.deadline_at);
    let Some(spec) = spec.filter(|spec| row.next_spec.as_ref().unwrap_or(&row.spec) != spec) else {
        return changed;
    };
    // A running attempt keeps its request, so that its score is never recorded with another one.
    if row.state == State::Running {
        row.next_spec = (row.spec != spec).then(|| spec.to_owned());
    } else {
        (row.spec, row.next_spec) = (spec.to_owned(), None);
    }
    true
}
