//! Failures that are not the job's: the job is requeued, and kept from the node that failed it.

use vmafx_job::FailureReason;
use vmafx_queue::Job;
use vmafx_queue::job::{AvoidedNode, FailedAttempt};
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::MAX_AVOIDING_JOBS;
use vmafx_queue::store::{Claim, Reported};
use vmafx_queue::transition::State;

use crate::support::build::{job, node, seconds};
use crate::support::fixture::Fixture;
use crate::support::node::{ReportKind, TestNode};

const FAILED: Option<AttemptOutcome> = Some(AttemptOutcome::Failed);

/// Fails a job with a reason until it is final; returns the job and the number of attempts.
async fn fail_until_final(q: &Fixture, node: &TestNode, reason: FailureReason) -> Job {
    let id = q.submit(job()).await;
    loop {
        let taken = node.take().await;
        assert_eq!(node.fail_with(&taken, reason, "broken").await, ReportKind::Moved);
        let after = q.job(id).await;
        if after.state.is_final() {
            return after;
        }
        q.wait_for(id, &[node]).await;
        // A node that fails three attempts in a row is quarantined for a moment.
        q.pass(q.policy().lone_trial_interval, &[node]).await;
    }
}

pub(crate) async fn a_failure_of_the_node_or_the_moment_requeues_the_job(q: Fixture) {
    for reason in
        [FailureReason::ScratchFull, FailureReason::SourceUnreachable, FailureReason::InputMissingOnNode]
    {
        let node = q.node(reason.name()).await;
        let taken = node.holds(job()).await;
        q.clock.advance(seconds(2));
        assert_eq!(node.fail_with(&taken, reason, "no space").await, ReportKind::Moved);
        let waiting = q.job(taken.id).await;
        assert!(waiting.revision > taken.revision);
        let failure =
            FailedAttempt { attempt: 1, node: reason.name().into(), reason, message: "no space".into() };
        let expected = Job {
            state: State::Pending,
            lost_attempts: 1,
            lease_expires_at: None,
            available_at: Some(q.now() + seconds(5)),
            updated_at: q.now(),
            revision: waiting.revision,
            last_failure: Some(failure),
            avoids: waiting.avoids.clone(),
            ..taken.clone()
        };
        assert_eq!(waiting, expected);
        let attempts = q.attempts(taken.id).await;
        assert_eq!(attempts[0].ended, Some((q.now(), AttemptOutcome::Failed)));
        assert_eq!((attempts[0].error.as_str(), attempts[0].reason), ("no space", reason));
        q.cancelled(taken.id, "").await;
    }
}

pub(crate) async fn a_failure_of_the_job_or_its_input_is_final_at_once(q: Fixture) {
    let node = q.node("n").await;
    for reason in [FailureReason::OptionsInvalid, FailureReason::InputNotFound, FailureReason::Unspecified] {
        let failed = fail_until_final(&q, &node, reason).await;
        assert_eq!((failed.state, failed.failure_reason), (State::Failed, reason));
        assert_eq!((failed.attempt, failed.lost_attempts, failed.error.as_str()), (1, 0, "broken"));
        assert_eq!(failed.last_failure, None);
    }
}

pub(crate) async fn the_last_allowed_failure_is_final_and_keeps_its_reason(q: Fixture) {
    let node = q.node("n").await;
    let failed = fail_until_final(&q, &node, FailureReason::WorkerCrashed).await;
    assert_eq!((failed.state, failed.failure_reason), (State::Failed, FailureReason::WorkerCrashed));
    assert_eq!(failed.error, "3 of at most 3 attempts failed, the last one on n: broken");
    assert_eq!((failed.attempt, failed.lost_attempts, failed.avoids), (3, 3, None));
    assert_eq!(failed.last_failure.map(|failure| failure.attempt), Some(2));
    assert_eq!(q.outcomes(failed.id).await, [(1, FAILED), (2, FAILED), (3, FAILED)]);
}

pub(crate) async fn lost_and_failed_attempts_count_together(q: Fixture) {
    let node = q.node("n").await;
    let first = node.holds(job()).await;
    q.lose_leases(&[&node]).await;
    let lost = q.job(first.id).await;
    let failure = lost.last_failure.unwrap();
    assert_eq!((failure.reason, failure.node.as_str()), (FailureReason::NodeLost, "n"));
    assert_eq!(failure.message, "lease of attempt 1 expired (1 of 3)");
    for (expected, backoff) in [(State::Pending, Some(10)), (State::Failed, None)] {
        q.wait_for(first.id, &[&node]).await;
        let taken = node.take().await;
        node.fail_with(&taken, FailureReason::SourceUnreachable, "503").await;
        let after = q.job(first.id).await;
        assert_eq!(
            (after.state, after.available_at),
            (expected, backoff.map(|after| q.now() + seconds(after)))
        );
    }
}

pub(crate) async fn a_repeated_report_of_a_retried_attempt_has_no_effect(q: Fixture) {
    let node = q.node("n").await;
    let first = node.holds(job()).await;
    for expected in [ReportKind::Moved, ReportKind::Repeated] {
        assert_eq!(node.fail_with(&first, FailureReason::OutOfMemory, "no memory").await, expected);
    }
    q.wait_for(first.id, &[&node]).await;
    let second = node.take().await;
    let before = q.job(first.id).await;
    assert_eq!(node.fail_with(&first, FailureReason::OutOfMemory, "no memory").await, ReportKind::Repeated);
    assert_eq!(node.complete(&first).await, ReportKind::Repeated);
    assert_eq!(q.job(first.id).await, before);
    assert_eq!(node.complete(&second).await, ReportKind::Moved);
}

pub(crate) async fn a_job_is_kept_from_the_node_that_failed_it_while_another_can_run_it(q: Fixture) {
    let (broken, other) = (q.node("broken").await, q.node("other").await);
    let taken = broken.fails_one(FailureReason::ScratchFull).await;
    let until = q.now() + seconds(65);
    let avoids = Some(AvoidedNode { node: "broken".into(), until });
    assert_eq!(q.job(taken.id).await.avoids, avoids);
    q.pass(seconds(5), &[&broken, &other]).await;
    // The same node under a new session is the same node.
    let again = q.node("broken").await;
    for node in [&broken, &again] {
        assert_eq!(node.claim().await, Claim::PassedOver { next: until });
    }
    let next = other.take().await;
    assert_eq!((next.id, next.avoids), (taken.id, None));
}

pub(crate) async fn a_job_that_nobody_else_takes_returns_to_the_node_that_failed_it(q: Fixture) {
    let (broken, other) = (q.node("broken").await, q.node("other").await);
    let taken = broken.fails_one(FailureReason::ScratchFull).await;
    q.pass(seconds(65).saturating_sub(std::time::Duration::from_millis(1)), &[&broken, &other]).await;
    assert!(matches!(broken.claim().await, Claim::PassedOver { .. }));
    q.clock.advance(std::time::Duration::from_millis(1));
    assert_eq!(broken.take().await.id, taken.id);
}

pub(crate) async fn a_job_is_not_kept_from_the_only_node_that_can_run_it(q: Fixture) {
    let broken = q.register(node("broken").backends(["cuda"])).await;
    q.node("other").await;
    let taken = broken.holds(job().backend("cuda")).await;
    broken.fail_with(&taken, FailureReason::OutOfMemory, "no memory").await;
    assert_eq!(q.job(taken.id).await.avoids, None);
    q.pass(seconds(5), &[&broken]).await;
    assert_eq!(broken.take().await.id, taken.id);
}

pub(crate) async fn jobs_that_are_kept_from_a_node_hold_up_no_other_job(q: Fixture) {
    let (broken, other) = (q.node("broken").await, q.node("other").await);
    let kept = broken.fails_one(FailureReason::SourceUnreachable).await.id;
    q.pass(seconds(5), &[&broken, &other]).await;
    let [urgent, later] = [q.submit(job().priority(7)).await, q.submit(job()).await];
    assert_eq!(broken.take_all().await, [urgent, later]);
    assert_eq!(other.take_all().await, [kept]);
}

pub(crate) async fn only_a_bounded_number_of_jobs_is_kept_from_a_node(q: Fixture) {
    let broken = q.node("broken").await;
    q.node("other").await;
    let mut kept = 0;
    for _ in 0..=MAX_AVOIDING_JOBS {
        let taken = broken.fails_one(FailureReason::SourceUnreachable).await;
        kept += u32::from(q.job(taken.id).await.avoids.is_some());
    }
    assert_eq!(kept, MAX_AVOIDING_JOBS);
}

pub(crate) async fn what_two_nodes_miss_is_the_jobs_fault(q: Fixture) {
    let pairs = [
        (FailureReason::InputMissingOnNode, FailureReason::InputNotFound),
        (FailureReason::InputDeniedOnNode, FailureReason::InputDenied),
        (FailureReason::ModelMissingOnNode, FailureReason::ModelNotFound),
    ];
    let (a, b) = (q.node("a").await, q.node("b").await);
    for (here, everywhere) in pairs {
        let first = a.fails_one(here).await;
        q.pass(seconds(5), &[&a, &b]).await;
        let second = b.take().await;
        let result = Err((here, "no such file".to_owned()));
        let report = vmafx_queue::node::Report { job: second.id, attempt: Some(2), result };
        let Reported::Moved { job: failed, .. } = b.report(report).await else { panic!("not accepted") };
        assert_eq!(failed.id, first.id);
        assert_eq!((failed.state, failed.failure_reason), (State::Failed, everywhere));
        assert_eq!(failed.error, "a and b report the same: no such file");
        assert_eq!(failed.lost_attempts, 1);
    }
}

pub(crate) async fn what_one_node_misses_is_final_when_its_attempts_are_used_up(q: Fixture) {
    let node = q.node("n").await;
    let failed = fail_until_final(&q, &node, FailureReason::InputMissingOnNode).await;
    assert_eq!((failed.attempt, failed.failure_reason), (3, FailureReason::InputMissingOnNode));
}

pub(crate) async fn what_a_job_avoids_survives_a_restart(q: Fixture) {
    let (broken, other) = (q.node("broken").await, q.node("other").await);
    let taken = broken.fails_one(FailureReason::ScratchFull).await;
    let before = q.job(taken.id).await;
    let q = q.reopened().await;
    assert_eq!(q.job(taken.id).await, before);
    q.clock.advance(seconds(5));
    let [broken, other] = [broken, other].map(|node| TestNode { queue: q.clone(), ..node });
    assert!(matches!(broken.claim().await, Claim::PassedOver { .. }));
    assert_eq!(other.take().await.id, taken.id);
}
