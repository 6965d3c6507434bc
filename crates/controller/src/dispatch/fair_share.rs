//! Start-time fair queueing between the tenants of a shared pool. Pure: no clock, no store.
//!
//! Each claim of a job is a *turn* of its tenant. A turn starts at a virtual time and ends `1 / weight` later; the tenant
//! whose next turn starts first comes next. The virtual time of the pool is the start of the last turn.
//!
//! | rule                                                      | consequence                                            |
//! |-----------------------------------------------------------|--------------------------------------------------------|
//! | a turn starts at the end of the tenant's last one         | tenants with work get turns in proportion to weight    |
//! | but not before the virtual time                           | a tenant that was idle saves up no turns               |
//! | of equal starts, the tenant comes first that waited longest | a newcomer has the next turn, however long the others' queues are |
//! | a turn is charged when it begins                          | pulls that claim at the same time choose different tenants |
//! | a turn that finds no job is refunded                      | an empty queue costs its tenant nothing                |
//!
//! A tenant whose claim found nothing is idle until it is announced again. An announcement that arrives during the claim
//! counts, because the claim may have missed its job.
//!
//! A choice looks at every tenant of the pool, which are few, and at no job.

use std::collections::BTreeMap;

use tokio::time::Instant;
use vmafx_queue::TenantId;

use crate::service::Weight;

/// Length of a turn of a tenant with weight 1; divisible by the first weights, and far beyond the largest.
const TURN_LENGTH: u128 = 720_720 << 24;

#[derive(Debug, Default)]
pub(super) struct FairShare {
    virtual_time: u128,
    turns: u64,
    tenants: BTreeMap<TenantId, TenantTurns>,
}

#[derive(Debug, Default)]
struct TenantTurns {
    /// When the next turn starts, unless the virtual time is later.
    next_start: u128,
    /// Number of the last turn; 0: there was none.
    last_turn: u64,
    has_work: bool,
    /// When a back-off ends after which there is work.
    due: Option<Instant>,
    announcements: u64,
}

/// A tenant that may claim a job now.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) tenant: TenantId,
    length: u128,
    number: u64,
    previous: u64,
    announcements: u64,
}

impl FairShare {
    /// There may be work of this tenant.
    pub(super) fn announce(&mut self, tenant: &TenantId) {
        let turns = self.turns_of(tenant);
        turns.has_work = true;
        turns.announcements += 1;
    }

    /// There is work of this tenant from `due` on.
    pub(super) fn announce_at(&mut self, tenant: &TenantId, due: Instant) {
        let turns = self.turns_of(tenant);
        turns.due = Some(turns.due.map_or(due, |before| before.min(due)));
    }

    /// Begins a turn of the tenant that comes next among those with work that pass `may_claim`.
    pub(super) fn next_turn(
        &mut self,
        now: Instant,
        weight: impl Fn(&TenantId) -> Weight,
        may_claim: impl Fn(&TenantId) -> bool,
    ) -> Option<Turn> {
        for turns in self.tenants.values_mut().filter(|turns| turns.due.is_some_and(|due| due <= now)) {
            (turns.due, turns.has_work) = (None, true);
        }
        let virtual_time = self.virtual_time;
        let (tenant, _) = self
            .tenants
            .iter()
            .filter(|(tenant, turns)| turns.has_work && may_claim(tenant))
            .min_by_key(|(_, turns)| (turns.next_start.max(virtual_time), turns.last_turn))?;
        let tenant = tenant.clone();
        let weight = weight(&tenant);
        Some(self.turn_of(tenant, weight))
    }

    /// Begins a turn of this tenant, whether or not it comes next.
    pub(super) fn turn_of(&mut self, tenant: TenantId, weight: Weight) -> Turn {
        self.turns += 1;
        let (number, virtual_time) = (self.turns, self.virtual_time);
        let turns = self.turns_of(&tenant);
        let start = turns.next_start.max(virtual_time);
        let length = TURN_LENGTH / u128::from(weight.get());
        let previous = std::mem::replace(&mut turns.last_turn, number);
        turns.next_start = start + length;
        let announcements = turns.announcements;
        self.virtual_time = self.virtual_time.max(start);
        Turn { tenant, length, number, previous, announcements }
    }

    /// The turn found a job: there may be more.
    pub(super) fn claimed(&mut self, turn: &Turn) {
        self.turns_of(&turn.tenant).has_work = true;
    }

    /// The turn found no job, and none that waits for another node.
    pub(super) fn found_nothing(&mut self, turn: &Turn) {
        let turns = self.turns_of(&turn.tenant);
        if turns.announcements == turn.announcements {
            turns.has_work = false;
        }
        self.refund(turn);
    }

    /// The turn claimed nothing.
    pub(super) fn refund(&mut self, turn: &Turn) {
        let turns = self.turns_of(&turn.tenant);
        turns.next_start = turns.next_start.saturating_sub(turn.length);
        if turns.last_turn == turn.number {
            turns.last_turn = turn.previous;
        }
    }

    /// Forgets idle tenants that have no turn ahead of the others: they would start as newcomers do.
    pub(super) fn forget_idle(&mut self) {
        let virtual_time = self.virtual_time;
        self.tenants
            .retain(|_, turns| turns.has_work || turns.due.is_some() || turns.next_start > virtual_time);
    }

    pub(super) fn tenants(&self) -> impl Iterator<Item = &TenantId> {
        self.tenants.keys()
    }

    fn turns_of(&mut self, tenant: &TenantId) -> &mut TenantTurns {
        self.tenants.entry(tenant.clone()).or_default()
    }
}

#[cfg(test)]
mod tests;
