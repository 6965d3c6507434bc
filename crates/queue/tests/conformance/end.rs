//! Cancellations, releases and deadlines.

use std::slice;
use std::time::Duration;

use vmafx_job::{CancelCause, FailureReason};
use vmafx_queue::Job;
use vmafx_queue::node::Credentials;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::store::{Claim, Released};
use vmafx_queue::transition::State;

use crate::support::build::{job, seconds};
use crate::support::fixture::{Fixture, ids};
use crate::support::node::{ReportKind, TestNode};

pub(crate) async fn a_waiting_job_can_be_cancelled(q: Fixture) {
    let id = q.submit(job()).await;
    let before = q.job(id).await;
    q.clock.advance(seconds(2));
    let answer = q.cancelled(id, "not needed").await;
    assert!(answer.moved);
    assert!(answer.job.revision > before.revision);
    let expected = Job {
        state: State::Cancelled,
        error: "cancelled: not needed".into(),
        cancel_cause: Some(CancelCause::Requested),
        finished_at: Some(q.now()),
        updated_at: q.now(),
        revision: answer.job.revision,
        ..before
    };
    assert_eq!(answer.job, expected);
    assert_eq!(q.job(id).await, expected);
    assert_eq!(q.attempts(id).await, []);
    assert!(q.node("n").await.has_nothing().await);
}

pub(crate) async fn a_cancelled_job_keeps_the_cause_of_the_first_cancel(q: Fixture) {
    for cause in CancelCause::ALL {
        let id = q.submit(job()).await;
        q.store.cancel(&q.tenant, id, cause, "").await.unwrap();
        q.cancelled(id, "again").await;
        assert_eq!(q.job(id).await.cancel_cause, Some(cause));
    }
    assert_eq!(q.job(q.submit(job()).await).await.cancel_cause, None);
}

pub(crate) async fn a_running_job_can_be_cancelled(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    node.progress(&taken, 3, 9).await;
    q.clock.advance(seconds(2));
    let answer = q.cancelled(taken.id, "not needed").await;
    assert!(answer.moved);
    let expected = Job {
        state: State::Cancelled,
        error: "cancelled: not needed".into(),
        cancel_cause: Some(CancelCause::Requested),
        finished_at: Some(q.now()),
        updated_at: q.now(),
        lease_expires_at: None,
        progress: None,
        revision: answer.job.revision,
        ..taken.clone()
    };
    assert_eq!(answer.job, expected);
    let attempts = q.attempts(taken.id).await;
    assert_eq!(attempts[0].ended, Some((q.now(), AttemptOutcome::Cancelled)));
    assert_eq!(attempts[0].error, "cancelled: not needed");
    assert_eq!(q.lose_leases(&[&node]).await.requeued, []);
}

pub(crate) async fn a_cancel_needs_no_reason(q: Fixture) {
    let id = q.submit(job()).await;
    assert_eq!(q.cancelled(id, "").await.job.error, "cancelled");
}

pub(crate) async fn an_ended_job_is_left_alone_by_a_cancel(q: Fixture) {
    let node = q.node("n").await;
    let completed = node.holds(job()).await;
    node.complete(&completed).await;
    let failed = node.holds(job()).await;
    node.fail(&failed, "its own text").await;
    let cancelled = q.submit(job()).await;
    q.cancelled(cancelled, "the first text").await;
    let cursor = q.position().await;
    for id in [completed.id, failed.id, cancelled] {
        let before = q.job(id).await;
        q.clock.advance(seconds(1));
        let answer = q.cancelled(id, "too late").await;
        assert!(!answer.moved);
        assert_eq!(answer.job, before);
        assert_eq!(q.job(id).await, before);
    }
    assert_eq!(q.outcomes(completed.id).await, [(1, Some(AttemptOutcome::Completed))]);
    assert_eq!(q.changed_ids(&cursor).await, []);
}

pub(crate) async fn a_released_job_waits_again_at_once(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    node.progress(&taken, 3, 9).await;
    q.clock.advance(seconds(2));
    assert_eq!(node.release(&taken).await, Released::Moved);
    let waiting = q.job(taken.id).await;
    assert!(waiting.revision > taken.revision);
    let expected = Job {
        state: State::Pending,
        lost_attempts: 0,
        lease_expires_at: None,
        available_at: None,
        progress: None,
        updated_at: q.now(),
        revision: waiting.revision,
        ..taken.clone()
    };
    assert_eq!(waiting, expected);
    let attempts = q.attempts(taken.id).await;
    assert_eq!(attempts[0].ended, Some((q.now(), AttemptOutcome::Released)));
    assert_eq!(attempts[0].error, "shutting down");
    let again = node.take().await;
    assert_eq!((again.id, again.attempt), (taken.id, 2));
}

pub(crate) async fn a_released_job_keeps_its_place(q: Fixture) {
    let node = q.node("n").await;
    let [first, second, third] = q.submit_all([job(), job(), job()]).await;
    let taken = node.take().await;
    q.clock.advance(seconds(100));
    node.release(&taken).await;
    assert_eq!(node.take_all().await, [first, second, third]);
}

pub(crate) async fn an_attempt_that_is_over_cannot_be_released(q: Fixture) {
    let node = q.node("n").await;
    let reported = node.holds(job()).await;
    node.complete(&reported).await;
    let cancelled = node.holds(job()).await;
    q.cancelled(cancelled.id, "x").await;
    let released = node.holds(job()).await;
    node.release(&released).await;
    node.take().await;
    let expired = node.holds(job()).await;
    q.lose_leases(&[&node]).await;
    for job in [reported, cancelled, released, expired] {
        let before = q.job(job.id).await;
        assert_eq!(node.release(&job).await, Released::Over, "{:?}", before.state);
        assert_eq!(q.job(job.id).await, before);
    }
}

pub(crate) async fn only_the_holder_of_the_running_attempt_can_release_it(q: Fixture) {
    let (holder, other) = (q.node("holder").await, q.node("other").await);
    let taken = holder.holds(job()).await;
    assert_eq!(other.release(&taken).await, Released::Over);
    for attempt in [0, 2] {
        assert_eq!(holder.release(&Job { attempt, ..taken.clone() }).await, Released::Over);
    }
    assert_eq!(holder.with_wrong_token().release(&taken).await, Released::NoSession);
    assert_eq!(holder.of("other").release(&taken).await, Released::NoSession);
    let unknown = Job { id: vmafx_queue::JobId(uuid::Uuid::from_u128(7)), ..taken.clone() };
    assert_eq!(holder.release(&unknown).await, Released::Over);
    assert_eq!(q.job(taken.id).await, taken);
}

pub(crate) async fn a_waiting_job_fails_when_its_time_is_up(q: Fixture) {
    let keeper = q.node("keeper").await;
    let id = q.submit(job().backend("hip").deadline(seconds(30))).await;
    assert_eq!(q.pass(seconds(30).saturating_sub(Duration::from_millis(1)), &[&keeper]).await.failed, []);
    let swept = q.pass(Duration::from_millis(1), &[&keeper]).await;
    let over = q.job(id).await;
    assert_eq!(swept.failed, slice::from_ref(&over));
    assert_eq!((over.state, over.failure_reason), (State::Failed, FailureReason::DeadlineExceeded));
    assert_eq!((over.finished_at, over.lost_attempts), (Some(q.now()), 0));
    assert_eq!(over.error, "the deadline has passed: the job was not finished 30s after its submission");
    assert_eq!(q.attempts(id).await, []);
}

pub(crate) async fn a_running_job_fails_when_its_time_is_up(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().deadline(seconds(30))).await;
    q.pass(seconds(20), &[&node]).await;
    node.heartbeat(&[taken.id]).await;
    let swept = q.pass(seconds(10), &[&node]).await;
    assert_eq!(ids(&swept.failed), [taken.id]);
    let over = q.job(taken.id).await;
    assert_eq!((over.state, over.failure_reason), (State::Failed, FailureReason::DeadlineExceeded));
    assert_eq!((over.lease_expires_at, over.progress), (None, None));
    assert_eq!(q.outcomes(taken.id).await, [(1, Some(AttemptOutcome::Failed))]);
    assert_eq!(q.attempts(taken.id).await[0].error, over.error);
    assert_eq!(node.heartbeat(&[taken.id]).await.unwrap().lost, [taken.id]);
    assert_eq!(node.complete(&taken).await, ReportKind::Repeated);
    assert_eq!(q.job(taken.id).await, over);
}

pub(crate) async fn a_job_out_of_time_fails_for_that_reason_also_when_its_lease_ran_out(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().deadline(q.policy().lease_ttl).lost_limit(1)).await;
    let swept = q.lose_leases(&[&node]).await;
    assert_eq!((ids(&swept.failed), swept.requeued), (vec![taken.id], vec![]));
    assert_eq!(q.job(taken.id).await.failure_reason, FailureReason::DeadlineExceeded);
}

pub(crate) async fn a_deadline_that_passed_is_good_until_the_sweep_ends_the_job(q: Fixture) {
    let node = q.node("n").await;
    q.submit(job().deadline(seconds(5))).await;
    q.clock.advance(seconds(6));
    let taken = node.take().await;
    assert_eq!(node.complete(&taken).await, ReportKind::Moved);
}

pub(crate) async fn a_job_that_ended_in_time_stays_as_it_is(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().deadline(seconds(30))).await;
    node.complete(&taken).await;
    assert_eq!(q.pass(seconds(60), &[&node]).await.failed, []);
    assert_eq!(q.job(taken.id).await.state, State::Completed);
}

pub(crate) async fn a_deadline_goes_on_through_losses_and_releases(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().deadline(seconds(70))).await;
    node.release(&taken).await;
    node.take().await;
    q.lose_leases(&[&node]).await;
    assert_eq!(ids(&q.pass(seconds(10), &[&node]).await.failed), [taken.id]);
    assert_eq!(node.claim().await, Claim::Nothing { next: None });
}

pub(crate) async fn a_session_cannot_be_guessed(q: Fixture) {
    let (one, two) = (q.node("one").await, q.node("two").await);
    assert_ne!(one.who.session, two.who.session);
    assert_ne!(one.who.token, two.who.token);
    assert!(one.who.token.0.len() >= 32, "{}", one.who.token.0.len());
    let empty = Credentials { token: vmafx_queue::node::SessionToken(String::new()), ..one.who };
    assert_eq!(TestNode { who: empty, ..one.clone() }.claim().await, Claim::NoSession);
}
