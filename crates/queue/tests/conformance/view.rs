//! Explanations, nodes and figures.

use vmafx_queue::node::{Capability, Node};
use vmafx_queue::store::{Supply, TenantStats};

use crate::support::build::{job, node, origin, pairs, seconds, size, tenant};
use crate::support::fixture::Fixture;

const fn supply(nodes: u32, slots: u32, busy: u32) -> Supply {
    Supply { nodes, slots, busy }
}

pub(crate) async fn those_ahead_are_counted(q: Fixture) {
    q.submit_all([job(), job(), job().priority(1), job().priority(3), job().priority(-1)]).await;
    let id = q.submit(job()).await;
    q.submit_all([job(), job().priority(2)]).await;
    let explained = q.explained(id).await;
    assert_eq!((explained.ahead_by_priority, explained.ahead_by_age), (3, 2));
    assert_eq!(explained.job, q.job(id).await);
}

pub(crate) async fn only_those_count_that_compete_for_the_same_nodes(q: Fixture) {
    q.submit_all([
        job().backend("cuda"),
        job().backend("cuda").priority(1),
        job().backend("cpu"),
        job().backend("cpu").priority(1),
        job(),
        job().priority(1),
    ])
    .await;
    let cuda = q.submit(job().backend("cuda")).await;
    let explained = q.explained(cuda).await;
    assert_eq!((explained.ahead_by_priority, explained.ahead_by_age), (2, 2));
}

pub(crate) async fn jobs_in_backoff_running_or_finished_are_not_ahead(q: Fixture) {
    let node = q.node("n").await;
    let lost = node.holds(job().priority(5)).await.id;
    q.lose_leases(&[&node]).await;
    node.holds(job().priority(5)).await;
    let done = node.holds(job().priority(5)).await;
    node.complete(&done).await;
    let cancelled = q.submit(job().priority(5)).await;
    q.cancelled(cancelled, "x").await;
    let id = q.submit(job()).await;
    assert_eq!(q.explained(id).await.ahead_by_priority, 0);
    q.clock.advance(seconds(5));
    assert_eq!(q.explained(id).await.ahead_by_priority, 1, "the back-off of {lost} has ended");
}

pub(crate) async fn every_backend_is_counted_and_every_node_once(q: Fixture) {
    let id = q.submit(job().backend("metal")).await;
    let small = q.register(node("small").backends(["cpu"]).slots(2)).await;
    let big = q.register(node("big").backends(["cpu", "cuda"]).slots(4)).await;
    let bare = q.register(node("bare").backends([]).slots(1)).await;
    small.holds(job()).await;
    big.holds(job()).await;
    big.holds(job()).await;
    bare.holds(job()).await;
    let expected = pairs([("", supply(3, 7, 4)), ("cpu", supply(2, 6, 3)), ("cuda", supply(1, 4, 2))]);
    assert_eq!(q.explained(id).await.supply, expected);
}

pub(crate) async fn a_job_without_nodes_has_no_supply(q: Fixture) {
    let id = q.submit(job()).await;
    let found = q.explained(id).await.supply;
    assert!(found.values().all(|of| *of == Supply::default()), "{found:?}");
}

pub(crate) async fn a_running_job_and_one_that_is_over_are_explained_too(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    assert_eq!(q.explained(taken.id).await.job, taken);
    node.complete(&taken).await;
    assert_eq!(q.explained(taken.id).await.job, q.job(taken.id).await);
}

pub(crate) async fn nodes_are_listed_by_name_and_then_session_with_their_registration(q: Fixture) {
    let begin = q.now();
    let mut new = node("b").backends(["cpu", "cuda"]).slots(3).labels([("zone", "x")]);
    new.0.capability.vendor = "nvidia".into();
    new.0.capability.device = "A100 \u{201c}PCIe\u{201d}".into();
    let new = new.resource(origin("video", "gpu"));
    let full = q.register(new.clone()).await;
    let (first, second) = (q.node("a").await, q.node("a").await);
    full.holds(job()).await;
    q.clock.advance(seconds(4));
    full.heartbeat(&[]).await;

    let nodes = q.store.nodes(&q.tenant).await.unwrap();
    let mut twins = [first.who.session, second.who.session];
    twins.sort_unstable();
    let found: Vec<_> = nodes.iter().map(|node| (node.name.as_str(), node.session)).collect();
    assert_eq!(found, [("a", twins[0]), ("a", twins[1]), ("b", full.who.session)]);
    let expected = Node {
        session: full.who.session,
        name: "b".into(),
        capability: new.0.capability,
        resource: Some(origin("video", "gpu").into()),
        registered_at: begin,
        last_seen_at: begin + seconds(4),
        jobs: 1,
        quarantine: None,
    };
    assert_eq!(nodes[2], expected);
}

pub(crate) async fn a_node_that_says_nothing_about_itself_is_a_node(q: Fixture) {
    let new = vmafx_queue::node::NewNode { name: "n".into(), ..Default::default() };
    q.store.register(&q.tenant, new, &q.limits).await.unwrap();
    assert_eq!(q.store.nodes(&q.tenant).await.unwrap()[0].capability, Capability::default());
}

pub(crate) async fn a_node_holds_what_the_queue_counts(q: Fixture) {
    let node = q.node("n").await;
    let holding = async || q.store.nodes(&q.tenant).await.unwrap()[0].jobs;
    let (one, two) = (node.holds(job()).await, node.holds(job()).await);
    let three = node.holds(job()).await;
    assert_eq!(holding().await, 3);
    node.complete(&one).await;
    assert_eq!(holding().await, 2);
    q.cancelled(two.id, "x").await;
    assert_eq!(holding().await, 1);
    node.release(&three).await;
    assert_eq!(holding().await, 0);
}

pub(crate) async fn nodes_of_resources_are_shown_for_all_tenants(q: Fixture) {
    q.node("without").await;
    let ours = q.register(node("ours").resource(origin("a", "x"))).await;
    let theirs = q.of("other").register(node("theirs").resource(origin("b", "y"))).await;
    let shown = q.store.nodes_with_resource().await.unwrap();
    let mut sessions: Vec<_> = shown.iter().map(|node| node.session).collect();
    sessions.sort_unstable();
    let mut expected = [ours.who.session, theirs.who.session];
    expected.sort_unstable();
    assert_eq!(sessions, expected);
}

pub(crate) async fn numbers_are_counted_by_tenant(q: Fixture) {
    let other = q.of("other");
    let node = q.node("n").await;
    let begin = q.now();
    let lost = node.holds(job().priority(-1)).await;
    q.lose_leases(&[&node]).await;
    let done = node.holds(job()).await;
    node.complete(&done).await;
    node.holds(job()).await;
    q.submit_all([job(), job()]).await;
    let oldest = q.now();
    other.submit(job()).await;

    let mut stats = q.store.stats().await.unwrap();
    stats.retain(|of| of.pending + of.running + of.nodes > 0);
    stats.sort_by(|a, b| a.tenant.cmp(&b.tenant));
    assert_eq!(lost.created_at, begin);
    // Every job has the same request, and one has a result.
    let bytes = size(&job());
    let ours_bytes = 5 * bytes + r#"{"vmaf":80.0}"#.len() as u64;
    let ours = TenantStats {
        tenant: tenant("acme"),
        pending: 3,
        running: 1,
        oldest_pending: Some(begin),
        nodes: 1,
        quarantined: 0,
        stored_bytes: ours_bytes,
    };
    let theirs = TenantStats {
        tenant: tenant("other"),
        pending: 1,
        running: 0,
        oldest_pending: Some(oldest),
        nodes: 0,
        quarantined: 0,
        stored_bytes: bytes,
    };
    assert_eq!(stats, [ours, theirs]);
}

pub(crate) async fn an_empty_store_has_no_numbers(q: Fixture) {
    let stats = q.store.stats().await.unwrap();
    assert!(stats.iter().all(|of| of.pending + of.running + of.nodes == 0), "{stats:?}");
}
