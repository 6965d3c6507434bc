//! Machines without Landlock or seccomp.

use std::path::PathBuf;

use rstest::rstest;
use vmafx_job::{Confinement, FailureReason};
use vmafx_node::confine::ConfinementPolicy;
use vmafx_node::launch::Launcher;
use vmafx_testkit::old_kernel::{MissingCall, program_without};

use crate::fixture::{Fixture, failure_of, node, run, run_with};

pub(crate) fn node_without(fixture: &Fixture, call: MissingCall) -> PathBuf {
    program_without(call, &node(), fixture.path("").as_path()).unwrap()
}

#[rstest]
#[case::landlock(MissingCall::Landlock, "landlock is not in force")]
#[case::seccomp(MissingCall::Seccomp, "seccomp is not in force")]
#[tokio::test]
async fn nothing_is_scored_where_a_required_measure_is_missing(
    #[case] missing: MissingCall,
    #[case] message: &str,
) {
    let fixture = Fixture::new();
    let launcher = Launcher::new(node_without(&fixture, missing));
    let failure = failure_of(&fixture, run_with(&launcher, &fixture.golden_task()).await);
    assert_eq!(failure.reason, FailureReason::NodeUnconfined, "{failure}");
    assert!(failure.message.contains(message), "{failure}");
    assert!(failure.message.contains("VMAFX_CONFINEMENT=best-effort"), "{failure}");
}

#[rstest]
#[case::landlock(MissingCall::Landlock, 0, true)]
#[case::seccomp(MissingCall::Seccomp, 1, false)]
#[tokio::test]
async fn with_best_effort_a_score_records_what_was_in_force(
    #[case] missing: MissingCall,
    #[case] least_abi: u32,
    #[case] seccomp: bool,
) {
    let fixture = Fixture::new();
    let mut task = fixture.golden_task();
    task.confinement = ConfinementPolicy::BestEffort;
    let result = run_with(&Launcher::new(node_without(&fixture, missing)), &task).await.unwrap();
    let recorded = result.details.unwrap().confinement.unwrap();
    assert_eq!(recorded.seccomp, seccomp);
    assert_eq!(recorded.landlock_abi.min(1), least_abi);
}

#[tokio::test]
async fn a_score_records_its_confinement_and_limits() {
    let fixture = Fixture::new();
    let recorded = run(&fixture.golden_task()).await.unwrap().details.unwrap().confinement.unwrap();
    let Confinement { landlock_abi, seccomp, memory_bytes, cpu_seconds, wall_seconds } = recorded;
    assert!(landlock_abi > 0 && seccomp, "{recorded:?}");
    assert_eq!((memory_bytes, cpu_seconds, wall_seconds), (1 << 30, 600, 120));
}

#[tokio::test]
async fn a_probe_reports_the_same_and_scores_nothing() {
    let fixture = Fixture::new();
    let limits = fixture.golden_task().limits;
    let complete = Launcher::new(node()).probe(&limits).await.unwrap();
    assert!(complete.is_complete(), "{complete:?}");
    let missing = Launcher::new(node_without(&fixture, MissingCall::Landlock)).probe(&limits).await.unwrap();
    assert_eq!(missing.missing(), ["landlock"]);
    let broken = Launcher::new(fixture.script("worker", "exit 3")).probe(&limits).await.unwrap_err();
    assert_eq!(broken.reason, FailureReason::Internal, "{broken}");
}
