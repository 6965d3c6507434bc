//! The turns of the tenants of a pool, while a pull looks for a job.

use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard, PoisonError};

use vmafx_queue::TenantId;
use vmafx_queue::clock::Timestamp;

use super::Dispatch;
use super::fair_share::Turn;
use super::pool_shares::{PoolClass, PoolShares};
use crate::service::Pool;

/// One look of a pull at the tenants of its pool: at each once.
pub(crate) struct PoolRound {
    dispatch: Dispatch,
    class: PoolClass,
    tried: BTreeSet<TenantId>,
}

impl PoolRound {
    pub(super) fn new(dispatch: Dispatch, pool: Arc<Pool>, backends: Arc<[String]>) -> Self {
        Self { dispatch, class: PoolClass { pool, backends }, tried: BTreeSet::new() }
    }

    /// The tenant that comes next among those that may have work.
    pub(crate) fn next_turn(&mut self) -> Option<PoolTurn> {
        let turn = self.dispatch.shares().next_turn(&self.class, &self.tried, &*self.dispatch.0.sharing)?;
        Some(self.begun(turn))
    }

    /// The turn of this tenant, unless it had one in this round.
    pub(crate) fn turn_of(&mut self, tenant: &TenantId) -> Option<PoolTurn> {
        if self.tried.contains(tenant) {
            return None;
        }
        let weight = self.dispatch.0.sharing.weight(tenant);
        let turn = self.dispatch.shares().share_of(&self.class).turn_of(tenant.clone(), weight);
        Some(self.begun(turn))
    }

    fn begun(&mut self, turn: Turn) -> PoolTurn {
        self.tried.insert(turn.tenant.clone());
        PoolTurn { dispatch: self.dispatch.clone(), class: self.class.clone(), turn: Some(turn) }
    }
}

/// The turn of a tenant. It is refunded when it is dropped before its claim has ended.
pub(crate) struct PoolTurn {
    dispatch: Dispatch,
    class: PoolClass,
    turn: Option<Turn>,
}

impl PoolTurn {
    pub(crate) fn claimed(mut self) {
        self.end(|shares, class, turn| shares.share_of(class).claimed(turn));
    }

    /// The tenant runs as many jobs as it may. It has no work until one of them ends, or until `recheck`.
    pub(crate) fn reached_limit(self, recheck: Option<Timestamp>) {
        if let Some(tenant) = self.tenant().cloned() {
            self.dispatch.shares().reached_limit(tenant);
        }
        self.found_nothing(recheck);
    }

    /// `next` is when the back-off ends of a job that the pull can serve.
    pub(crate) fn found_nothing(mut self, next: Option<Timestamp>) {
        let due = next.map(|at| self.dispatch.due(at));
        self.end(|shares, class, turn| {
            let share = shares.share_of(class);
            share.found_nothing(turn);
            if let Some(due) = due {
                share.announce_at(&turn.tenant, due);
            }
        });
    }

    fn end(&mut self, end: impl FnOnce(&mut PoolShares, &PoolClass, &Turn)) {
        if let Some(turn) = self.turn.take() {
            end(&mut self.dispatch.shares(), &self.class, &turn);
        }
    }

    /// `None` only while the turn is dropped.
    pub(crate) fn tenant(&self) -> Option<&TenantId> {
        self.turn.as_ref().map(|turn| &turn.tenant)
    }
}

impl Drop for PoolTurn {
    fn drop(&mut self) {
        self.end(|shares, class, turn| shares.share_of(class).refund(turn));
    }
}

impl Dispatch {
    /// A poisoned lock is taken: no operation panics halfway through a change of the shares.
    pub(super) fn shares(&self) -> MutexGuard<'_, PoolShares> {
        self.0.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
