//! Opening, restarting, closing.

use vmafx_job::{CancelCause, TenantLimits};
use vmafx_queue::StoreError;
use vmafx_queue::job::Labeller;
use vmafx_queue::node::{Heartbeat, Report};
use vmafx_queue::store::{Filter, Retention, Submitted};
use vmafx_queue::transition::State;

use crate::support::build::{first, job, node, origin, percent, score, seconds};
use crate::support::fixture::Fixture;
use crate::support::node::ReportKind;

pub(crate) async fn an_open_store_is_ready(q: Fixture) {
    q.store.ready().await.unwrap();
}

pub(crate) async fn everything_survives_a_restart(q: Fixture) {
    let holder = q.register(node("n").labels([("a", "b")]).resource(origin("x", "y"))).await;
    let done = holder.holds(job().label(50.0)).await;
    holder.complete(&done).await;
    holder.holds(job()).await;
    let lost = q.submit(job().key("k").deadline(seconds(900))).await;
    let jobs = q.list(&Filter::default()).await;
    let attempts = q.attempts(done.id).await;
    let nodes = q.store.nodes(&q.tenant).await.unwrap();
    let samples = q.all_samples().await;

    let q = q.reopened().await;
    assert_eq!(q.list(&Filter::default()).await, jobs);
    assert_eq!(q.attempts(done.id).await, attempts);
    assert_eq!(q.store.nodes(&q.tenant).await.unwrap(), nodes);
    assert_eq!(q.all_samples().await, samples);
    assert_eq!(
        q.submitted(job().key("k").deadline(seconds(900))).await,
        Submitted { id: lost, deduplicated: true }
    );
}

pub(crate) async fn a_restart_costs_nobody_a_session_or_a_lease(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    let q = q.reopened().await;
    let node = crate::support::node::TestNode { queue: q.clone(), ..node };
    assert!(node.heartbeat(&[taken.id]).await.unwrap().lost.is_empty());
    assert_eq!(node.complete(&taken).await, ReportKind::Moved);
    assert_eq!(q.job(taken.id).await.state, State::Completed);
}

pub(crate) async fn the_first_sweep_after_a_long_restart_renews_leases(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    let q = q.reopened().await;
    q.clock.advance(seconds(3600));
    let swept = q.sweep().await;
    assert!(swept.renewed, "{swept:?}");
    let lease = q.job(taken.id).await.lease_expires_at;
    assert_eq!(lease, Some(q.now() + q.policy().lease_ttl));
}

pub(crate) async fn waiting_jobs_keep_their_order_over_a_restart(q: Fixture) {
    let [a, b, c] = q.submit_all([job(), job().priority(2), job().priority(1)]).await;
    let q = q.reopened().await;
    let later = q.submit(job().priority(1)).await;
    assert_eq!(q.node("n").await.take_all().await, [b, c, later, a]);
}

pub(crate) async fn a_closed_store_says_so(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    let id = taken.id;
    let (store, whose) = (&q.store, &q.tenant);
    store.close().await;
    store.close().await;

    let closed = |what: &str, error: Option<StoreError>| {
        assert!(matches!(error, Some(StoreError::Closed)), "{what}: {error:?}");
    };
    closed("submit", store.submit(whose, job().0, &TenantLimits::default()).await.err());
    closed("job", store.job(whose, id).await.err());
    closed("attempts", store.attempts(whose, id).await.err());
    closed("jobs", store.jobs(whose, &Filter::default(), &first(1)).await.err());
    closed("cancel", store.cancel(whose, id, CancelCause::Requested, "x").await.err());
    let target = vmafx_queue::store::LabelTarget::Id(id);
    closed("label", store.label(whose, &target, percent(1.0), &Labeller::default()).await.err());
    closed(
        "register",
        store.register(whose, crate::support::build::node("m").0, &TenantLimits::default()).await.err(),
    );
    closed("heartbeat", store.heartbeat(whose, &node.who, Heartbeat::default()).await.err());
    closed("claim", store.claim(whose, &node.who, &[], None, &TenantLimits::default()).await.err());
    let report = Report { job: id, attempt: None, result: Ok(score(1.0)) };
    closed("report", store.report(whose, &node.who, report).await.err());
    closed("release", store.release(whose, &node.who, id, 1, "x").await.err());
    closed("release_pulls", store.release_pulls(whose, &node.who, &[]).await.err());
    closed("explain", store.explain(whose, id).await.err());
    closed("nodes", store.nodes(whose).await.err());
    closed("nodes_with_resource", store.nodes_with_resource().await.err());
    closed("position", store.position(whose).await.err());
    closed("sweep", store.sweep().await.err());
    let keep = Retention { jobs_for: seconds(1), jobs: 1, samples_for: seconds(1), samples: 1, batch: 1 };
    closed("prune", store.prune(&keep).await.err());
    closed("stats", store.stats().await.err());
    closed("samples", store.samples(whose, "", 1).await.err());
    closed("ready", store.ready().await.err());
}

pub(crate) async fn what_was_acknowledged_before_a_close_is_kept(q: Fixture) {
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(q.submit(job()).await);
    }
    let q = q.reopened().await;
    assert_eq!(q.node("n").await.take_all().await.len(), ids.len());
}
