//! Random stories, told to a store and to a model at once: every answer must be the same, and at the end everything
//! that can be seen.
//!
//! `PROPTEST_CASES` sets how many stories are told. One that fails is shortened, printed, and kept by its seed in
//! `tests/model/regressions`, from where it is told first the next time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

#[path = "support/support.rs"]
#[allow(dead_code, reason = "the conformance suite uses the other part of it")]
mod support;

mod model {
    pub(crate) mod answer;
    pub(crate) mod op;
    pub(crate) mod player;
}

use std::collections::BTreeSet;

use model::answer::EVERYTHING;
use model::op::{Op, story};
use model::player::play;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};
use rstest::rstest;
use support::sabotage::Broken;
use support::stores::Kind;

/// Tells so many stories, unless the environment says otherwise.
fn tell(kind: Kind, cases: u32, regressions: Option<&'static str>) -> Result<(), TestError<Vec<Op>>> {
    let usual = Config::default();
    let config = Config {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { usual.cases } else { cases },
        failure_persistence: regressions.map(|path| Box::new(FileFailurePersistence::Direct(path)) as Box<_>),
        max_shrink_iters: if regressions.is_some() { 4000 } else { 0 },
        ..usual
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    TestRunner::new(config)
        .run(&story(), |story| runtime.block_on(play(kind, &story)).map(drop).map_err(TestCaseError::fail))
}

fn must_agree(kind: Kind, cases: u32, regressions: &'static str) {
    if let Err(error) = tell(kind, cases, Some(regressions)) {
        panic!("{error}");
    }
}

macro_rules! regressions {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/model/regressions/", $name)
    };
}

/// The stories are good for nothing if they never get to the answers that matter.
#[test]
fn stories_reach_every_answer() {
    let mut runner = TestRunner::deterministic();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut said = BTreeSet::new();
    for _ in 0..400 {
        let told = story().new_tree(&mut runner).unwrap().current();
        said.extend(runtime.block_on(play(Kind::Reference, &told)).unwrap());
    }
    assert_eq!(said, BTreeSet::from(EVERYTHING));
}

#[test]
fn reference_agrees_with_itself() {
    must_agree(Kind::Reference, 100, regressions!("reference.txt"));
}

#[test]
fn sqlite_agrees_with_the_model() {
    must_agree(Kind::Sqlite, 80, regressions!("sqlite.txt"));
}

#[test]
fn postgres_agrees_with_the_model() {
    must_agree(Kind::Postgres, 20, regressions!("postgres.txt"));
}

#[rstest]
fn a_broken_rule_is_noticed(
    #[values(
        Broken::Fencing,
        Broken::Attempts,
        Broken::ClaimOrder,
        Broken::Forgiveness,
        Broken::Idempotency,
        Broken::LostLimit,
        Broken::Release,
        Broken::Leases
    )]
    broken: Broken,
) {
    assert!(tell(Kind::Sabotaged(broken), 1000, None).is_err());
}
