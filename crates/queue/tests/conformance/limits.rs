//! Limits of tenants, and of the jobs that a node holds.

use tokio::task::JoinSet;
use vmafx_job::{ScoringRequest, TenantLimit, TenantLimits};
use vmafx_queue::job::JobUpdate;
use vmafx_queue::node::SessionToken;
use vmafx_queue::store::{Claim, Released, Retention};
use vmafx_queue::transition::State;
use vmafx_queue::{PullId, StoreError, StoreResult};

use crate::support::build::{JobBuilder, job, node, score, seconds, size};
use crate::support::fixture::Fixture;
use crate::support::node::{ReportKind, TestNode};

#[track_caller]
fn assert_reached<T: std::fmt::Debug>(refused: StoreResult<T>, expected: TenantLimit, at: u64) {
    match refused {
        Err(StoreError::LimitReached { limit, max }) => assert_eq!((limit, max), (expected, at)),
        other => panic!("{expected} of {at} was expected, not {other:?}"),
    }
}

async fn try_submit(q: &Fixture, job: JobBuilder) -> StoreResult<vmafx_queue::JobId> {
    q.store.submit(&q.tenant, job.0, &q.limits).await.map(|submitted| submitted.id)
}

fn pending(jobs: u64) -> TenantLimits {
    TenantLimits { pending_jobs: jobs, ..TenantLimits::default() }
}

fn stored(bytes: u64) -> TenantLimits {
    TenantLimits { stored_bytes: bytes, ..TenantLimits::default() }
}

/// A job whose request is longer by this many bytes.
fn longer(bytes: usize) -> JobBuilder {
    let mut job = job();
    job.0.scoring.reference.push_str(&"r".repeat(bytes));
    job
}

pub(crate) async fn a_tenant_with_as_many_waiting_jobs_as_it_may_have_submits_no_more(q: Fixture) {
    let q = q.limited(pending(2));
    q.submit_all([job(), job()]).await;
    assert_reached(try_submit(&q, job()).await, TenantLimit::PendingJobs, 2);
    assert_eq!(q.list(&vmafx_queue::store::Filter::default()).await.len(), 2, "nothing was stored");
    q.of("other").submit(job()).await;
    q.limited(pending(3)).submit(job()).await;
}

pub(crate) async fn a_known_key_finds_its_job_at_every_limit(q: Fixture) {
    let known = q.submit(job().key("k")).await;
    for limits in [pending(0), stored(0)] {
        let q = q.limited(limits);
        let again = q.submitted(job().key("k")).await;
        assert_eq!((again.id, again.deduplicated), (known, true));
        let other = q.store.submit(&q.tenant, job().key("k").priority(1).0, &q.limits).await;
        assert!(matches!(other, Err(StoreError::KeyReused { job }) if job == known), "{other:?}");
        assert!(try_submit(&q, job().key("l")).await.is_err());
    }
}

pub(crate) async fn a_job_that_waits_no_more_makes_room(q: Fixture) {
    let q = q.limited(pending(1));
    let node = q.node("n").await;
    let assert_full = async || assert_reached(try_submit(&q, job()).await, TenantLimit::PendingJobs, 1);

    let claimed = node.holds(job()).await;
    let cancelled = q.submit(job()).await;
    assert_full().await;
    q.cancelled(cancelled, "").await;
    q.submit(job().deadline(seconds(1))).await;
    assert_full().await;
    q.pass(seconds(1), &[&node]).await;
    q.submit(job()).await;
    assert_full().await;
    assert_eq!(node.complete(&claimed).await, ReportKind::Moved);
    assert_full().await;
}

pub(crate) async fn what_returns_to_the_queue_is_never_refused_and_takes_room(q: Fixture) {
    let q = q.limited(pending(1));
    let node = q.node("n").await;
    let held = [node.holds(job()).await, node.holds(job()).await, node.holds(job()).await];
    let pull = PullId(uuid::Uuid::from_u128(7));
    q.submit(job()).await;
    let named = node.take_for(pull).await;
    q.submit(job()).await;

    assert_eq!(node.release(&held[0]).await, Released::Moved);
    let reason = vmafx_job::FailureReason::SourceUnreachable;
    assert_eq!(node.fail_with(&held[1], reason, "away").await, ReportKind::Moved);
    assert_eq!(node.lost(&[pull]).await, 1);
    q.lose_leases(&[&node]).await;
    assert_eq!(q.job(held[2].id).await.state, State::Pending);
    assert_eq!(q.job(named.id).await.state, State::Pending);
    let stats = q.store.stats().await.unwrap();
    assert_eq!((stats[0].pending, stats[0].running), (5, 0));
    // All five have to go before another one is accepted.
    q.clock.advance(q.policy().backoff_max);
    for _ in 0..5 {
        assert_reached(try_submit(&q, job()).await, TenantLimit::PendingJobs, 1);
        node.take().await;
    }
    q.submit(job()).await;
}

pub(crate) async fn requests_and_results_take_room_until_they_are_removed(q: Fixture) {
    let result = score(80.0);
    let of_result = serde_json::to_string(&result.features).unwrap().len() as u64;
    let q = q.limited(stored(2 * size(&job()) + of_result - 1));
    let node = q.node("n").await;
    q.submit(job()).await;
    assert_reached(try_submit(&q, longer(100)).await, TenantLimit::StoredBytes, q.limits.stored_bytes);
    node.complete_with(&node.take().await, result).await;
    assert_reached(try_submit(&q, job()).await, TenantLimit::StoredBytes, q.limits.stored_bytes);
    q.of("other").submit(job()).await;

    q.clock.advance(seconds(2));
    let keep = Retention { jobs_for: seconds(1), jobs: 10, samples_for: seconds(1), samples: 10, batch: 10 };
    assert_eq!(q.store.prune(&keep).await.unwrap().jobs, 1);
    q.submit(job()).await;
    assert_reached(try_submit(&q, longer(100)).await, TenantLimit::StoredBytes, q.limits.stored_bytes);
}

pub(crate) async fn a_request_does_not_grow_beyond_the_limit_and_may_shrink(q: Fixture) {
    let exact = q.limited(stored(2 * size(&job()) + 10));
    let node = q.node("n").await;
    let running = node.holds(job()).await;
    let waiting = q.submit(job()).await;
    let with_report = |length: usize| {
        let report_uri = Some(format!("/{}.json", "r".repeat(length)));
        let scoring = ScoringRequest { report_uri, ..job().0.scoring };
        JobUpdate { scoring: Some(scoring), ..JobUpdate::default() }
    };
    for id in [running.id, waiting] {
        let before = q.job(id).await;
        let refused = exact.store.update(&q.tenant, id, with_report(100), &exact.limits).await;
        assert_reached(refused, TenantLimit::StoredBytes, exact.limits.stored_bytes);
        assert_eq!(q.job(id).await, before);
        let priority = JobUpdate { priority: Some(3), ..JobUpdate::default() };
        assert!(exact.updated(id, priority).await.changed, "what takes no room is changed");
        assert!(q.updated(id, with_report(100)).await.changed);
        let shorter = exact.updated(id, with_report(50)).await;
        assert!(shorter.changed, "{shorter:?}");
    }
}

pub(crate) async fn a_tenant_runs_no_more_jobs_than_it_may(q: Fixture) {
    let q = q.limited(TenantLimits { running_jobs: 2, ..TenantLimits::default() });
    let (one, two) = (q.node("one").await, q.node("two").await);
    let first = one.holds(job()).await;
    let second = two.holds(job()).await;
    let waiting = q.submit(job()).await;
    for node in [&one, &two] {
        assert_eq!(node.claim().await, Claim::LimitReached);
    }
    assert_eq!(q.explained(waiting).await.running, 2);
    q.of("other").node("one").await.holds(job()).await;

    assert_eq!(one.complete(&first).await, ReportKind::Moved);
    let third = one.take().await;
    assert_eq!(two.claim().await, Claim::LimitReached);
    q.cancelled(third.id, "").await;
    q.submit_all([job(), job(), job()]).await;
    let fourth = one.take().await;
    assert_eq!(one.release(&fourth).await, Released::Moved);
    assert_eq!(one.take().await.id, fourth.id);
    assert_eq!(one.claim().await, Claim::LimitReached);
    q.lose_leases(&[&one, &two]).await;
    one.take().await;
    two.take().await;
    assert_eq!(one.claim().await, Claim::LimitReached);
    // A late score ends a job that waits.
    assert_eq!(two.complete(&second).await, ReportKind::Moved);
    assert_eq!(two.claim().await, Claim::LimitReached);
}

async fn with_slots(q: &Fixture, slots: u32) -> TestNode {
    q.register(node("n").slots(slots)).await
}

pub(crate) async fn a_node_holds_no_more_jobs_than_it_has_slots(q: Fixture) {
    let node = with_slots(&q, 2).await;
    let [first, second] = [node.holds(job()).await, node.holds(job()).await];
    let waiting = q.submit(job()).await;
    assert_eq!(node.claim().await, Claim::NoFreeSlot);
    assert_eq!(q.job(waiting).await.state, State::Pending);

    assert_eq!(node.complete(&first).await, ReportKind::Moved);
    let third = node.take().await;
    q.submit(job()).await;
    assert_eq!(node.claim().await, Claim::NoFreeSlot);
    // The node may still finish it, but the queue has taken it back.
    q.cancelled(second.id, "").await;
    node.take().await;
    assert_eq!(node.release(&third).await, Released::Moved);
    assert_eq!(node.take().await.id, third.id);
    q.lose_leases(&[&node]).await;
    q.submit_all([job(), job()]).await;
    node.take().await;
    node.take().await;
    assert_eq!(node.claim().await, Claim::NoFreeSlot);
}

pub(crate) async fn a_job_whose_assignment_was_lost_takes_a_slot_until_its_pull_is_named(q: Fixture) {
    let node = with_slots(&q, 1).await;
    let pull = PullId(uuid::Uuid::from_u128(7));
    let id = q.submit(job()).await;
    node.take_for(pull).await;
    assert_eq!(node.claim().await, Claim::NoFreeSlot);
    assert_eq!(node.lost(&[pull]).await, 1);
    assert_eq!(node.take().await.id, id);
}

pub(crate) async fn slots_are_counted_by_session_and_a_node_without_any_has_one(q: Fixture) {
    let node = with_slots(&q, 0).await;
    node.holds(job()).await;
    q.submit(job()).await;
    assert_eq!(node.claim().await, Claim::NoFreeSlot);
    with_slots(&q, 1).await.take().await;
}

pub(crate) async fn a_tenant_has_no_more_sessions_than_it_may(q: Fixture) {
    let q = q.limited(TenantLimits { nodes: 2, ..TenantLimits::default() });
    let (one, two) = (q.node("one").await, q.node("two").await);
    let third = || q.store.register(&q.tenant, node("three").0, &q.limits);
    assert_reached(third().await, TenantLimit::Nodes, 2);
    q.of("other").node("three").await;

    q.pass(q.policy().session_ttl, &[&one]).await;
    third().await.unwrap();
    assert!(two.heartbeat(&[]).await.is_none());
    assert!(one.heartbeat(&[]).await.is_some());
}

pub(crate) async fn at_the_limit_a_registration_replaces_the_oldest_session_of_its_name(q: Fixture) {
    let q = q.limited(TenantLimits { nodes: 3, ..TenantLimits::default() });
    let other = q.node("other").await;
    let (first, second) = (q.node("n").await, q.node("n").await);
    q.clock.advance(seconds(1));
    // The one that registered first was heard from last.
    let held = first.holds(job()).await;
    assert!(first.heartbeat(&[held.id]).await.is_some());
    let third = q.node("n").await;
    assert!(second.heartbeat(&[]).await.is_none(), "replaced");
    for node in [&other, &first, &third] {
        assert!(node.heartbeat(&[]).await.is_some());
    }
    assert_eq!(first.complete(&held).await, ReportKind::Moved);
}

pub(crate) async fn what_a_tenant_holds_is_known_after_a_restart(q: Fixture) {
    let limits = TenantLimits {
        pending_jobs: 2,
        running_jobs: 1,
        stored_bytes: 3 * size(&job()) + 50,
        ..TenantLimits::default()
    };
    let q = q.limited(limits);
    let node = with_slots(&q, 1).await;
    node.holds(job()).await;
    q.submit_all([job(), job()]).await;
    let q = q.reopened().await;
    let node = TestNode { queue: q.clone(), ..node };
    assert_reached(try_submit(&q, job()).await, TenantLimit::PendingJobs, 2);
    let more_jobs = q.limited(TenantLimits { pending_jobs: 9, ..limits });
    assert_reached(try_submit(&more_jobs, job()).await, TenantLimit::StoredBytes, limits.stored_bytes);
    assert_eq!(node.claim().await, Claim::NoFreeSlot);
    assert_eq!(q.node("m").await.claim().await, Claim::LimitReached);
}

pub(crate) async fn nothing_is_counted_twice_or_left_over(q: Fixture) {
    let node = q.node("n").await;
    let done = node.holds(longer(50).key("k").label(3.0)).await;
    q.submitted(longer(50).key("k").label(3.0)).await;
    node.complete(&done).await;
    node.complete(&done).await;
    q.label(done.id, 4.0).await;
    let failed = node.holds(job()).await;
    node.fail(&failed, "no").await;
    let cancelled = node.holds(longer(9)).await;
    q.cancelled(cancelled.id, "").await;
    q.cancelled(cancelled.id, "").await;
    let late = node.holds(job()).await;
    q.lose_leases(&[&node]).await;
    assert_eq!(node.complete(&late).await, ReportKind::Moved);
    q.clock.advance(seconds(2));
    let keep = Retention { jobs_for: seconds(1), jobs: 10, samples_for: seconds(1), samples: 10, batch: 10 };
    assert_eq!(q.store.prune(&keep).await.unwrap().jobs, 4);
    let left = q.store.stats().await.unwrap();
    let left: Vec<_> = left.iter().map(|of| (of.pending, of.running, of.stored_bytes)).collect();
    assert!(left.iter().all(|of| *of == (0, 0, 0)), "{left:?}");
    // One job fits exactly.
    let q = q.limited(TenantLimits { pending_jobs: 1, stored_bytes: size(&job()), ..q.limits });
    q.submit(job()).await;
}

pub(crate) async fn concurrent_submissions_do_not_exceed_the_limit(q: Fixture) {
    let q = q.limited(pending(10));
    let mut submitting = JoinSet::new();
    for _ in 0..60 {
        let q = q.clone();
        submitting.spawn(async move { try_submit(&q, job()).await.is_ok() });
    }
    let accepted = submitting.join_all().await.into_iter().filter(|accepted| *accepted).count();
    assert_eq!(accepted, 10);
}

pub(crate) async fn concurrent_claims_of_a_session_do_not_exceed_its_slots(q: Fixture) {
    let node = with_slots(&q, 3).await;
    for _ in 0..30 {
        q.submit(job()).await;
    }
    let mut claiming = JoinSet::new();
    for number in 0..30 {
        let mut node = node.clone();
        // Claims for other backends are not made together.
        node.backends = if number % 2 == 0 { vec!["cpu".into()] } else { vec!["cuda".into()] };
        claiming.spawn(async move { matches!(node.claim().await, Claim::Job(_)) });
    }
    let claimed = claiming.join_all().await.into_iter().filter(|claimed| *claimed).count();
    assert_eq!(claimed, 3);
}

pub(crate) async fn a_claim_at_a_limit_still_needs_its_own_session(q: Fixture) {
    let node = with_slots(&q, 1).await;
    node.holds(job()).await;
    let mut stranger = node.clone();
    stranger.who.token = SessionToken("guess".into());
    assert_eq!(stranger.claim().await, Claim::NoSession);
}
