//! What a tenant has of the nodes that it shares with others, for explanations. It names no other tenant.

use std::collections::BTreeSet;

use vmafx_queue::transition::State;
use vmafx_queue::{Job, TenantId};

use super::Service;
use super::sharing::Pool;
use crate::identity::Identity;
use crate::refusal::Refusal;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PoolShare {
    /// Slots of the shared nodes that fit the job.
    pub(super) slots: u32,
    /// Jobs of the tenant in these slots.
    pub(super) running: u32,
    pub(super) weight: u32,
    /// Weights of the tenants of the pools with pending jobs, this one included.
    pub(super) total_weight: u32,
}

impl PoolShare {
    /// The slots that the tenant gets while all tenants of the pools have pending jobs.
    fn of_slots(self) -> f64 {
        f64::from(self.slots) * f64::from(self.weight) / f64::from(self.total_weight.max(1))
    }

    /// Slots of the shared nodes that are for jobs of other tenants, as long as those have pending jobs.
    pub(super) fn of_others(self) -> u32 {
        let own = u64::from(self.slots) * u64::from(self.weight);
        let own = own.div_ceil(u64::from(self.total_weight.max(1)));
        let own = u32::try_from(own).unwrap_or(u32::MAX).max(self.running);
        self.slots.saturating_sub(own)
    }

    pub(super) fn sentence(self) -> String {
        let Self { slots, running, weight, total_weight } = self;
        format!(
            "{slots} of the slots are shared with other tenants, and {running} of these run jobs of this tenant; its weight is \
             {weight} of {total_weight} among the tenants with waiting jobs, a share of {:.1} slots.",
            self.of_slots(),
        )
    }
}

impl Service {
    /// `None` if no shared node fits the job.
    pub(super) async fn pool_share(&self, who: &Identity, job: &Job) -> Result<Option<PoolShare>, Refusal> {
        if !self.has_pools() || job.state != State::Pending {
            return Ok(None);
        }
        let backend = job.scoring.backend_name();
        let mut nodes = self.0.store.nodes(&who.tenant).await?;
        nodes.retain(|node| node.capability.shared && node.capability.serves(backend));
        if nodes.is_empty() {
            return Ok(None);
        }
        // The name of a shared node begins with its home.
        let homes: BTreeSet<&str> =
            nodes.iter().filter_map(|node| Some(node.name.split_once('/')?.0)).collect();
        let mut rivals = BTreeSet::from([who.tenant.clone()]);
        for home in homes.into_iter().filter_map(|home| TenantId::new(home).ok()) {
            let guests = self.0.sharing.guests(&home).clone();
            rivals.extend(self.0.dispatch.pending_tenants(&Pool { home, guests }));
        }
        let weight = |tenant: &TenantId| self.0.sharing.weight(tenant).get();
        Ok(Some(PoolShare {
            slots: nodes.iter().map(|node| node.capability.slots).sum(),
            running: nodes.iter().map(|node| node.jobs).sum(),
            weight: weight(&who.tenant),
            total_weight: rivals.iter().map(weight).sum(),
        }))
    }
}
