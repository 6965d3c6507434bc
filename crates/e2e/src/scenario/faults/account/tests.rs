use rstest::rstest;

use super::*;

const SCORE: f64 = 76.668_904_858_276_1;

fn asked(end: End) -> BTreeMap<String, End> {
    [("one".to_owned(), end)].into()
}

fn resource() -> Resource {
    Resource {
        name: "one".to_owned(),
        uid: "u1".to_owned(),
        phases: vec![Phase::Pending, Phase::Running, Phase::Pending, Phase::Running, Phase::Succeeded],
        score: Some(SCORE),
        controller_job: Some("j1".to_owned()),
        said: String::new(),
    }
}

fn attempt(number: u32, outcome: &str) -> Attempt {
    let outcome = (!outcome.is_empty()).then(|| outcome.to_owned());
    Attempt { number, node: "pool-0".to_owned(), outcome }
}

fn queued() -> Queued {
    Queued {
        id: "j1".to_owned(),
        uid: Some("u1".to_owned()),
        status: "completed".to_owned(),
        score: Some(SCORE),
        attempts: vec![attempt(1, "expired"), attempt(2, "released"), attempt(3, "completed")],
    }
}

/// The names of what is found.
fn found(resources: &[Resource], queue: &[Queued], thanks: &[Thanks]) -> Vec<String> {
    names(&findings(&asked(End::Score(SCORE)), resources, queue, thanks))
}

fn names(findings: &[Finding]) -> Vec<String> {
    let name = |finding: &Finding| format!("{finding:?}").split(' ').next().unwrap().to_owned();
    findings.iter().map(name).collect()
}

#[test]
fn a_job_that_was_tried_thrice_and_completed_once_is_well() {
    assert_eq!(findings(&asked(End::Score(SCORE)), &[resource()], &[queued()], &[("j1".to_owned(), 3)]), []);
}

#[rstest]
#[case::it_waits(vec![Phase::Pending])]
#[case::it_runs(vec![Phase::Pending, Phase::Running])]
#[case::nobody_has_looked_at_it(vec![])]
fn what_never_ended_is_lost(#[case] phases: Vec<Phase>) {
    assert_eq!(found(&[Resource { phases, ..resource() }], &[queued()], &[]), ["NeverOver"]);
}

#[test]
fn what_is_not_there_is_lost() {
    assert_eq!(found(&[], &[], &[]), ["Vanished"]);
}

#[test]
fn what_the_queue_does_not_have_is_lost() {
    assert_eq!(found(&[resource()], &[], &[]), ["WrongScore", "NotInQueue"]);
}

#[rstest]
#[case(vec![Phase::Succeeded, Phase::Running, Phase::Succeeded])]
#[case(vec![Phase::Failed, Phase::Succeeded])]
fn what_goes_on_after_its_end_has_ended_twice(#[case] phases: Vec<Phase>) {
    assert_eq!(found(&[Resource { phases, ..resource() }], &[queued()], &[]), ["Revived"]);
}

#[test]
fn what_fails_without_a_cause_is_named_with_what_it_said() {
    let failed = Resource {
        phases: vec![Phase::Failed],
        said: "NodeLost: lease of attempt 4 expired (4 of 4)".to_owned(),
        ..resource()
    };
    let queue = Queued { status: "failed".to_owned(), attempts: vec![attempt(1, "expired")], ..queued() };
    let found = findings(&asked(End::Score(SCORE)), &[failed], &[queue], &[]);
    assert_eq!(
        found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["one: it ended Failed: NodeLost: lease of attempt 4 expired (4 of 4)"]
    );
}

#[rstest]
#[case::of_the_resource(Some(SCORE + 1e-12), Some(SCORE))]
#[case::in_the_queue(Some(SCORE), Some(50.0))]
#[case::of_none(None, Some(SCORE))]
fn a_score_that_differs_in_the_last_bit_is_wrong(#[case] resource_: Option<f64>, #[case] queue: Option<f64>) {
    let resource = Resource { score: resource_, ..resource() };
    assert_eq!(found(&[resource], &[Queued { score: queue, ..queued() }], &[]), ["WrongScore"]);
}

#[test]
fn two_jobs_of_one_resource_are_double() {
    let second = Queued { id: "j2".to_owned(), ..queued() };
    assert_eq!(found(&[resource()], &[queued(), second], &[]), ["Double"]);
}

#[test]
fn a_job_of_no_resource_is_a_stray() {
    for uid in [None, Some("gone".to_owned())] {
        let stray = Queued { id: "j2".to_owned(), uid, ..queued() };
        assert_eq!(found(&[resource()], &[queued(), stray], &[]), ["Stray"]);
    }
}

#[rstest]
#[case(Some("j2".to_owned()))]
#[case(None)]
fn a_status_that_names_another_job_is_named(#[case] controller_job: Option<String>) {
    assert_eq!(found(&[Resource { controller_job, ..resource() }], &[queued()], &[]), ["OtherJob"]);
}

#[test]
fn a_resource_that_contradicts_the_queue_is_named() {
    let attempts = vec![attempt(1, "cancelled")];
    let queue = Queued { status: "cancelled".to_owned(), attempts, ..queued() };
    assert_eq!(found(&[resource()], &[queue], &[]), ["Disagreement"]);
}

#[rstest]
#[case::twice(vec![attempt(1, "completed"), attempt(2, "completed")], "Completions")]
#[case::never(vec![attempt(1, "expired")], "Completions")]
#[case::and_one_still_open(vec![attempt(1, ""), attempt(2, "completed")], "OpenAttempt")]
fn exactly_one_attempt_is_completed_and_all_have_ended(
    #[case] attempts: Vec<Attempt>,
    #[case] expected: &str,
) {
    assert_eq!(found(&[resource()], &[Queued { attempts, ..queued() }], &[]), [expected]);
}

#[test]
fn thanks_for_an_attempt_that_was_taken_away_are_false() {
    let thanks = [("j1".to_owned(), 1), ("j1".to_owned(), 3), ("other".to_owned(), 1)];
    assert_eq!(found(&[resource()], &[queued()], &thanks), ["FalseThanks", "FalseThanks"]);
}

#[rstest]
#[case::for_its_reason("ScratchFull: it needs 9 bytes", &[])]
#[case::for_another("InputNotFound: nothing is there", &["WrongEnd"])]
fn a_failure_that_must_be_is_one_only_for_its_reason(#[case] said: &str, #[case] expected: &[&str]) {
    let failed = Resource {
        phases: vec![Phase::Running, Phase::Failed],
        score: None,
        said: said.to_owned(),
        ..resource()
    };
    let attempts = vec![attempt(1, "failed")];
    let queue = Queued { status: "failed".to_owned(), score: None, attempts, ..queued() };
    assert_eq!(names(&findings(&asked(End::Failure(&["ScratchFull"])), &[failed], &[queue], &[])), expected);
}

#[test]
fn a_failed_job_with_a_completed_attempt_is_no_failure() {
    let failed =
        Resource { phases: vec![Phase::Failed], score: None, said: "ScratchFull".to_owned(), ..resource() };
    let queue = Queued { status: "failed".to_owned(), score: None, ..queued() };
    assert_eq!(
        names(&findings(&asked(End::Failure(&["ScratchFull"])), &[failed], &[queue], &[])),
        ["Completions"]
    );
}
