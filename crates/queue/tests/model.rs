//! Runs random operations on a store and on the reference implementation: every answer must be the same, and at the
//! end everything that can be read.
//!
//! `PROPTEST_CASES` sets the number of cases. A failing case is shrunk, printed, and stored by its seed in
//! `tests/model/regressions`; the next run starts with the stored seeds.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

#[path = "support/support.rs"]
#[allow(dead_code, reason = "the conformance suite uses the other part of it")]
mod support;

mod model {
    pub(crate) mod answer;
    pub(crate) mod op;
    pub(crate) mod runner;
}

use std::collections::BTreeSet;

use model::answer::ALL_LABELS;
use model::op::{Op, operations};
use model::runner::run;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};
use rstest::rstest;
use support::sabotage::Broken;
use support::stores::StoreKind;

/// Runs `cases` cases, unless `PROPTEST_CASES` is set.
fn run_cases(
    kind: StoreKind,
    cases: u32,
    regressions: Option<&'static str>,
) -> Result<(), TestError<Vec<Op>>> {
    let usual = Config::default();
    let config = Config {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { usual.cases } else { cases },
        failure_persistence: regressions.map(|path| Box::new(FileFailurePersistence::Direct(path)) as Box<_>),
        max_shrink_iters: if regressions.is_some() { 4000 } else { 0 },
        ..usual
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    TestRunner::new(config).run(&operations(), |operations| {
        runtime.block_on(run(kind, &operations)).map(drop).map_err(TestCaseError::fail)
    })
}

fn must_agree(kind: StoreKind, cases: u32, regressions: &'static str) {
    if let Err(error) = run_cases(kind, cases, Some(regressions)) {
        panic!("{error}");
    }
}

macro_rules! regressions {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/model/regressions/", $name)
    };
}

/// The test is worthless if the random operations never reach the answers that matter.
#[test]
fn operations_reach_every_answer() {
    let mut runner = TestRunner::deterministic();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut labels = BTreeSet::new();
    for _ in 0..1200 {
        let sequence = operations().new_tree(&mut runner).unwrap().current();
        labels.extend(runtime.block_on(run(StoreKind::Reference, &sequence)).unwrap());
    }
    assert_eq!(labels, BTreeSet::from(ALL_LABELS));
}

#[test]
fn reference_agrees_with_itself() {
    must_agree(StoreKind::Reference, 100, regressions!("reference.txt"));
}

#[test]
fn sqlite_agrees_with_the_model() {
    must_agree(StoreKind::Sqlite, 80, regressions!("sqlite.txt"));
}

#[test]
fn postgres_agrees_with_the_model() {
    must_agree(StoreKind::Postgres, 20, regressions!("postgres.txt"));
}

#[rstest]
fn a_broken_rule_is_noticed(
    #[values(
        Broken::Fencing,
        Broken::Attempts,
        Broken::ClaimOrder,
        Broken::SweepGap,
        Broken::Idempotency,
        Broken::KeyDigest,
        Broken::LostLimit,
        Broken::Retries,
        Broken::Avoidance,
        Broken::Quarantine,
        Broken::Release,
        Broken::Leases,
        Broken::Limits,
        Broken::Slots,
        Broken::Updates
    )]
    broken: Broken,
) {
    assert!(run_cases(StoreKind::Sabotaged(broken), 1000, None).is_err());
}
