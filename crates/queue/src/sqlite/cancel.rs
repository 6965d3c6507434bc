//! Cancellation.

use super::attempts;
use super::rows::{self, JobRow};
use super::unit_of_work::UnitOfWork;
use crate::StoreResult;
use crate::ids::{JobId, TenantId};
use crate::outcome::AttemptOutcome;
use crate::policy::Policy;
use crate::transition::{JobEvent, State};
use vmafx_job::CancelCause;

/// Cancels a job that has not finished. Returns the job and whether this call cancelled it.
pub(super) fn cancel(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    id: JobId,
    (cause, reason): (CancelCause, &str),
) -> StoreResult<Option<(JobRow, bool)>> {
    let Some(mut row) = rows::by_id(tx.connection, tenant, id)? else { return Ok(None) };
    if row.next_state(JobEvent::Cancel).is_none() {
        return Ok(Some((row, false)));
    }
    let text = Policy::cancel_text(reason);
    if row.state == State::Running {
        attempts::end(tx.connection, &row, AttemptOutcome::Cancelled, &text, tx.now)?;
        tx.live.end_lease(id);
    }
    row.cancel(cause, &text, tx.now);
    tx.store(&mut row)?;
    Ok(Some((row, true)))
}
