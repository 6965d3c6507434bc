//! Expired leases.

use std::slice;
use std::time::Duration;

use vmafx_job::FailureReason;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{Claim, Released};
use vmafx_queue::transition::State;

use crate::support::build::{job, node, seconds};
use crate::support::fixture::{Fixture, ids};

const EXPIRED: Option<AttemptOutcome> = Some(AttemptOutcome::Expired);

pub(crate) async fn a_lost_job_is_pending_again_after_a_backoff(q: Fixture) {
    let keeper = q.node("keeper").await;
    let taken = keeper.holds(job()).await;
    let swept = q.lose_leases(&[&keeper]).await;

    let waiting = q.job(taken.id).await;
    assert_eq!(swept.requeued, slice::from_ref(&waiting));
    assert_eq!((swept.failed, swept.evicted), (vec![], vec![]));
    assert!(waiting.revision > taken.revision);
    let expected = vmafx_queue::Job {
        state: State::Pending,
        lost_attempts: 1,
        available_at: Some(q.now() + seconds(5)),
        lease_expires_at: None,
        updated_at: q.now(),
        revision: waiting.revision,
        last_failure: Some(vmafx_queue::job::FailedAttempt {
            attempt: 1,
            node: "keeper".into(),
            reason: FailureReason::NodeLost,
            message: "lease of attempt 1 expired (1 of 3)".into(),
        }),
        ..taken.clone()
    };
    assert_eq!(waiting, expected);
    assert_eq!(q.outcomes(taken.id).await, [(1, EXPIRED)]);
    let attempts = q.attempts(taken.id).await;
    assert_eq!(attempts[0].ended, Some((q.now(), AttemptOutcome::Expired)));
    assert_eq!(attempts[0].error, "lease of attempt 1 expired (1 of 3)");
}

pub(crate) async fn a_lease_ends_at_its_instant_and_not_before(q: Fixture) {
    let keeper = q.node("keeper").await;
    let taken = keeper.holds(job()).await;
    let just_before = q.policy().lease_ttl.saturating_sub(Duration::from_millis(1));
    assert_eq!(q.pass(just_before, &[&keeper]).await.requeued, []);
    let swept = q.pass(Duration::from_millis(1), &[&keeper]).await;
    assert_eq!(ids(&swept.requeued), [taken.id]);
}

pub(crate) async fn backoffs_double_up_to_the_maximum(q: Fixture) {
    let q = q.fresh(Policy { backoff_max: seconds(30), ..Policy::default() }).await;
    let keeper = q.node("keeper").await;
    let id = q.submit(job().lost_limit(10)).await;
    for backoff in [5, 10, 20, 30, 30] {
        keeper.take().await;
        q.lose_leases(&[&keeper]).await;
        assert_eq!(q.job(id).await.available_at, Some(q.now() + seconds(backoff)));
        q.wait_for(id, &[&keeper]).await;
    }
}

pub(crate) async fn a_backoff_ends_at_its_instant_and_not_before(q: Fixture) {
    let keeper = q.node("keeper").await;
    let id = keeper.holds(job()).await.id;
    q.lose_leases(&[&keeper]).await;
    let due = q.now() + seconds(5);
    q.clock.advance(seconds(5).saturating_sub(Duration::from_millis(1)));
    assert_eq!(keeper.claim().await, Claim::Nothing { next: Some(due) });
    q.clock.advance(Duration::from_millis(1));
    let again = keeper.take().await;
    assert_eq!((again.id, again.attempt, again.available_at), (id, 2, None));
}

pub(crate) async fn an_empty_claim_names_the_next_backoff_end_that_would_fit(q: Fixture) {
    let cpu = q.node("cpu").await;
    let gpu = q.register(node("gpu").backends(["cuda"])).await;
    gpu.holds(job().backend("cuda")).await;
    q.pass(seconds(10), &[&cpu, &gpu]).await;
    cpu.holds(job().backend("cpu")).await;
    q.pass(seconds(10), &[&cpu, &gpu]).await;
    cpu.holds(job().backend("cpu")).await;
    let begin = q.now();
    q.pass(seconds(40), &[&cpu, &gpu]).await;
    // The back-off of the other backend's job ends first, but this node cannot claim that job.
    assert_eq!(cpu.claim().await, Claim::Nothing { next: None });
    assert_eq!(gpu.claim().await, Claim::Nothing { next: Some(begin + seconds(45)) });
    q.pass(seconds(10), &[&cpu, &gpu]).await;
    assert_eq!(cpu.claim().await, Claim::Nothing { next: Some(begin + seconds(55)) });
    q.clock.advance(seconds(5));
    let again = cpu.take().await;
    assert_eq!(again.attempt, 2);
    q.clock.advance(seconds(5));
    q.sweep().await;
    assert_eq!(cpu.claim().await, Claim::Nothing { next: Some(begin + seconds(65)) });
}

pub(crate) async fn a_pausing_job_holds_nobody_up_and_keeps_its_place(q: Fixture) {
    let keeper = q.node("keeper").await;
    let first = keeper.holds(job()).await.id;
    let [second, third] = q.submit_all([job(), job()]).await;
    q.lose_leases(&[&keeper]).await;
    assert_eq!(keeper.take().await.id, second);
    q.clock.advance(seconds(5));
    assert_eq!(keeper.take_all().await, [first, third]);
}

pub(crate) async fn the_third_lost_attempt_fails_the_job(q: Fixture) {
    let keeper = q.node("keeper").await;
    let id = q.submit(job()).await;
    for _ in 0..2 {
        keeper.take().await;
        q.lose_leases(&[&keeper]).await;
        q.wait_for(id, &[&keeper]).await;
    }
    keeper.take().await;
    let swept = q.lose_leases(&[&keeper]).await;

    let failed = q.job(id).await;
    assert_eq!(swept.failed, slice::from_ref(&failed));
    assert_eq!(swept.requeued, []);
    assert_eq!(failed.error, "lease of attempt 3 expired (3 of 3)");
    assert_eq!((failed.state, failed.failure_reason), (State::Failed, FailureReason::NodeLost));
    assert_eq!((failed.attempt, failed.lost_attempts), (3, 3));
    assert_eq!(
        (failed.finished_at, failed.lease_expires_at, failed.available_at),
        (Some(q.now()), None, None)
    );
    assert_eq!(q.outcomes(id).await, [(1, EXPIRED), (2, EXPIRED), (3, EXPIRED)]);
    assert!(keeper.has_nothing().await);
}

pub(crate) async fn a_submitter_may_allow_fewer_losses(q: Fixture) {
    let keeper = q.node("keeper").await;
    let id = keeper.holds(job().lost_limit(1)).await.id;
    assert_eq!(ids(&q.lose_leases(&[&keeper]).await.failed), [id]);
    assert_eq!(q.job(id).await.error, "lease of attempt 1 expired (1 of 1)");
}

pub(crate) async fn a_submitter_may_allow_more_losses(q: Fixture) {
    let keeper = q.node("keeper").await;
    let id = q.submit(job().lost_limit(5)).await;
    assert_eq!(q.job(id).await.max_lost_attempts, 5);
    for _ in 0..4 {
        keeper.take().await;
        q.lose_leases(&[&keeper]).await;
        assert_eq!(q.job(id).await.state, State::Pending);
        q.wait_for(id, &[&keeper]).await;
    }
    keeper.take().await;
    q.lose_leases(&[&keeper]).await;
    assert_eq!(q.job(id).await.error, "lease of attempt 5 expired (5 of 5)");
}

pub(crate) async fn attempts_that_were_given_back_are_not_counted_as_lost(q: Fixture) {
    let keeper = q.node("keeper").await;
    let taken = keeper.holds(job().lost_limit(1)).await;
    assert_eq!(keeper.release(&taken).await, Released::Moved);
    keeper.take().await;
    q.lose_leases(&[&keeper]).await;
    assert_eq!(q.job(taken.id).await.error, "lease of attempt 2 expired (1 of 1)");
}

pub(crate) async fn a_reported_failure_is_not_tried_again(q: Fixture) {
    let keeper = q.node("keeper").await;
    let taken = keeper.holds(job()).await;
    keeper.fail(&taken, "no such clip").await;
    assert!(keeper.has_nothing().await);
    q.lose_leases(&[&keeper]).await;
    assert!(keeper.has_nothing().await);
    assert_eq!(q.job(taken.id).await.attempt, 1);
}

pub(crate) async fn a_pausing_job_can_be_cancelled(q: Fixture) {
    let keeper = q.node("keeper").await;
    let id = keeper.holds(job()).await.id;
    q.lose_leases(&[&keeper]).await;
    assert!(q.cancelled(id, "enough").await.moved);
    assert_eq!(q.job(id).await.available_at, None);
    q.pass(seconds(10), &[&keeper]).await;
    assert!(keeper.has_nothing().await);
}
