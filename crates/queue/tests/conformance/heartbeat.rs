//! Heartbeats and sessions.

use std::time::Duration;

use vmafx_queue::JobId;
use vmafx_queue::job::Progress;
use vmafx_queue::node::{Heartbeat, HeartbeatReply};
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{Claim, Filter, Released};
use vmafx_queue::transition::State;

use crate::support::build::{job, seconds};
use crate::support::fixture::{Fixture, ids};
use crate::support::node::ReportKind;

pub(crate) async fn a_heartbeat_extends_the_leases_it_names_and_no_others(q: Fixture) {
    let node = q.node("n").await;
    let named = node.holds(job()).await;
    let left_out = node.holds(job()).await;
    q.clock.advance(seconds(10));
    assert_eq!(node.heartbeat(&[named.id]).await, Some(HeartbeatReply::default()));
    assert_eq!(q.job(named.id).await.lease_expires_at, Some(q.now() + q.policy().lease_ttl));
    assert_eq!(q.job(left_out.id).await.lease_expires_at, left_out.lease_expires_at);
    q.sweep().await;
    let swept = q.pass(seconds(50), &[&node]).await;
    assert_eq!(ids(&swept.requeued), [left_out.id]);
}

pub(crate) async fn a_heartbeat_does_not_extend_the_lease_of_another_node(q: Fixture) {
    let (holder, other) = (q.node("holder").await, q.node("other").await);
    let taken = holder.holds(job()).await;
    q.clock.advance(seconds(10));
    let reply = other.heartbeat(&[taken.id]).await.unwrap();
    assert_eq!(reply, HeartbeatReply { cancelled: vec![], lost: vec![taken.id] });
    assert_eq!(q.job(taken.id).await, taken);
}

pub(crate) async fn a_heartbeat_tells_what_was_cancelled_and_what_was_lost_in_the_order_given(q: Fixture) {
    let (node, other) = (q.node("n").await, q.node("other").await);
    let lost = node.holds(job()).await.id;
    q.lose_leases(&[&node, &other]).await;
    let held = node.holds(job()).await.id;
    let cancelled = node.holds(job()).await.id;
    q.cancelled(cancelled, "x").await;
    let completed = node.holds(job()).await;
    node.complete(&completed).await;
    let elsewhere = other.holds(job()).await.id;
    let waiting = q.submit(job()).await;
    let cancelled_unheld = q.submit(job()).await;
    q.cancelled(cancelled_unheld, "x").await;
    let unknown = JobId(uuid::Uuid::from_u128(7));
    let foreign = q.of("other").submit(job()).await;

    let named = [elsewhere, cancelled_unheld, unknown, held, lost, cancelled, foreign, completed.id, waiting];
    let reply = node.heartbeat(&named).await.unwrap();
    assert_eq!(reply.cancelled, [cancelled_unheld, cancelled]);
    assert_eq!(reply.lost, [elsewhere, unknown, lost, foreign, completed.id, waiting]);
    let mut reversed = named;
    reversed.reverse();
    let reply = node.heartbeat(&reversed).await.unwrap();
    assert_eq!(reply.cancelled, [cancelled, cancelled_unheld]);
    assert_eq!(reply.lost, [waiting, completed.id, foreign, lost, unknown, elsewhere]);
}

pub(crate) async fn a_heartbeat_may_name_sixty_four_jobs(q: Fixture) {
    let node = q.node("n").await;
    let mut held = Vec::new();
    for _ in 0..64 {
        held.push(node.holds(job()).await.id);
    }
    q.clock.advance(seconds(10));
    assert_eq!(node.heartbeat(&held).await, Some(HeartbeatReply::default()));
    let until = Some(q.now() + q.policy().lease_ttl);
    assert!(q.list(&Filter::default()).await.iter().all(|job| job.lease_expires_at == until));
}

pub(crate) async fn a_heartbeat_changes_no_revision_and_announces_nothing(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    let cursor = q.position().await;
    q.clock.advance(seconds(10));
    node.progress(&taken, 5, 10).await;
    let seen = q.job(taken.id).await;
    assert_eq!((seen.revision, seen.updated_at), (taken.revision, taken.updated_at));
    assert_eq!(q.changed_ids(&cursor).await, []);
}

pub(crate) async fn progress_is_seen_by_every_reader(q: Fixture) {
    let start = q.position().await;
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    assert_eq!(q.job(taken.id).await.progress, None);
    node.progress(&taken, 5, 0).await;
    assert_eq!(q.job(taken.id).await.progress, Some(Progress { done: 5, total: 0 }));
    node.progress(&taken, 7, 100).await;
    let seen = Some(Progress { done: 7, total: 100 });
    assert_eq!(q.job(taken.id).await.progress, seen);
    assert_eq!(q.list(&Filter::default()).await[0].progress, seen);
    assert_eq!(q.changes(&start, 10).await.jobs[0].1.progress, seen);
    assert_eq!(q.explained(taken.id).await.job.progress, seen);
    node.heartbeat(&[taken.id]).await;
    assert_eq!(q.job(taken.id).await.progress, seen, "a heartbeat without progress keeps the last progress");
}

pub(crate) async fn progress_ends_with_its_attempt(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    node.progress(&taken, 5, 10).await;
    q.lose_leases(&[&node]).await;
    assert_eq!(q.job(taken.id).await.progress, None);
    q.wait_for(taken.id, &[&node]).await;
    let again = node.take().await;
    assert_eq!(again.progress, None);
    node.progress(&again, 1, 10).await;
    node.complete(&again).await;
    assert_eq!(q.job(taken.id).await.progress, None);
}

pub(crate) async fn progress_of_an_older_attempt_is_ignored(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    node.release(&taken).await;
    let again = node.take().await;
    node.progress(&again, 1, 10).await;
    node.progress(&taken, 9, 10).await;
    assert_eq!(q.job(taken.id).await.progress, Some(Progress { done: 1, total: 10 }));
}

pub(crate) async fn progress_of_another_nodes_job_is_ignored(q: Fixture) {
    let (holder, other) = (q.node("holder").await, q.node("other").await);
    let taken = holder.holds(job()).await;
    other.progress(&taken, 9, 10).await;
    assert_eq!(q.job(taken.id).await.progress, None);
}

pub(crate) async fn a_heartbeat_needs_its_own_session(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.clock.advance(seconds(10));
    assert_eq!(node.with_wrong_token().heartbeat(&[taken.id]).await, None);
    assert_eq!(node.of("other").heartbeat(&[taken.id]).await, None);
    assert_eq!(q.job(taken.id).await, taken);
}

pub(crate) async fn a_session_ends_at_its_instant_and_not_before(q: Fixture) {
    let node = q.node("n").await;
    let just_before = q.policy().session_ttl.saturating_sub(Duration::from_millis(1));
    assert_eq!(q.pass(just_before, &[]).await.evicted, []);
    assert!(node.has_nothing().await);
    let swept = q.pass(Duration::from_millis(1), &[]).await;
    assert_eq!(swept.evicted, [(q.tenant.clone(), "n".to_owned())]);
    assert_eq!(node.claim().await, Claim::NoSession);
    assert_eq!(q.store.nodes(&q.tenant).await.unwrap(), []);
}

pub(crate) async fn only_the_sweep_ends_a_session(q: Fixture) {
    let node = q.node("n").await;
    q.clock.advance(q.policy().session_ttl * 5);
    assert!(node.has_nothing().await);
    assert_eq!(q.store.nodes(&q.tenant).await.unwrap().len(), 1);
    assert_eq!(node.heartbeat(&[]).await, Some(HeartbeatReply::default()));
}

pub(crate) async fn a_heartbeat_keeps_a_session_alive(q: Fixture) {
    let node = q.node("n").await;
    let swept = q.pass(q.policy().session_ttl * 3, &[&node]).await;
    assert_eq!(swept.evicted, []);
}

pub(crate) async fn an_evicted_session_is_over_for_good(q: Fixture) {
    let policy = Policy { session_ttl: seconds(30), ..Policy::default() };
    let q = q.fresh(policy).await;
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    assert_eq!(q.pass(seconds(30), &[]).await.evicted.len(), 1);
    assert_eq!(node.heartbeat(&[taken.id]).await, None);
    assert_eq!(node.heartbeat(&[]).await, None);
    assert_eq!(node.claim().await, Claim::NoSession);
    assert_eq!(node.complete(&taken).await, ReportKind::NoSession);
    assert_eq!(node.release(&taken).await, Released::NoSession);
}

pub(crate) async fn jobs_of_an_evicted_session_wait_for_their_leases(q: Fixture) {
    let policy = Policy { session_ttl: seconds(30), ..Policy::default() };
    let q = q.fresh(policy).await;
    let taken = q.node("n").await.holds(job()).await;
    let swept = q.pass(seconds(30), &[]).await;
    assert_eq!((swept.evicted.len(), swept.requeued.len()), (1, 0));
    assert_eq!(q.job(taken.id).await, taken);
    assert_eq!(ids(&q.pass(seconds(30), &[]).await.requeued), [taken.id]);
}

pub(crate) async fn a_node_that_registers_again_is_a_second_session(q: Fixture) {
    let (old, new) = (q.node("n").await, q.node("n").await);
    let taken = old.holds(job()).await;
    assert_eq!(new.heartbeat(&[taken.id]).await.unwrap().lost, [taken.id]);
    assert_eq!(q.store.nodes(&q.tenant).await.unwrap().len(), 2);
    assert_eq!(old.complete(&taken).await, ReportKind::Moved);
}

pub(crate) async fn a_job_claimed_and_lost_by_one_may_be_finished_by_another(q: Fixture) {
    let gone = q.node("gone").await;
    let taken = gone.holds(job()).await;
    q.lose_leases(&[]).await;
    assert_eq!(gone.claim().await, Claim::NoSession);
    let next = q.node("next").await;
    q.wait_for(taken.id, &[&next]).await;
    let again = next.take().await;
    assert_eq!((again.attempt, again.node.as_deref()), (2, Some("next")));
    assert_eq!(next.complete(&again).await, ReportKind::Moved);
    let over = q.job(taken.id).await;
    assert_eq!((over.state, over.lost_attempts), (State::Completed, 1));
}

pub(crate) async fn an_empty_heartbeat_is_one(q: Fixture) {
    let node = q.node("n").await;
    assert_eq!(node.heartbeat_with(Heartbeat::default()).await, Some(HeartbeatReply::default()));
}
