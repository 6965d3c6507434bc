use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn tenant(number: usize) -> TenantId {
    TenantId::new(&format!("t{number:03}")).unwrap()
}

/// Slots that run jobs of different length, and tenants with pending jobs.
struct Simulation {
    share: FairShare,
    weights: Vec<u32>,
    pending: Vec<u32>,
    started: Vec<u32>,
    /// How often the claim of each tenant found nothing.
    vain: u32,
    now: Instant,
}

impl Simulation {
    fn new(weights: &[u32], pending: &[u32]) -> Self {
        let mut share = FairShare::default();
        for (number, _) in pending.iter().enumerate().filter(|(_, jobs)| **jobs > 0) {
            share.announce(&tenant(number));
        }
        let (weights, pending) = (weights.to_vec(), pending.to_vec());
        Self { share, started: vec![0; weights.len()], weights, pending, vain: 0, now: Instant::now() }
    }

    fn submit(&mut self, number: usize, jobs: u32) {
        self.pending[number] += jobs;
        self.share.announce(&tenant(number));
    }

    /// The turns of `slots` pulls that claim at the same time, in the order in which their claims end.
    fn pull_at_once(&mut self, slots: usize) -> Vec<usize> {
        let mut turns = Vec::new();
        for _ in 0..slots {
            let weights = &self.weights;
            let weight = |of: &TenantId| Weight::new(weights[number(of)]).unwrap();
            turns.extend(self.share.next_turn(self.now, weight, |_| true));
        }
        let mut started = Vec::new();
        // The claims end in another order than they began in.
        for turn in turns.into_iter().rev() {
            let number = number(&turn.tenant);
            if self.pending[number] == 0 {
                self.vain += 1;
                self.share.found_nothing(&turn);
                continue;
            }
            self.pending[number] -= 1;
            self.started[number] += 1;
            self.share.claimed(&turn);
            started.push(number);
        }
        started
    }
}

fn number(tenant: &TenantId) -> usize {
    tenant.as_str()[1..].parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tenants_with_work_get_turns_in_proportion_to_their_weights(
        weights in prop::collection::vec(1_u32..=8, 2..=6),
        slots in 1_usize..=32,
    ) {
        let mut simulation = Simulation::new(&weights, &vec![100_000; weights.len()]);
        let mut total = 0;
        while total < 5000 {
            total += simulation.pull_at_once(slots).len();
        }
        let sum: u32 = weights.iter().sum();
        for (weight, started) in weights.iter().zip(&simulation.started) {
            let expected = f64::from(*weight) / f64::from(sum);
            let share = f64::from(*started) / f64::from(simulation.started.iter().sum::<u32>());
            prop_assert!((share / expected - 1.0).abs() < 0.05, "{share} instead of {expected}: {:?}", simulation.started);
        }
    }

    #[test]
    fn the_first_job_of_a_newcomer_takes_the_next_turn(
        weights in prop::collection::vec(1_u32..=8, 2..=6),
        // Before the first turn, every tenant is a newcomer.
        before in 1_usize..500,
        slots in 1_usize..=8,
    ) {
        let newcomer = weights.len() - 1;
        let mut pending = vec![100_000; weights.len()];
        pending[newcomer] = 0;
        let mut simulation = Simulation::new(&weights, &pending);
        for _ in 0..before {
            simulation.pull_at_once(slots);
        }
        simulation.submit(newcomer, 1);
        prop_assert_eq!(simulation.pull_at_once(1), [newcomer]);
    }

    #[test]
    fn no_turn_is_lost_while_a_tenant_has_work(
        weights in prop::collection::vec(1_u32..=8, 1..=5),
        jobs in prop::collection::vec(0_u32..40, 5),
        slots in 1_usize..=8,
    ) {
        let jobs = &jobs[..weights.len()];
        let mut simulation = Simulation::new(&weights, jobs);
        // A tenant that turns out to be idle costs each pull that chose it one claim, and later pulls none.
        for _ in 0..jobs.iter().sum::<u32>() + u32::try_from(weights.len()).unwrap() {
            simulation.pull_at_once(slots);
        }
        prop_assert_eq!(&simulation.started, jobs);
        prop_assert!(simulation.vain as usize <= slots * weights.len());
    }
}

#[test]
fn an_idle_tenant_saves_up_no_turns() {
    let mut simulation = Simulation::new(&[1, 1], &[1000, 0]);
    for _ in 0..500 {
        simulation.pull_at_once(1);
    }
    simulation.submit(1, 1000);
    let next: Vec<usize> = (0..10).flat_map(|_| simulation.pull_at_once(1)).collect();
    assert_eq!(next.iter().filter(|number| **number == 1).count(), 5, "{next:?}");
}

#[test]
fn a_tenant_that_pauses_for_a_moment_is_no_newcomer() {
    let mut simulation = Simulation::new(&[1, 1], &[1000, 1]);
    let mut started = BTreeMap::<usize, u32>::new();
    // The second tenant submits its next job when the last one has started.
    for _ in 0..100 {
        for number in simulation.pull_at_once(1) {
            *started.entry(number).or_default() += 1;
            if number == 1 {
                simulation.submit(1, 1);
            }
        }
        simulation.share.forget_idle();
    }
    assert_eq!(started, BTreeMap::from([(0, 50), (1, 50)]));
}

#[test]
fn work_that_is_announced_during_a_claim_is_not_forgotten() {
    let mut simulation = Simulation::new(&[1], &[0]);
    simulation.share.announce(&tenant(0));
    let weight = |_: &TenantId| Weight::DEFAULT;
    let turn = simulation.share.next_turn(simulation.now, weight, |_| true).unwrap();
    simulation.share.announce(&tenant(0));
    simulation.share.found_nothing(&turn);
    assert!(simulation.share.next_turn(simulation.now, weight, |_| true).is_some());
}

#[test]
fn a_tenant_has_work_when_its_back_off_ends() {
    let mut share = FairShare::default();
    let (now, weight) = (Instant::now(), |_: &TenantId| Weight::DEFAULT);
    share.announce_at(&tenant(0), now + Duration::from_secs(5));
    share.forget_idle();
    assert!(share.next_turn(now, weight, |_| true).is_none());
    assert_eq!(share.next_turn(now + Duration::from_secs(5), weight, |_| true).unwrap().tenant, tenant(0));
}

#[test]
fn idle_tenants_are_forgotten() {
    let mut simulation = Simulation::new(&[1, 1], &[5, 5]);
    for _ in 0..12 {
        simulation.pull_at_once(1);
    }
    simulation.submit(1, 2);
    simulation.pull_at_once(1);
    simulation.pull_at_once(1);
    simulation.share.forget_idle();
    assert_eq!(simulation.share.tenants().map(number).collect::<Vec<_>>(), [1]);
}
