use rstest::rstest;

use super::*;

const SCORE: f64 = 76.668_904_858_276_1;

fn requested(end: ExpectedEnd) -> BTreeMap<String, ExpectedEnd> {
    [("one".to_owned(), end)].into()
}

fn resource() -> ObservedJob {
    ObservedJob {
        name: "one".to_owned(),
        uid: "u1".to_owned(),
        phases: vec![Phase::Pending, Phase::Running, Phase::Pending, Phase::Running, Phase::Succeeded],
        score: Some(SCORE),
        controller_job: Some("j1".to_owned()),
        reasons: BTreeSet::new(),
        message: String::new(),
    }
}

fn attempt(number: u32, outcome: &str) -> Attempt {
    let outcome = (!outcome.is_empty()).then(|| outcome.to_owned());
    Attempt { number, node: "pool-0".to_owned(), outcome, started_at: 1, ended_at: Some(2) }
}

fn queued() -> QueuedJob {
    QueuedJob {
        id: "j1".to_owned(),
        uid: Some("u1".to_owned()),
        status: "completed".to_owned(),
        score: Some(SCORE),
        attempts: vec![attempt(1, "expired"), attempt(2, "released"), attempt(3, "completed")],
    }
}

fn found(resources: &[ObservedJob], queue: &[QueuedJob], accepted: &[AcceptedReport]) -> Vec<String> {
    names(&violations(&requested(ExpectedEnd::Score(SCORE)), resources, queue, accepted))
}

fn names(violations: &[Violation]) -> Vec<String> {
    let name = |finding: &Violation| format!("{finding:?}").split(' ').next().unwrap().to_owned();
    violations.iter().map(name).collect()
}

#[test]
fn a_job_with_three_attempts_of_which_one_completed_has_no_violation() {
    assert_eq!(
        violations(
            &requested(ExpectedEnd::Score(SCORE)),
            &[resource()],
            &[queued()],
            &[("j1".to_owned(), 3)]
        ),
        []
    );
}

#[rstest]
#[case::it_waits(vec![Phase::Pending])]
#[case::it_runs(vec![Phase::Pending, Phase::Running])]
#[case::it_has_no_phase(vec![])]
fn a_job_that_never_ended_is_lost(#[case] phases: Vec<Phase>) {
    assert_eq!(found(&[ObservedJob { phases, ..resource() }], &[queued()], &[]), ["NeverEnded"]);
}

#[test]
fn a_missing_resource_is_lost() {
    assert_eq!(found(&[], &[], &[]), ["ResourceMissing"]);
}

#[test]
fn a_resource_without_a_job_in_the_queue_is_lost() {
    assert_eq!(found(&[resource()], &[], &[]), ["WrongScore", "NotInQueue"]);
}

#[rstest]
#[case(vec![Phase::Succeeded, Phase::Running, Phase::Succeeded])]
#[case(vec![Phase::Failed, Phase::Succeeded])]
fn a_phase_that_changes_after_the_end_is_found(#[case] phases: Vec<Phase>) {
    assert_eq!(found(&[ObservedJob { phases, ..resource() }], &[queued()], &[]), ["ChangedAfterEnd"]);
}

#[test]
fn an_unexpected_failure_is_reported_with_its_message() {
    let failed = ObservedJob {
        phases: vec![Phase::Failed],
        message: "NodeLost: lease of attempt 4 expired (4 of 4)".to_owned(),
        ..resource()
    };
    let queue = QueuedJob { status: "failed".to_owned(), attempts: vec![attempt(1, "expired")], ..queued() };
    let found = violations(&requested(ExpectedEnd::Score(SCORE)), &[failed], &[queue], &[]);
    assert_eq!(
        found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["one: unexpected end Failed: NodeLost: lease of attempt 4 expired (4 of 4)"]
    );
}

#[rstest]
#[case::of_the_resource(Some(SCORE + 1e-12), Some(SCORE))]
#[case::in_the_queue(Some(SCORE), Some(50.0))]
#[case::of_none(None, Some(SCORE))]
fn a_score_that_differs_in_the_last_bit_is_wrong(#[case] resource_: Option<f64>, #[case] queue: Option<f64>) {
    let resource = ObservedJob { score: resource_, ..resource() };
    assert_eq!(found(&[resource], &[QueuedJob { score: queue, ..queued() }], &[]), ["WrongScore"]);
}

#[test]
fn two_jobs_of_one_resource_are_duplicates() {
    let second = QueuedJob { id: "j2".to_owned(), ..queued() };
    assert_eq!(found(&[resource()], &[queued(), second], &[]), ["DuplicateJob"]);
}

#[test]
fn a_job_without_a_resource_is_orphaned() {
    for uid in [None, Some("gone".to_owned())] {
        let orphan = QueuedJob { id: "j2".to_owned(), uid, ..queued() };
        assert_eq!(found(&[resource()], &[queued(), orphan], &[]), ["OrphanedJob"]);
    }
}

#[rstest]
#[case(Some("j2".to_owned()))]
#[case(None)]
fn a_status_that_names_another_job_is_found(#[case] controller_job: Option<String>) {
    assert_eq!(found(&[ObservedJob { controller_job, ..resource() }], &[queued()], &[]), ["JobIdMismatch"]);
}

#[test]
fn a_resource_that_contradicts_the_queue_is_found() {
    let attempts = vec![attempt(1, "cancelled")];
    let queue = QueuedJob { status: "cancelled".to_owned(), attempts, ..queued() };
    assert_eq!(found(&[resource()], &[queue], &[]), ["StatusMismatch"]);
}

#[rstest]
#[case::twice(vec![attempt(1, "completed"), attempt(2, "completed")], "CompletionCount")]
#[case::never(vec![attempt(1, "expired")], "CompletionCount")]
#[case::and_one_still_open(vec![attempt(1, ""), attempt(2, "completed")], "OpenAttempt")]
fn exactly_one_attempt_is_completed_and_all_have_ended(
    #[case] attempts: Vec<Attempt>,
    #[case] expected: &str,
) {
    assert_eq!(found(&[resource()], &[QueuedJob { attempts, ..queued() }], &[]), [expected]);
}

#[test]
fn a_report_that_was_accepted_for_an_expired_attempt_is_found() {
    let accepted = [("j1".to_owned(), 1), ("j1".to_owned(), 3), ("other".to_owned(), 1)];
    assert_eq!(found(&[resource()], &[queued()], &accepted), ["StaleReportAccepted", "StaleReportAccepted"]);
}

#[rstest]
#[case::for_its_reason("ScratchFull: it needs 9 bytes", &[])]
#[case::for_another("InputNotFound: nothing is there", &["WrongEnd"])]
fn an_expected_failure_must_have_its_reason(#[case] message: &str, #[case] expected: &[&str]) {
    let failed = ObservedJob {
        phases: vec![Phase::Running, Phase::Failed],
        score: None,
        message: message.to_owned(),
        ..resource()
    };
    let attempts = vec![attempt(1, "failed")];
    let queue = QueuedJob { status: "failed".to_owned(), score: None, attempts, ..queued() };
    assert_eq!(
        names(&violations(&requested(ExpectedEnd::Failure(&["ScratchFull"])), &[failed], &[queue], &[])),
        expected
    );
}

#[test]
fn a_failed_job_must_not_have_a_completed_attempt() {
    let failed = ObservedJob {
        phases: vec![Phase::Failed],
        score: None,
        message: "ScratchFull".to_owned(),
        ..resource()
    };
    let queue = QueuedJob { status: "failed".to_owned(), score: None, ..queued() };
    assert_eq!(
        names(&violations(&requested(ExpectedEnd::Failure(&["ScratchFull"])), &[failed], &[queue], &[])),
        ["CompletionCount"]
    );
}
