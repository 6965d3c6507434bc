//! What a sweep ends, and when it must renew leases instead.

use std::collections::BTreeSet;
use std::time::Duration;

use vmafx_queue::policy::Policy;
use vmafx_queue::store::Swept;
use vmafx_queue::transition::State;

use crate::support::build::{job, seconds};
use crate::support::fixture::{Fixture, ids};
use crate::support::node::ReportKind;

fn renewing() -> Swept {
    Swept { renewed: true, ..Swept::default() }
}

/// A job whose lease has five seconds left, on a store that was swept at this instant.
async fn nearly_over(q: &Fixture) -> (crate::support::node::TestNode, vmafx_queue::Job) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.pass(q.policy().lease_ttl.saturating_sub(seconds(5)), &[&node]).await;
    (node, taken)
}

pub(crate) async fn a_sweep_with_nothing_to_end_ends_nothing(q: Fixture) {
    q.node("n").await.holds(job()).await;
    q.submit(job()).await;
    assert_eq!(q.sweep().await, Swept::default());
}

pub(crate) async fn a_sweep_that_comes_in_time_ends_a_lease(q: Fixture) {
    let (_, taken) = nearly_over(&q).await;
    q.clock.advance(q.policy().max_sweep_gap());
    let swept = q.sweep().await;
    assert!(!swept.renewed);
    assert_eq!(ids(&swept.requeued), [taken.id]);
}

pub(crate) async fn a_sweep_that_comes_late_gives_every_lease_its_full_time_again(q: Fixture) {
    let (node, taken) = nearly_over(&q).await;
    q.clock.advance(q.policy().max_sweep_gap() + Duration::from_millis(1));
    assert_eq!(q.sweep().await, renewing());
    let kept = q.job(taken.id).await;
    assert_eq!(kept.lease_expires_at, Some(q.now() + q.policy().lease_ttl));
    assert_eq!((kept.state, kept.revision), (State::Running, taken.revision));
    assert_eq!(node.complete(&taken).await, ReportKind::Moved);
}

pub(crate) async fn a_renewed_lease_still_expires(q: Fixture) {
    let (node, taken) = nearly_over(&q).await;
    q.clock.advance(seconds(3600));
    assert_eq!(q.sweep().await, renewing());
    assert_eq!(q.pass(q.policy().lease_ttl.saturating_sub(seconds(1)), &[&node]).await.requeued, []);
    assert_eq!(ids(&q.pass(seconds(1), &[&node]).await.requeued), [taken.id]);
}

pub(crate) async fn a_sweep_that_comes_late_gives_every_session_its_full_time_again(q: Fixture) {
    let node = q.node("n").await;
    q.clock.advance(q.policy().session_ttl * 2);
    assert_eq!(q.sweep().await, renewing());
    assert_eq!(q.pass(q.policy().session_ttl.saturating_sub(seconds(1)), &[]).await.evicted, []);
    assert!(node.has_nothing().await);
    assert_eq!(q.pass(seconds(1), &[]).await.evicted.len(), 1);
}

pub(crate) async fn a_clock_that_jumps_ahead_costs_nobody_a_lease(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.clock.set_ahead(Duration::from_hours(24 * 365));
    assert_eq!(q.sweep().await, renewing());
    assert_eq!(node.heartbeat(&[taken.id]).await.unwrap().lost, []);
    assert_eq!(q.pass(seconds(30), &[]).await, Swept::default());
    assert_eq!(node.complete(&taken).await, ReportKind::Moved);
}

pub(crate) async fn a_clock_that_jumps_back_costs_nobody_a_lease(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.clock.turn_back(Duration::from_hours(24));
    assert_eq!(q.sweep().await, renewing());
    let kept = q.job(taken.id).await;
    assert_eq!(
        kept.lease_expires_at,
        Some(q.now() + q.policy().lease_ttl),
        "the lease lasts no longer than its duration"
    );
    assert_eq!(q.lose_leases(&[&node]).await.requeued.len(), 1);
}

pub(crate) async fn a_step_of_the_clock_expires_no_lease_and_holds_none_for_ever(q: Fixture) {
    for step in [seconds(600), Duration::from_hours(8)] {
        for ahead in [true, false] {
            let node = q.node("n").await;
            let taken = node.holds(job()).await;
            if ahead {
                q.clock.set_ahead(step);
            } else {
                q.clock.turn_back(step);
            }
            assert_eq!(q.sweep().await, renewing(), "{step:?}");
            assert_eq!(node.heartbeat(&[taken.id]).await.unwrap().lost, []);
            let seen = q.store.nodes(&q.tenant).await.unwrap();
            assert!(seen.iter().any(|seen| seen.last_seen_at == q.now()), "heartbeats follow the clock");
            assert_eq!(ids(&q.lose_leases(&[&node]).await.requeued), [taken.id], "{step:?}");
            q.cancelled(taken.id, "").await;
        }
    }
}

pub(crate) async fn a_clock_that_is_set_back_lengthens_no_backoff_beyond_its_maximum(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.lose_leases(&[&node]).await;
    // The store cannot know how long the clock was wrong before it was opened.
    q.clock.turn_back(Duration::from_hours(8));
    let q = q.reopened().await;
    let node = q.node("n").await;
    assert_eq!(q.sweep().await, renewing());
    let until = q.job(taken.id).await.available_at.unwrap();
    assert_eq!(until, q.now() + q.policy().backoff_max);
    q.pass(q.policy().backoff_max, &[&node]).await;
    assert_eq!(node.take_all().await, [taken.id]);
}

pub(crate) async fn a_late_sweep_ends_no_deadline_but_the_next_one_does(q: Fixture) {
    let id = q.submit(job().deadline(seconds(30))).await;
    q.clock.advance(seconds(60));
    assert_eq!(q.sweep().await, renewing());
    assert_eq!(q.job(id).await.state, State::Pending);
    q.clock.advance(seconds(5));
    assert_eq!(ids(&q.sweep().await.failed), [id]);
}

pub(crate) async fn two_sweeps_at_one_instant_are_as_good_as_one(q: Fixture) {
    let (_, taken) = nearly_over(&q).await;
    q.clock.advance(seconds(5));
    assert_eq!(ids(&q.sweep().await.requeued), [taken.id]);
    assert_eq!(q.sweep().await, Swept::default());
    assert_eq!(q.job(taken.id).await.lost_attempts, 1);
}

pub(crate) async fn a_sweep_covers_all_tenants(q: Fixture) {
    let ours = q.node("ours").await.holds(job()).await;
    let theirs = q.of("other").node("theirs").await.holds(job()).await;
    let swept = q.lose_leases(&[]).await;
    let requeued: BTreeSet<_> = ids(&swept.requeued).into_iter().collect();
    assert_eq!(requeued, BTreeSet::from([ours.id, theirs.id]));
    let evicted: BTreeSet<_> = swept.evicted.into_iter().collect();
    let expected =
        [(q.tenant.clone(), "ours".to_owned()), (q.of("other").tenant.clone(), "theirs".to_owned())];
    assert_eq!(evicted, BTreeSet::from(expected));
}

pub(crate) async fn more_than_a_thousand_leases_end_in_several_sweeps(q: Fixture) {
    let node = q.node("n").await;
    for _ in 0..1010 {
        q.submit(job()).await;
    }
    assert_eq!(node.take_all().await.len(), 1010);
    q.pass(q.policy().lease_ttl.saturating_sub(seconds(1)), &[&node]).await;
    q.clock.advance(seconds(1));
    let counts =
        [q.sweep().await.requeued.len(), q.sweep().await.requeued.len(), q.sweep().await.requeued.len()];
    assert!(counts[0] <= 1000, "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>(), 1010, "{counts:?}");
    assert_eq!(counts[2], 0, "{counts:?}");
}

pub(crate) async fn a_lease_shorter_than_a_session_ends_first(q: Fixture) {
    let q = q.fresh(Policy { lease_ttl: seconds(20), ..Policy::default() }).await;
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    let swept = q.pass(seconds(20), &[]).await;
    assert_eq!((ids(&swept.requeued), swept.evicted.len()), (vec![taken.id], 0));
}
