//! Who is struck, and how. Chance decides, but by a number, so that a run can be repeated.

use std::fmt;

/// Whose Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Operator,
    Controller,
    Node,
}

impl Role {
    const ALL: [Self; 3] = [Self::Operator, Self::Controller, Self::Node];

    /// The label of its Pods.
    pub(super) const fn component(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Controller => "controller",
            Self::Node => "node",
        }
    }
}

/// What is done to a Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// Deleted, with the time it needs to leave in order.
    Asked,
    /// Deleted at once: `--grace-period=0 --force`. Another may be there before it is gone.
    Forced,
    /// Its process is killed; the same Pod starts it again.
    Crashed,
}

impl Way {
    const ALL: [Self; 3] = [Self::Asked, Self::Forced, Self::Crashed];
}

/// One Pod is struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blow {
    pub(super) role: Role,
    pub(super) way: Way,
    /// Which of those that are there: this one, modulo their number.
    pub(super) which: usize,
}

impl fmt::Display for Blow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.way {
            Way::Asked => "deleted",
            Way::Forced => "deleted by force",
            Way::Crashed => "killed",
        };
        write!(f, "{} {way}", self.role.component())
    }
}

/// Rounds of one or two blows. Every way strikes every role once before anything is left to chance alone.
pub(super) fn blows(seed: u64, rounds: usize) -> Vec<Vec<Blow>> {
    let mut dice = Dice(seed);
    let mut all: Vec<_> = Role::ALL.iter().flat_map(|role| Way::ALL.map(|way| (*role, way))).collect();
    let mut due = Vec::new();
    while !all.is_empty() {
        due.push(all.swap_remove(dice.below(all.len())));
    }
    let mut blow = || {
        let any = (Role::ALL[dice.below(3)], Way::ALL[dice.below(3)]);
        let (role, way) = due.pop().unwrap_or(any);
        Blow { role, way, which: dice.below(1 << 16) }
    };
    (0..rounds).map(|round| (0..=round % 2).map(|_| blow()).collect()).collect()
}

/// A small generator of numbers (`SplitMix64`): good enough to choose Pods, and the same everywhere.
struct Dice(u64);

impl Dice {
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
    fn the_same_number_strikes_the_same_pods() {
        assert_eq!(blows(7, 20), blows(7, 20));
        assert_ne!(blows(7, 20), blows(8, 20));
    }

    #[test]
    fn every_role_is_struck_in_every_way() {
        for seed in 0..100 {
            let rounds = blows(seed, 6);
            assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1, 2, 1, 2]);
            let mut struck: Vec<_> = rounds.into_iter().flatten().map(|blow| (blow.role, blow.way)).collect();
            struck.sort_unstable();
            struck.dedup();
            assert_eq!(struck.len(), 9, "seed {seed}");
        }
    }

    #[test]
    fn every_pod_may_be_the_one() {
        let mut which: Vec<_> = blows(3, 60).into_iter().flatten().map(|blow| blow.which % 3).collect();
        which.sort_unstable();
        which.dedup();
        assert_eq!(which, [0, 1, 2]);
    }
}
