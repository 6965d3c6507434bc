//! Invariants that hold whatever happens: the real code against a simulated API server, with interference by others, lost
//! requests and status writes, crashes, and stale caches.

mod server;
mod simulation;

use proptest::prelude::*;
use rstest::rstest;
use vmafx_operator::workload::WorkloadDecision;

use self::server::{Fault, Interference};
use self::simulation::{PassFaults, Simulation};

/// Passes until nothing is written any more, once the interference has ended: wait, replace, create, record.
const MAX_PASSES: usize = 5;

#[derive(Clone, Copy, Debug)]
enum Action {
    Pass(PassFaults),
    Watch,
    Restart,
    Interfere(Interference),
    Desire { replicas: i32, ordered: bool },
    Adopts(bool),
}

fn interference() -> impl Strategy<Value = Interference> {
    prop_oneof![
        3 => Just(Interference::Delete),
        2 => any::<bool>().prop_map(Interference::Create),
        2 => Just(Interference::ApplyDump),
        1 => Just(Interference::StripOwner),
        1 => Just(Interference::TakeOver),
        1 => Just(Interference::GiveUp),
        1 => Just(Interference::Scale),
        1 => Just(Interference::AddFinalizer),
        1 => Just(Interference::RemoveFinalizer),
    ]
}

fn pass_faults() -> impl Strategy<Value = PassFaults> {
    let fault = prop_oneof![
        4 => Just(Fault::None),
        1 => (1_usize..7).prop_map(Fault::Refused),
        1 => (1_usize..7).prop_map(Fault::Unanswered),
    ];
    let meanwhile = proptest::option::weighted(0.2, (1_usize..7, interference()));
    (fault, meanwhile, proptest::bool::weighted(0.2), proptest::bool::weighted(0.1)).prop_map(
        |(fault, meanwhile, status_lost, crash)| PassFaults { fault, meanwhile, status_lost, crash },
    )
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let one = prop_oneof![
        8 => pass_faults().prop_map(Action::Pass),
        3 => Just(Action::Watch),
        1 => Just(Action::Restart),
        4 => interference().prop_map(Action::Interfere),
        1 => (0..3, any::<bool>()).prop_map(|(replicas, ordered)| Action::Desire { replicas, ordered }),
        1 => any::<bool>().prop_map(Action::Adopts),
    ];
    proptest::collection::vec(one, 0..25)
}

async fn play(actions: Vec<Action>) -> Result<(), TestCaseError> {
    let mut simulation = Simulation::new();
    for one in actions {
        match one {
            Action::Pass(faults) => drop(simulation.pass(faults).await),
            Action::Watch => simulation.watch(),
            Action::Restart => simulation.restart(),
            Action::Interfere(by) => simulation.server.state().interfere(by),
            Action::Desire { replicas, ordered } => {
                simulation.server.state().interfered = true;
                simulation.desired.replicas = replicas;
                simulation.desired.policy = if ordered { "OrderedReady" } else { "Parallel" };
            }
            Action::Adopts(adopts) => {
                let mut state = simulation.server.state();
                (state.adopts, state.interfered) = (adopts, true);
            }
        }
        prop_assert!(
            simulation.server.state().violations.is_empty(),
            "{:?}",
            simulation.server.state().violations
        );
    }
    settles(simulation).await
}

/// Checks that the workload settles once the interference has ended.
async fn settles(mut simulation: Simulation) -> Result<(), TestCaseError> {
    simulation.server.state().interfere(Interference::RemoveFinalizer);
    for _ in 0..MAX_PASSES {
        simulation.watch();
        let _ = simulation.pass(PassFaults::NONE).await;
    }
    for _ in 0..2 {
        simulation.watch();
        let pass = simulation
            .pass(PassFaults::NONE)
            .await
            .map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        let state = simulation.server.state();
        prop_assert_eq!(state.writes, 0, "{:?} at rest", pass.decision());
        prop_assert!(state.violations.is_empty(), "{:?}", state.violations);
        match &pass.decision() {
            WorkloadDecision::Keep { uid } => {
                let object = state.object.as_ref().unwrap();
                prop_assert_eq!(&object["metadata"]["uid"], uid);
                prop_assert_eq!(&object["spec"]["replicas"], simulation.desired.replicas);
                prop_assert_eq!(state.tracked.as_ref(), Some(uid));
                prop_assert_eq!(state.requests, 0, "not even a read");
            }
            WorkloadDecision::Refuse(_) => prop_assert!(!pass.status.synced.message.is_empty()),
            other => return Err(TestCaseError::fail(format!("{other:?} does not settle"))),
        }
    }
    Ok(())
}

#[test]
fn whatever_happens_it_comes_to_rest_and_nobody_elses_is_touched() {
    let config = ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(actions in actions())| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play(actions))?;
    });
}

/// Every interference just before every request of a pass that would otherwise succeed: no object of another owner is
/// touched, and the workload settles.
#[rstest]
#[case::ours_is_kept(&[])]
#[case::ours_is_gone(&[Interference::Delete])]
#[case::an_unowned_impostor(&[Interference::Delete, Interference::Create(true)])]
#[case::a_namesake_of_another_kind(&[Interference::Delete, Interference::Create(false)])]
#[case::a_dump_of_ours(&[Interference::Delete, Interference::ApplyDump])]
#[case::handed_over(&[Interference::StripOwner])]
#[case::taken_by_another(&[Interference::TakeOver])]
#[case::being_deleted(&[Interference::AddFinalizer, Interference::Delete])]
#[tokio::test]
async fn interference_between_read_and_write_does_no_harm(
    #[case] before: &[Interference],
    #[values(false, true)] drift: bool,
    #[values(false, true)] stale: bool,
) {
    for by in Interference::ALL {
        for request in 1..=6 {
            let mut simulation = Simulation::new();
            simulation.pass(PassFaults::NONE).await.unwrap();
            simulation.watch();
            for by in before {
                simulation.server.state().interfere(*by);
            }
            if !stale {
                simulation.watch();
            }
            simulation.desired.replicas = 2;
            if drift {
                simulation.desired.policy = "OrderedReady";
            }
            drop(simulation.pass(PassFaults { meanwhile: Some((request, by)), ..PassFaults::NONE }).await);
            let violations = std::mem::take(&mut simulation.server.state().violations);
            assert!(violations.is_empty(), "{by:?} before request {request}: {violations:?}");
            if let Err(failure) = settles(simulation).await {
                panic!("{by:?} before request {request}: {failure}");
            }
        }
    }
}
