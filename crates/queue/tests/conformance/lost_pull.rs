//! Jobs whose assignment never reached their node.

use uuid::Uuid;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::transition::State;
use vmafx_queue::{PullId, lost_pull};

use crate::support::build::job;
use crate::support::fixture::Fixture;
use crate::support::node::ReportKind;

fn pull(number: u128) -> PullId {
    PullId(Uuid::from_u128(number))
}

pub(crate) async fn a_job_of_a_lost_pull_waits_again_at_once_and_no_attempt_is_lost(q: Fixture) {
    let node = q.node("n").await;
    let id = q.submit(job().lost_limit(1)).await;
    let taken = node.take_for(pull(1)).await;
    let cursor = q.position().await;
    assert_eq!(node.lost(&[pull(1)]).await, 1);
    let waiting = q.job(id).await;
    assert_eq!((waiting.state, waiting.lost_attempts), (State::Pending, 0));
    assert_eq!(q.changed_ids(&cursor).await, [id]);
    let attempts = q.store.attempts(&q.tenant, id).await.unwrap();
    assert_eq!(attempts[0].ended.unwrap().1, AttemptOutcome::Released);
    assert_eq!(attempts[0].error, lost_pull::REASON);
    let again = node.take_for(pull(2)).await;
    assert_eq!((again.id, again.attempt), (id, 2));
    assert_eq!(node.complete(&taken).await, ReportKind::Fenced);
    assert_eq!(node.complete(&again).await, ReportKind::Moved);
}

pub(crate) async fn only_the_named_pulls_of_a_session_are_given_back(q: Fixture) {
    let (node, other) = (q.node("n").await, q.node("other").await);
    for _ in 0..4 {
        q.submit(job()).await;
    }
    let (lost, kept) = (node.take_for(pull(1)).await, node.take_for(pull(2)).await);
    let (unnamed, theirs) = (node.take().await, other.take_for(pull(1)).await);
    assert_eq!(node.with_wrong_token().lost(&[pull(1)]).await, 0);
    assert_eq!(node.of("other").lost(&[pull(1)]).await, 0);
    assert_eq!(node.lost(&[pull(1), pull(9)]).await, 1);
    assert_eq!(q.job(lost.id).await.state, State::Pending);
    for held in [kept, unnamed, theirs] {
        assert_eq!(q.job(held.id).await, held);
    }
}

pub(crate) async fn a_lost_pull_may_be_named_again(q: Fixture) {
    let node = q.node("n").await;
    q.submit(job()).await;
    node.take_for(pull(1)).await;
    assert_eq!(node.lost(&[pull(1)]).await, 1);
    assert_eq!(node.lost(&[pull(1)]).await, 0);
    let again = node.take_for(pull(2)).await;
    assert_eq!(node.lost(&[pull(1)]).await, 0);
    assert_eq!(q.job(again.id).await, again);
    node.complete(&again).await;
    assert_eq!(node.lost(&[pull(1), pull(2)]).await, 0);
    assert_eq!(q.job(again.id).await.state, State::Completed);
}

pub(crate) async fn a_claim_that_came_after_its_pull_was_named_is_given_back_when_named_again(q: Fixture) {
    let node = q.node("n").await;
    let id = q.submit(job()).await;
    assert_eq!(node.lost(&[pull(1)]).await, 0);
    node.take_for(pull(1)).await;
    assert_eq!(node.lost(&[pull(1)]).await, 1);
    assert_eq!(q.job(id).await.state, State::Pending);
}
