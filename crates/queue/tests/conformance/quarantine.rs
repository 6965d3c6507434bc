//! Nodes that fail attempts in a row get nothing but jobs on trial.

use vmafx_job::FailureReason;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::quarantine::Quarantine;
use vmafx_queue::store::Claim;

use crate::support::build::{job, node, seconds};
use crate::support::fixture::Fixture;
use crate::support::node::{ReportKind, TestNode};

const REASON: FailureReason = FailureReason::InputMissingOnNode;

/// Quarantines a node beside a healthy one; returns when its first pause ends.
async fn quarantined(q: &Fixture, broken: &TestNode) -> Timestamp {
    for _ in 0..3 {
        broken.fails_one(REASON).await;
    }
    q.now() + seconds(30)
}

async fn shown(q: &Fixture, name: &str) -> Option<Quarantine> {
    let nodes = q.store.nodes(&q.tenant).await.unwrap();
    nodes.into_iter().find(|node| node.name == name).unwrap().quarantine
}

pub(crate) async fn three_failures_in_a_row_quarantine_a_node(q: Fixture) {
    let (broken, other) = (q.node("broken").await, q.node("other").await);
    for _ in 0..2 {
        broken.fails_one(REASON).await;
    }
    assert_eq!(shown(&q, "broken").await, None);
    broken.fails_one(REASON).await;
    let until = q.now() + seconds(30);
    let id = q.submit(job()).await;
    assert_eq!(broken.claim().await, Claim::Quarantined { until });
    let expected = Quarantine { failures: 3, until, reason: REASON, error: "broken".into() };
    assert_eq!(shown(&q, "broken").await, Some(expected.clone()));
    assert_eq!(shown(&q, "other").await, None);
    assert_eq!(q.store.stats().await.unwrap()[0].quarantined, 1);
    let explained = q.explained(id).await;
    assert_eq!(explained.quarantined.len(), 1);
    assert_eq!(
        (explained.quarantined[0].name.as_str(), &explained.quarantined[0].quarantine),
        ("broken", &expected)
    );
    assert_eq!(other.take().await.id, id);
}

pub(crate) async fn failures_that_are_not_the_nodes_do_not_count(q: Fixture) {
    let broken = q.node("n").await;
    q.node("other").await;
    for reason in
        [FailureReason::SourceUnreachable, FailureReason::InputInvalid, FailureReason::OptionsInvalid]
    {
        for _ in 0..4 {
            broken.fails_one(reason).await;
        }
    }
    assert_eq!(shown(&q, "n").await, None);
    broken.holds(job()).await;
}

pub(crate) async fn a_score_ends_the_count(q: Fixture) {
    let node = q.node("n").await;
    q.node("other").await;
    for _ in 0..2 {
        for _ in 0..2 {
            node.fails_one(REASON).await;
        }
        let taken = node.holds(job()).await;
        assert_eq!(node.complete(&taken).await, ReportKind::Moved);
    }
    assert_eq!(shown(&q, "n").await, None);
}

pub(crate) async fn a_quarantined_node_gets_one_job_on_trial_at_the_end_of_each_pause(q: Fixture) {
    let (broken, other) = (q.node("broken").await, q.node("other").await);
    let mut until = quarantined(&q, &broken).await;
    for pause in [60, 120, 240, 480, 600, 600] {
        q.pass(until.since(q.now()), &[&broken, &other]).await;
        other.take_all().await;
        let id = q.submit(job().priority(9)).await;
        q.submit(job().priority(9)).await;
        let trial = broken.take().await;
        assert_eq!(trial.id, id);
        assert!(matches!(broken.claim().await, Claim::Quarantined { .. }), "one job on trial");
        broken.fail_with(&trial, REASON, "still broken").await;
        until = q.now() + seconds(pause);
        assert_eq!(broken.claim().await, Claim::Quarantined { until });
    }
}

pub(crate) async fn a_successful_trial_ends_the_quarantine(q: Fixture) {
    let (broken, other) = (q.node("broken").await, q.node("other").await);
    let until = quarantined(&q, &broken).await;
    q.pass(until.since(q.now()), &[&broken, &other]).await;
    other.take_all().await;
    let trial = broken.holds(job()).await;
    assert_eq!(broken.complete(&trial).await, ReportKind::Moved);
    assert_eq!(shown(&q, "broken").await, None);
    broken.holds(job()).await;
    broken.holds(job()).await;
}

pub(crate) async fn a_trial_without_a_job_starts_no_new_pause(q: Fixture) {
    let (broken, other) = (q.node("broken").await, q.node("other").await);
    let until = quarantined(&q, &broken).await;
    q.pass(until.since(q.now()), &[&broken, &other]).await;
    other.take_all().await;
    for _ in 0..2 {
        assert_eq!(broken.claim().await, Claim::Nothing { next: None });
    }
    broken.holds(job()).await;
}

pub(crate) async fn a_quarantine_survives_restarts_of_the_node_and_of_the_store(q: Fixture) {
    let (broken, other) = (q.node("broken").await, q.node("other").await);
    let until = quarantined(&q, &broken).await;
    q.submit(job()).await;
    let q = q.reopened().await;
    let again = q.node("broken").await;
    assert_eq!(again.claim().await, Claim::Quarantined { until });
    let other = TestNode { queue: q.clone(), ..other };
    other.take().await;
}

pub(crate) async fn a_node_that_nobody_can_stand_in_for_is_tried_more_often(q: Fixture) {
    let broken = q.register(node("broken").backends(["cuda"])).await;
    q.node("other").await;
    for _ in 0..5 {
        let taken = broken.take_or(job().backend("cuda")).await;
        broken.fail_with(&taken, REASON, "broken").await;
        q.pass(seconds(5), &[&broken]).await;
    }
    let taken = broken.take_or(job().backend("cuda")).await;
    broken.fail_with(&taken, REASON, "broken").await;
    let until = q.now() + q.policy().lone_trial_interval;
    assert_eq!(broken.claim().await, Claim::Quarantined { until });
}

pub(crate) async fn failures_that_another_node_repeats_are_withdrawn(q: Fixture) {
    let (a, b) = (q.node("a").await, q.node("b").await);
    for _ in 0..3 {
        a.fails_one(REASON).await;
    }
    assert!(shown(&q, "a").await.is_some());
    q.pass(seconds(5), &[&a, &b]).await;
    let taken = b.take().await;
    b.fail_with(&taken, REASON, "not here either").await;
    assert_eq!(shown(&q, "a").await, None, "the clip is missing, not the node's volume");
    // What the second node reported does not count against it either.
    for _ in 0..2 {
        let taken = b.take().await;
        b.fail_with(&taken, REASON, "not here either").await;
    }
    assert_eq!(shown(&q, "b").await, None);
    a.holds(job()).await;
}

pub(crate) async fn a_quarantine_is_of_one_tenant(q: Fixture) {
    let broken = q.node("broken").await;
    q.node("other").await;
    quarantined(&q, &broken).await;
    let theirs = q.of("other").node("broken").await;
    theirs.holds(job()).await;
}
