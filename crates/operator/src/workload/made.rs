//! What came of making a StatefulSet, and what is beside it, as they should be.

use std::sync::Arc;
use std::time::Duration;

use vmafx_api::ConditionStatus;
use vmafx_api::workload::StatefulSetRef;
use vmafx_kit::causes::chain;

use super::children::Ensured;
use super::facts::Facts;
use super::resource::Tracks;
use super::sync::Synced;
use crate::conditions::Statement;
use crate::error::Retry;
use crate::events::Happening;
use crate::runtime::Failure;

/// The workload part of one pass.
#[derive(Debug)]
pub struct Made {
    /// What the status is to record.
    pub tracked: Option<StatefulSetRef>,
    /// For the condition `WorkloadSynced`.
    pub synced: Statement,
    /// The StatefulSet as it is, if there is one.
    pub live: Option<Arc<Facts>>,
    /// For an event.
    pub happening: Option<Happening>,
    /// When to look again, if nothing happens before.
    pub again: Duration,
    /// What the pass ends with, when everything else is done.
    pub failure: Option<Failure>,
}

impl Made {
    /// The first thing that is not as it should be is what people are told; the StatefulSet comes first.
    pub fn of(synced: Synced, beside: impl IntoIterator<Item = Ensured>) -> Self {
        let problem = beside.into_iter().find_map(|ensured| match ensured {
            Ensured::Not(statement) => Some(statement),
            Ensured::AsWanted | Ensured::Left => None,
        });
        let statement = match problem {
            Some(problem) if synced.statement.status == ConditionStatus::True => problem,
            _ => synced.statement,
        };
        Self {
            tracked: synced.tracked,
            synced: statement,
            live: synced.live,
            happening: synced.happening,
            again: synced.again,
            failure: None,
        }
    }

    /// What went wrong is said by the status too, unless it is over by the next try. `live` is what is known.
    pub fn failed(
        failure: Failure,
        resource: &impl Tracks,
        live: Option<Arc<Facts>>,
        again: Duration,
    ) -> Result<Self, Failure> {
        if failure.retry == Retry::Soon {
            return Err(failure);
        }
        Ok(Self {
            tracked: resource.tracked().cloned(),
            synced: Statement::no(failure.reason, chain(failure.source.as_ref())),
            live,
            happening: None,
            again,
            failure: Some(failure),
        })
    }
}
