//! What viewers said, and the samples that come of it.

use rusqlite::params;

use super::attempts;
use super::exact::Exact;
use super::rows::{self, Row};
use super::unit::Unit;
use crate::StoreError;
use crate::ids::TenantId;
use crate::job::Label;
use crate::store::{LabelTarget, Labelled};
use crate::transition::State;

/// Stores a label; a completed job becomes a sample at once.
pub(super) fn label(
    unit: &mut Unit<'_>,
    tenant: &TenantId,
    target: &LabelTarget,
    label: Label,
) -> Result<Labelled, StoreError> {
    let found = match target {
        LabelTarget::Id(id) => rows::by_id(unit.connection, tenant, *id)?,
        LabelTarget::Key(key) => rows::by_key(unit.connection, tenant, key)?,
    };
    let Some(mut row) = found else { return Ok(Labelled::NotFound) };
    if matches!(row.state, State::Failed | State::Cancelled) {
        return Ok(Labelled::Over);
    }
    row.label = Some(label.value());
    unit.store(&mut row)?;
    Ok(Labelled::Stored { id: row.id, sampled: sample(unit, &row)? })
}

/// Makes a sample of a job that is completed and has a label; whether it did.
pub(super) fn sample(unit: &mut Unit<'_>, row: &Row) -> Result<bool, StoreError> {
    let (Some(label), Some(result)) = (row.label, &row.result) else { return Ok(false) };
    let labels = attempts::labels(unit.connection, row.number, row.attempt)?;
    let seq = unit.next_sample();
    unit.connection
        .prepare_cached(
            "INSERT INTO samples (seq, tenant, job, features, label, node_labels, created_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            seq,
            row.tenant.as_str(),
            row.id.0.as_bytes(),
            result.features,
            Exact(label),
            labels,
            unit.now.0
        ])?;
    unit.book.news.sampled(&row.tenant);
    Ok(true)
}
