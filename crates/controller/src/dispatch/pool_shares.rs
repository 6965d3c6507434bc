//! The fair shares of all shared pools, and the tenants that have work. Nothing here waits.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use tokio::time::Instant;
use vmafx_queue::TenantId;

use super::fair_share::{FairShare, Turn};
use super::wait_queue::fits;
use crate::service::{Pool, Sharing};

/// Pools beyond this number are forgotten, the longest unused first; their tenants all start as newcomers then.
const MAX_CLASSES: usize = 256;

/// The slots of a pool that serve the same backends.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct PoolClass {
    pub(super) pool: Arc<Pool>,
    pub(super) backends: Arc<[String]>,
}

#[derive(Default)]
pub(super) struct PoolShares {
    classes: HashMap<PoolClass, ClassShare>,
    /// Tenants with jobs that are not finished, and whether any is pending.
    unfinished: BTreeMap<TenantId, bool>,
    /// Tenants for which a claim failed because they run as many jobs as they may.
    at_limit: HashSet<TenantId>,
    uses: u64,
}

struct ClassShare {
    share: FairShare,
    last_use: u64,
}

impl PoolShares {
    /// There may be work of a tenant for this backend (empty: any).
    pub(super) fn announce(&mut self, tenant: &TenantId, backend: &str) {
        self.unfinished.insert(tenant.clone(), true);
        for share in self.classes_of(tenant, backend) {
            share.announce(tenant);
        }
    }

    pub(super) fn announce_at(&mut self, tenant: &TenantId, backend: &str, due: Instant) {
        for share in self.classes_of(tenant, backend) {
            share.announce_at(tenant, due);
        }
    }

    pub(super) fn reached_limit(&mut self, tenant: TenantId) {
        self.at_limit.insert(tenant);
    }

    /// A job of this tenant ended; `true` if claims waited for that.
    pub(super) fn freed(&mut self, tenant: &TenantId) -> bool {
        let waited = self.at_limit.remove(tenant);
        if waited {
            self.announce(tenant, "");
        }
        waited
    }

    /// Takes over the tenants with unfinished jobs from the store.
    pub(super) fn refresh(&mut self, unfinished: BTreeMap<TenantId, bool>) {
        self.unfinished = unfinished;
        self.at_limit.clear();
        let pending = self.unfinished.iter().filter(|(_, pending)| **pending);
        let pending: Vec<&TenantId> = pending.map(|(tenant, _)| tenant).collect();
        for (class, of_class) in &mut self.classes {
            for tenant in pending.iter().filter(|tenant| class.pool.serves(tenant)) {
                of_class.share.announce(tenant);
            }
            of_class.share.forget_idle();
        }
    }

    /// Begins the turn of the tenant of the pool that comes next and was not `tried`.
    pub(super) fn next_turn(
        &mut self,
        class: &PoolClass,
        tried: &BTreeSet<TenantId>,
        sharing: &dyn Sharing,
    ) -> Option<Turn> {
        let share = self.share_of(class);
        share.next_turn(Instant::now(), |tenant| sharing.weight(tenant), |tenant| !tried.contains(tenant))
    }

    /// The share of a class. That of a new class knows the tenants with pending jobs.
    pub(super) fn share_of(&mut self, class: &PoolClass) -> &mut FairShare {
        self.uses += 1;
        let uses = self.uses;
        if !self.classes.contains_key(class) && self.classes.len() >= MAX_CLASSES {
            let oldest = self.classes.iter().min_by_key(|(_, share)| share.last_use);
            if let Some(oldest) = oldest.map(|(class, _)| class.clone()) {
                self.classes.remove(&oldest);
            }
        }
        let unfinished = &self.unfinished;
        let of_class = self.classes.entry(class.clone()).or_insert_with(|| {
            let mut share = FairShare::default();
            pending_of(unfinished, &class.pool).for_each(|tenant| share.announce(tenant));
            ClassShare { share, last_use: uses }
        });
        of_class.last_use = uses;
        &mut of_class.share
    }

    pub(super) fn pending(&self, pool: &Pool) -> Vec<TenantId> {
        pending_of(&self.unfinished, pool).cloned().collect()
    }

    /// The tenants of a pool that may have a running job.
    pub(super) fn unfinished(&self, pool: &Pool) -> BTreeSet<TenantId> {
        let with_turns = self.classes.iter().filter(|(class, _)| *class.pool == *pool);
        let with_turns = with_turns.flat_map(|(_, of_class)| of_class.share.tenants());
        self.unfinished.keys().chain(with_turns).filter(|tenant| pool.serves(tenant)).cloned().collect()
    }

    fn classes_of<'a>(
        &'a mut self,
        tenant: &'a TenantId,
        backend: &'a str,
    ) -> impl Iterator<Item = &'a mut FairShare> {
        let of_tenant = |class: &PoolClass| class.pool.serves(tenant) && fits(&class.backends, backend);
        self.classes
            .iter_mut()
            .filter(move |(class, _)| of_tenant(class))
            .map(|(_, of_class)| &mut of_class.share)
    }
}

fn pending_of<'a>(
    unfinished: &'a BTreeMap<TenantId, bool>,
    pool: &Pool,
) -> impl Iterator<Item = &'a TenantId> {
    unfinished.iter().filter(|(tenant, pending)| **pending && pool.serves(tenant)).map(|(tenant, _)| tenant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pools::SharingArgs;
    use crate::service::TenantSet;

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name).unwrap()
    }

    fn class(home: &str, guests: &[&str], backends: &[&str]) -> PoolClass {
        let guests = TenantSet::Only(guests.iter().map(|name| tenant(name)).collect());
        let backends = backends.iter().map(|&backend| backend.to_owned()).collect();
        PoolClass { pool: Arc::new(Pool { home: tenant(home), guests }), backends }
    }

    /// The tenants that get a turn, each once.
    fn turns(shares: &mut PoolShares, class: &PoolClass) -> Vec<String> {
        let (sharing, mut tried, mut turns) = (SharingArgs::default(), BTreeSet::new(), Vec::new());
        while let Some(turn) = shares.next_turn(class, &tried, &sharing) {
            turns.push(turn.tenant.to_string());
            tried.insert(turn.tenant);
        }
        turns
    }

    #[test]
    fn only_tenants_of_the_pool_with_work_for_its_backends_get_turns() {
        let (cpu, cuda) = (class("pool", &["a", "b"], &["cpu"]), class("pool", &["a"], &["cuda"]));
        let mut shares = PoolShares::default();
        assert_eq!((turns(&mut shares, &cpu), turns(&mut shares, &cuda)), (vec![], vec![]));
        for (name, backend) in [("a", "cuda"), ("b", ""), ("c", ""), ("pool", "cpu")] {
            shares.announce(&tenant(name), backend);
        }
        assert_eq!(turns(&mut shares, &cpu), ["b", "pool"]);
        assert_eq!(turns(&mut shares, &cuda), ["a"]);
        assert_eq!(shares.unfinished(&cuda.pool), [tenant("a"), tenant("pool")].into());
    }

    #[test]
    fn a_new_class_knows_the_tenants_with_pending_jobs() {
        let mut shares = PoolShares::default();
        shares.refresh([(tenant("a"), true), (tenant("b"), false)].into());
        let class = class("pool", &["a", "b"], &["cpu"]);
        assert_eq!(turns(&mut shares, &class), ["a"]);
        assert_eq!(shares.pending(&class.pool), [tenant("a")]);
        assert_eq!(shares.unfinished(&class.pool), [tenant("a"), tenant("b")].into());
    }

    #[test]
    fn the_number_of_classes_is_limited() {
        let mut shares = PoolShares::default();
        for number in 0..2 * MAX_CLASSES {
            shares.share_of(&class(&number.to_string(), &["a"], &["cpu"]));
        }
        assert_eq!(shares.classes.len(), MAX_CLASSES);
        assert!(shares.classes.contains_key(&class(&(2 * MAX_CLASSES - 1).to_string(), &["a"], &["cpu"])));
    }
}
