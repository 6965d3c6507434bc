//! Labels and samples.

use rusqlite::params;

use super::attempts;
use super::exact::ExactFloat;
use super::rows::{self, JobRow};
use super::unit_of_work::UnitOfWork;
use crate::StoreResult;
use crate::ids::TenantId;
use crate::job::{Label, Labeller};
use crate::store::{LabelTarget, Labelled};
use crate::transition::State;

/// Stores a label; a completed job becomes a sample at once.
pub(super) fn label(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    target: &LabelTarget,
    label: Label,
    by: &Labeller,
) -> StoreResult<Labelled> {
    let found = match target {
        LabelTarget::Id(id) => rows::by_id(tx.connection, tenant, *id)?,
        LabelTarget::Key { key, submitter } => match rows::by_key(tx.connection, tenant, key, submitter)?[..]
        {
            [] => None,
            [(number, true), ..] | [(number, false)] => Some(rows::by_number(tx.connection, number)?),
            _ => return Ok(Labelled::Ambiguous),
        },
    };
    let Some(mut row) = found else { return Ok(Labelled::NotFound) };
    if matches!(row.state, State::Failed | State::Cancelled) {
        return Ok(Labelled::Over);
    }
    row.label = Some(label.value());
    by.as_str().clone_into(&mut row.labelled_by);
    tx.store(&mut row)?;
    Ok(Labelled::Stored { id: row.id, sampled: sample(tx, &row)? })
}

/// Adds a sample if the job is completed and has a label. Returns whether it did.
pub(super) fn sample(tx: &mut UnitOfWork<'_>, row: &JobRow) -> StoreResult<bool> {
    let (Some(label), Some(result)) = (row.label, &row.result) else { return Ok(false) };
    let labels = attempts::labels(tx.connection, row.number, row.attempt)?;
    let seq = tx.next_sample();
    tx.connection
        .prepare_cached(
            "INSERT INTO samples (seq, tenant, job, features, label, node_labels, created_at, labelled_by) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            seq,
            row.tenant.as_str(),
            row.id.0.as_bytes(),
            result.features,
            ExactFloat(label),
            labels,
            tx.now.0,
            row.labelled_by
        ])?;
    tx.state.pending.sampled(&row.tenant);
    Ok(true)
}
