//! Fencing of reports.

use vmafx_queue::node::Report;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::store::{Released, Reported};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId};

use crate::support::build::{job, score, seconds};
use crate::support::fixture::Fixture;
use crate::support::node::{ReportKind, TestNode};

async fn without_attempt(node: &TestNode, job: JobId) -> ReportKind {
    (&node.report(Report { job, attempt: None, result: Ok(score(70.0)) }).await).into()
}

/// A job whose lease the first node lost and that the second node claimed.
async fn taken_over(q: &Fixture, slow: &TestNode, quick: &TestNode) -> (Job, Job) {
    let first = slow.holds(job()).await;
    q.lose_leases(&[slow, quick]).await;
    q.wait_for(first.id, &[slow, quick]).await;
    (first, quick.take().await)
}

pub(crate) async fn a_score_ends_the_job(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.clock.advance(seconds(7));
    let report = Report { job: taken.id, attempt: Some(1), result: Ok(score(93.5)) };
    let Reported::Moved { job: over, sampled } = node.report(report).await else {
        panic!("the report of the holder was not accepted")
    };
    assert!(!sampled, "it has no label");
    assert!(over.revision > taken.revision);
    let expected = Job {
        state: State::Completed,
        result: Some(score(93.5)),
        lease_expires_at: None,
        finished_at: Some(q.now()),
        updated_at: q.now(),
        revision: over.revision,
        ..taken.clone()
    };
    assert_eq!(*over, expected);
    assert_eq!(q.job(taken.id).await, expected);
    let attempts = q.attempts(taken.id).await;
    assert_eq!(attempts[0].ended, Some((q.now(), AttemptOutcome::Completed)));
    assert_eq!(attempts[0].error, "");
}

pub(crate) async fn an_error_ends_the_job_with_its_text_and_reason(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.clock.advance(seconds(7));
    assert_eq!(node.fail(&taken, "the clip is cut short").await, ReportKind::Moved);
    let over = q.job(taken.id).await;
    let expected = Job {
        state: State::Failed,
        error: "the clip is cut short".into(),
        failure_reason: vmafx_job::FailureReason::InputInvalid,
        lease_expires_at: None,
        finished_at: Some(q.now()),
        updated_at: q.now(),
        revision: over.revision,
        ..taken.clone()
    };
    assert_eq!(over, expected);
    let attempts = q.attempts(taken.id).await;
    assert_eq!(attempts[0].ended, Some((q.now(), AttemptOutcome::Failed)));
    assert_eq!(attempts[0].error, "the clip is cut short");
}

pub(crate) async fn a_reason_newer_than_this_program_is_kept(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    let reason = vmafx_job::FailureReason::Newer(i32::MAX);
    node.report(Report { job: taken.id, attempt: Some(1), result: Err((reason, "x".into())) }).await;
    assert_eq!(q.job(taken.id).await.failure_reason, reason);
}

pub(crate) async fn a_late_report_cannot_end_the_attempt_of_another_node(q: Fixture) {
    let (slow, quick) = (q.node("slow").await, q.node("quick").await);
    let (first, second) = taken_over(&q, &slow, &quick).await;
    assert_eq!(slow.complete(&first).await, ReportKind::Fenced);
    assert_eq!(slow.complete(&second).await, ReportKind::Fenced);
    assert_eq!(without_attempt(&slow, first.id).await, ReportKind::Fenced);
    assert_eq!(q.job(first.id).await, second);
    assert_eq!(quick.complete(&second).await, ReportKind::Moved);
    assert_eq!(slow.complete(&first).await, ReportKind::Fenced);
}

pub(crate) async fn a_late_report_cannot_end_a_newer_attempt_of_the_same_node(q: Fixture) {
    let node = q.node("n").await;
    let (first, second) = taken_over(&q, &node, &node).await;
    assert_eq!(node.complete(&first).await, ReportKind::Fenced);
    assert_eq!(q.job(first.id).await, second);
    assert_eq!(node.complete(&second).await, ReportKind::Moved);
    assert_eq!(node.complete(&first).await, ReportKind::Fenced);
}

pub(crate) async fn a_late_failure_cannot_end_a_job_that_waits_again(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.lose_leases(&[&node]).await;
    let waiting = q.job(taken.id).await;
    assert_eq!(node.fail(&taken, "too late").await, ReportKind::Fenced);
    assert_eq!(q.job(taken.id).await, waiting);
}

pub(crate) async fn a_late_score_ends_a_job_that_nobody_claimed_since_and_nothing_is_lost(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().label(50.0)).await;
    q.lose_leases(&[&node]).await;
    let waiting = q.job(taken.id).await;
    let mut subscriber = q.subscribe();
    let from = q.position().await;
    assert_eq!(node.complete_with(&taken, score(93.5)).await, ReportKind::Moved);
    let over = q.job(taken.id).await;
    let expected = Job {
        state: State::Completed,
        result: Some(score(93.5)),
        lost_attempts: 0,
        available_at: None,
        finished_at: Some(q.now()),
        last_failure: None,
        avoids: None,
        revision: waiting.revision + 1,
        ..waiting
    };
    assert_eq!(over, expected);
    let attempts = q.attempts(taken.id).await;
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].ended, Some((q.now(), AttemptOutcome::Completed)));
    assert_eq!(attempts[0].error, "");
    assert_eq!(q.all_samples().await.len(), 1);
    assert_eq!(q.changed_ids(&from).await, [taken.id]);
    subscriber.changed(&q.tenant).await;
    assert_eq!(node.complete(&taken).await, ReportKind::Repeated);
    q.wait_for(taken.id, &[&node]).await;
    assert!(node.has_nothing().await, "a completed job is not claimed again");
}

pub(crate) async fn a_late_score_of_an_evicted_session_counts_too(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    let evicted = q.pass(q.policy().session_ttl.max(q.policy().lease_ttl), &[]).await.evicted;
    assert_eq!(evicted, [(q.tenant.clone(), "n".to_owned())]);
    q.wait_for(taken.id, &[]).await;
    let waiting = q.job(taken.id).await;
    assert_eq!(node.with_wrong_token().complete(&taken).await, ReportKind::NoSession);
    assert_eq!(node.of("other").complete(&taken).await, ReportKind::NoSession);
    assert_eq!(node.fail(&taken, "too late").await, ReportKind::NoSession);
    assert_eq!(q.job(taken.id).await, waiting);
    let (again, q) = (node.clone(), q.reopened().await);
    let node = TestNode { queue: q.clone(), ..again };
    assert_eq!(without_attempt(&node, taken.id).await, ReportKind::Moved);
    let over = q.job(taken.id).await;
    assert_eq!((over.state, over.attempt, over.lost_attempts), (State::Completed, 1, 0));
    assert_eq!(node.complete(&taken).await, ReportKind::Repeated);
}

pub(crate) async fn an_evicted_session_cannot_end_an_attempt_that_another_node_claimed(q: Fixture) {
    let (slow, quick) = (q.node("slow").await, q.node("quick").await);
    let first = slow.holds(job()).await;
    q.pass(q.policy().session_ttl.max(q.policy().lease_ttl), &[&quick]).await;
    q.wait_for(first.id, &[&quick]).await;
    let second = quick.take().await;
    assert_eq!(slow.complete(&first).await, ReportKind::NoSession);
    assert_eq!(slow.complete(&second).await, ReportKind::NoSession);
    assert_eq!(q.job(first.id).await, second);
    q.lose_leases(&[&quick]).await;
    assert_eq!(slow.complete(&first).await, ReportKind::NoSession, "the latest attempt is another one");
    assert_eq!(quick.complete(&second).await, ReportKind::Moved);
    assert_eq!(q.job(first.id).await.lost_attempts, 1, "that of the other node");
}

pub(crate) async fn a_late_score_does_not_revive_a_job_that_failed_by_its_last_loss(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().lost_limit(1)).await;
    q.lose_leases(&[&node]).await;
    let failed = q.job(taken.id).await;
    assert_eq!(node.complete(&taken).await, ReportKind::Fenced);
    assert_eq!(q.job(taken.id).await, failed);
}

pub(crate) async fn a_lease_that_ran_out_is_good_until_the_sweep_ends_it(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.clock.advance(q.policy().lease_ttl * 3);
    assert_eq!(node.complete(&taken).await, ReportKind::Moved);
}

pub(crate) async fn without_a_number_the_attempt_held_or_held_last_is_meant(q: Fixture) {
    let node = q.node("n").await;
    let (_, second) = taken_over(&q, &node, &node).await;
    assert_eq!(without_attempt(&node, second.id).await, ReportKind::Moved);
    assert_eq!(q.job(second.id).await.result, Some(score(70.0)));
    assert_eq!(without_attempt(&node, second.id).await, ReportKind::Repeated);
}

pub(crate) async fn attempts_that_never_were_cannot_be_reported(q: Fixture) {
    let node = q.node("n").await;
    let waiting = q.submit(job()).await;
    assert_eq!(without_attempt(&node, waiting).await, ReportKind::Fenced);
    let taken = node.take().await;
    for attempt in [0, 2, u32::MAX] {
        let claimed = Job { attempt, ..taken.clone() };
        assert_eq!(node.complete(&claimed).await, ReportKind::Fenced, "{attempt}");
    }
    assert_eq!(q.job(taken.id).await, taken);
}

pub(crate) async fn a_job_that_never_was_cannot_be_reported(q: Fixture) {
    let node = q.node("n").await;
    let nobody = JobId(uuid::Uuid::from_u128(7));
    assert_eq!(without_attempt(&node, nobody).await, ReportKind::Fenced);
}

pub(crate) async fn another_node_cannot_report_a_running_job(q: Fixture) {
    let (holder, other) = (q.node("holder").await, q.node("other").await);
    let taken = holder.holds(job()).await;
    assert_eq!(other.complete(&taken).await, ReportKind::Fenced);
    assert_eq!(without_attempt(&other, taken.id).await, ReportKind::Fenced);
    assert_eq!(q.job(taken.id).await, taken);
}

pub(crate) async fn a_namesake_is_another_session(q: Fixture) {
    let taken = q.node("n").await.holds(job()).await;
    assert_eq!(q.node("n").await.complete(&taken).await, ReportKind::Fenced);
}

pub(crate) async fn a_report_needs_its_own_session(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    assert_eq!(node.with_wrong_token().complete(&taken).await, ReportKind::NoSession);
    assert_eq!(node.of("other").complete(&taken).await, ReportKind::NoSession);
    assert_eq!(q.job(taken.id).await, taken);
}

pub(crate) async fn a_report_may_be_repeated(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().label(50.0)).await;
    assert_eq!(node.complete(&taken).await, ReportKind::Moved);
    let over = q.job(taken.id).await;
    q.clock.advance(seconds(9));
    assert_eq!(node.complete(&taken).await, ReportKind::Repeated);
    assert_eq!(node.complete_with(&taken, score(1.0)).await, ReportKind::Repeated);
    assert_eq!(node.fail(&taken, "after all").await, ReportKind::Repeated);
    assert_eq!(q.job(taken.id).await, over);
    assert_eq!(q.all_samples().await.len(), 1);
}

pub(crate) async fn a_failure_may_be_repeated(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    node.fail(&taken, "broken").await;
    let over = q.job(taken.id).await;
    assert_eq!(node.fail(&taken, "broken again").await, ReportKind::Repeated);
    assert_eq!(node.complete(&taken).await, ReportKind::Repeated);
    assert_eq!(q.job(taken.id).await, over);
}

pub(crate) async fn a_report_after_a_cancel_is_a_success_without_effect(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().label(50.0)).await;
    let over = q.cancelled(taken.id, "changed my mind").await.job;
    assert_eq!(node.complete(&taken).await, ReportKind::Repeated);
    assert_eq!(without_attempt(&node, taken.id).await, ReportKind::Repeated);
    assert_eq!(q.job(taken.id).await, over);
    assert_eq!(q.all_samples().await, []);
}

pub(crate) async fn a_report_after_a_release_is_fenced(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    assert_eq!(node.release(&taken).await, Released::Moved);
    assert_eq!(node.complete(&taken).await, ReportKind::Fenced);
    assert_eq!(q.job(taken.id).await.state, State::Pending);
    let again = node.take().await;
    assert_eq!(node.complete(&taken).await, ReportKind::Fenced);
    assert_eq!(node.complete(&again).await, ReportKind::Moved);
}

pub(crate) async fn an_attempt_that_expired_stays_fenced_after_a_cancel(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.lose_leases(&[&node]).await;
    q.cancelled(taken.id, "enough").await;
    assert_eq!(node.complete(&taken).await, ReportKind::Fenced);
}
