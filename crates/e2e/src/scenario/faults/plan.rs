//! Which Pods get which fault. The choice is random but determined by a seed, so a run can be repeated. Pure.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Operator,
    Controller,
    Node,
}

impl Role {
    const ALL: [Self; 3] = [Self::Operator, Self::Controller, Self::Node];

    /// Value of the label `app.kubernetes.io/component` of its Pods.
    pub(super) const fn component(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Controller => "controller",
            Self::Node => "node",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FaultKind {
    /// Delete with the normal grace period.
    Delete,
    /// `--grace-period=0 --force`: its replacement may start before the Pod has stopped.
    ForceDelete,
    /// Kill the process; the kubelet restarts it in the same Pod.
    Kill,
}

impl FaultKind {
    const ALL: [Self; 3] = [Self::Delete, Self::ForceDelete, Self::Kill];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) role: Role,
    pub(super) kind: FaultKind,
    /// Index of the Pod, modulo the number of live Pods of the role.
    pub(super) which: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FaultKind::Delete => "deleted",
            FaultKind::ForceDelete => "deleted by force",
            FaultKind::Kill => "killed",
        };
        write!(f, "{} {kind}", self.role.component())
    }
}

/// Rounds of one or two faults. Every role gets every kind of fault once before the choice is purely random.
pub(super) fn fault_plan(seed: u64, rounds: usize) -> Vec<Vec<Fault>> {
    let mut rng = SplitMix64(seed);
    let all = Role::ALL.iter().flat_map(|role| FaultKind::ALL.map(|kind| (*role, kind)));
    let mut due = rng.shuffled(all.collect());
    let mut fault = || {
        let any = (Role::ALL[rng.below(3)], FaultKind::ALL[rng.below(3)]);
        let (role, kind) = due.pop().unwrap_or(any);
        Fault { role, kind, which: rng.below(1 << 16) }
    };
    (0..rounds).map(|round| (0..=round % 2).map(|_| fault()).collect()).collect()
}

/// A fault of the run over all faults, on the release with Postgres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disturbance {
    Pod(Fault),
    /// No controller runs for a while.
    ControllersAway,
    /// One controller cannot reach Postgres.
    ControllerCut {
        which: usize,
    },
    /// One worker cannot reach the controllers.
    WorkerCut {
        which: usize,
    },
    /// The object store answers 503.
    StoreErrors,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(fault) => fault.fmt(f),
            Self::ControllersAway => f.write_str("all controllers away"),
            Self::ControllerCut { .. } => f.write_str("controller cut off from Postgres"),
            Self::WorkerCut { .. } => f.write_str("worker cut off from the controllers"),
            Self::StoreErrors => f.write_str("object store answers 503"),
        }
    }
}

/// Every fault of a Pod once, and every other fault twice, in random order.
pub(super) fn disturbance_plan(seed: u64) -> Vec<Disturbance> {
    let pods = fault_plan(seed, 6).into_iter().flatten().map(Disturbance::Pod);
    let mut rng = SplitMix64(seed);
    let mut due: Vec<_> = pods.collect();
    for _ in 0..2 {
        due.extend([
            Disturbance::ControllersAway,
            Disturbance::ControllerCut { which: rng.below(1 << 16) },
            Disturbance::WorkerCut { which: rng.below(1 << 16) },
            Disturbance::StoreErrors,
        ]);
    }
    rng.shuffled(due)
}

/// The `SplitMix64` generator: the same numbers on every machine.
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    pub(super) fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        let mut shuffled = Vec::new();
        while !all.is_empty() {
            shuffled.push(all.swap_remove(self.below(all.len())));
        }
        shuffled
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(mixed % bound).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_faults() {
        assert_eq!(fault_plan(7, 20), fault_plan(7, 20));
        assert_ne!(fault_plan(7, 20), fault_plan(8, 20));
    }

    #[test]
    fn every_role_gets_every_kind_of_fault() {
        for seed in 0..100 {
            let rounds = fault_plan(seed, 6);
            assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1, 2, 1, 2]);
            let mut chosen: Vec<_> =
                rounds.into_iter().flatten().map(|fault| (fault.role, fault.kind)).collect();
            chosen.sort_unstable();
            chosen.dedup();
            assert_eq!(chosen.len(), 9, "seed {seed}");
        }
    }

    #[test]
    fn every_disturbance_is_planned() {
        let plan = disturbance_plan(5);
        assert_eq!(plan, disturbance_plan(5));
        assert_ne!(plan, disturbance_plan(6));
        let mut names: Vec<_> = plan.iter().map(ToString::to_string).collect();
        names.sort();
        names.dedup();
        assert_eq!((plan.len(), names.len()), (17, 13));
    }

    #[test]
    fn every_pod_can_be_chosen() {
        let mut which: Vec<_> =
            fault_plan(3, 60).into_iter().flatten().map(|fault| fault.which % 3).collect();
        which.sort_unstable();
        which.dedup();
        assert_eq!(which, [0, 1, 2]);
    }
}
