//! Ending jobs from outside.

use super::attempts;
use super::rows::{self, Row};
use super::unit::Unit;
use crate::StoreError;
use crate::ids::{JobId, TenantId};
use crate::outcome::AttemptOutcome;
use crate::policy::Policy;
use crate::transition::{Event, State};
use vmafx_job::CancelCause;

/// Ends a job that is not over; the job afterwards, and whether this call ended it.
pub(super) fn cancel(
    unit: &mut Unit<'_>,
    tenant: &TenantId,
    id: JobId,
    (cause, reason): (CancelCause, &str),
) -> Result<Option<(Row, bool)>, StoreError> {
    let Some(mut row) = rows::by_id(unit.connection, tenant, id)? else { return Ok(None) };
    if row.leads(Event::Cancel).is_none() {
        return Ok(Some((row, false)));
    }
    let text = Policy::cancel_text(reason);
    if row.state == State::Running {
        attempts::end(unit.connection, &row, AttemptOutcome::Cancelled, &text, unit.now)?;
        unit.live.end_lease(id);
    }
    row.cancel(cause, &text, unit.now);
    unit.store(&mut row)?;
    Ok(Some((row, true)))
}
