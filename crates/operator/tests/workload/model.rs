//! What holds whatever happens: the real code against a model of the API server, with somebody else at work in it,
//! requests and status writes lost, crashes, and a cache that is old.

mod server;
mod world;

use proptest::prelude::*;
use rstest::rstest;
use vmafx_operator::workload::Decision;

use self::server::{Deed, Fault};
use self::world::{Fate, World};

/// Passes that it may take to come to rest once everybody else does: wait, replace, create, record.
const STEPS: usize = 5;

#[derive(Clone, Copy, Debug)]
enum Move {
    Pass(Fate),
    Watch,
    Restart,
    Other(Deed),
    Want { replicas: i32, ordered: bool },
    Adopts(bool),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        3 => Just(Deed::Delete),
        2 => any::<bool>().prop_map(Deed::Create),
        2 => Just(Deed::ApplyDump),
        1 => Just(Deed::StripOwner),
        1 => Just(Deed::Take),
        1 => Just(Deed::LetGo),
        1 => Just(Deed::Scale),
        1 => Just(Deed::Hold),
        1 => Just(Deed::LetEnd),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    let fault = prop_oneof![
        4 => Just(Fault::None),
        1 => (1_usize..7).prop_map(Fault::Refused),
        1 => (1_usize..7).prop_map(Fault::Unanswered),
    ];
    let meanwhile = proptest::option::weighted(0.2, (1_usize..7, deed()));
    (fault, meanwhile, proptest::bool::weighted(0.2), proptest::bool::weighted(0.1))
        .prop_map(|(fault, meanwhile, status_lost, crash)| Fate { fault, meanwhile, status_lost, crash })
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        8 => fate().prop_map(Move::Pass),
        3 => Just(Move::Watch),
        1 => Just(Move::Restart),
        4 => deed().prop_map(Move::Other),
        1 => (0..3, any::<bool>()).prop_map(|(replicas, ordered)| Move::Want { replicas, ordered }),
        1 => any::<bool>().prop_map(Move::Adopts),
    ];
    proptest::collection::vec(one, 0..25)
}

async fn play(moves: Vec<Move>) -> Result<(), TestCaseError> {
    let mut world = World::new();
    for one in moves {
        match one {
            Move::Pass(fate) => drop(world.pass(fate).await),
            Move::Watch => world.watch(),
            Move::Restart => world.restart(),
            Move::Other(deed) => world.server.state().deed(deed),
            Move::Want { replicas, ordered } => {
                world.server.state().stirred = true;
                world.wanted.replicas = replicas;
                world.wanted.policy = if ordered { "OrderedReady" } else { "Parallel" };
            }
            Move::Adopts(adopts) => {
                let mut state = world.server.state();
                (state.adopts, state.stirred) = (adopts, true);
            }
        }
        prop_assert!(world.server.state().violations.is_empty(), "{:?}", world.server.state().violations);
    }
    rests(world).await
}

/// Nobody else does anything any more.
async fn rests(mut world: World) -> Result<(), TestCaseError> {
    world.server.state().deed(Deed::LetEnd);
    for _ in 0..STEPS {
        world.watch();
        let _ = world.pass(Fate::GOOD).await;
    }
    for _ in 0..2 {
        world.watch();
        let synced =
            world.pass(Fate::GOOD).await.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        let state = world.server.state();
        prop_assert_eq!(state.writes, 0, "{:?} at rest", synced.decision);
        prop_assert!(state.violations.is_empty(), "{:?}", state.violations);
        match &synced.decision {
            Decision::Keep { uid } => {
                let object = state.object.as_ref().unwrap();
                prop_assert_eq!(&object["metadata"]["uid"], uid);
                prop_assert_eq!(&object["spec"]["replicas"], world.wanted.replicas);
                prop_assert_eq!(state.tracked.as_ref(), Some(uid));
                prop_assert_eq!(state.requests, 0, "not even a read");
            }
            Decision::Refuse(_) => prop_assert!(!synced.statement.message.is_empty()),
            other => return Err(TestCaseError::fail(format!("{other:?} is no rest"))),
        }
    }
    Ok(())
}

#[test]
fn whatever_happens_it_comes_to_rest_and_nobody_elses_is_touched() {
    let config = ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(moves in moves())| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play(moves))?;
    });
}

/// Every deed just before every request of a pass that would otherwise go through: nobody else's is touched, and it
/// comes to rest all the same.
#[rstest]
#[case::ours_is_kept(&[])]
#[case::ours_is_gone(&[Deed::Delete])]
#[case::an_unowned_impostor(&[Deed::Delete, Deed::Create(true)])]
#[case::a_namesake_of_another_kind(&[Deed::Delete, Deed::Create(false)])]
#[case::a_dump_of_ours(&[Deed::Delete, Deed::ApplyDump])]
#[case::handed_over(&[Deed::StripOwner])]
#[case::taken_by_another(&[Deed::Take])]
#[case::on_its_way_out(&[Deed::Hold, Deed::Delete])]
#[tokio::test]
async fn whatever_somebody_does_between_our_read_and_our_write(
    #[case] before: &[Deed],
    #[values(false, true)] drift: bool,
    #[values(false, true)] old: bool,
) {
    for deed in Deed::ALL {
        for request in 1..=6 {
            let mut world = World::new();
            world.pass(Fate::GOOD).await.unwrap();
            world.watch();
            for deed in before {
                world.server.state().deed(*deed);
            }
            if !old {
                world.watch();
            }
            world.wanted.replicas = 2;
            if drift {
                world.wanted.policy = "OrderedReady";
            }
            drop(world.pass(Fate { meanwhile: Some((request, deed)), ..Fate::GOOD }).await);
            let violations = std::mem::take(&mut world.server.state().violations);
            assert!(violations.is_empty(), "{deed:?} before request {request}: {violations:?}");
            if let Err(failure) = rests(world).await {
                panic!("{deed:?} before request {request}: {failure}");
            }
        }
    }
}
