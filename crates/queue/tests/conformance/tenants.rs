//! A tenant sees nothing of any other tenant.

use vmafx_job::CancelCause;
use vmafx_queue::job::Labeller;
use vmafx_queue::node::HeartbeatReply;
use vmafx_queue::store::{Claim, Filter, Labelled, Released};

use crate::support::build::{by_key, job, origin, percent, with_ids};
use crate::support::fixture::Fixture;
use crate::support::node::ReportKind;

pub(crate) async fn a_job_of_another_tenant_is_not_there(q: Fixture) {
    let other = q.of("other");
    let id = q.submit(job().key("k").origin(origin("a", "b"))).await;
    let before = q.job(id).await;
    assert_eq!(other.store.job(&other.tenant, id).await.unwrap(), None);
    assert_eq!(other.attempts(id).await, []);
    assert_eq!(other.list(&Filter::default()).await, []);
    assert_eq!(other.list(&with_ids([id])).await, []);
    assert_eq!(other.store.explain(&other.tenant, id).await.unwrap(), None);
    assert_eq!(other.store.cancel(&other.tenant, id, CancelCause::Requested, "x").await.unwrap(), None);
    assert_eq!(other.label(id, 1.0).await, Labelled::NotFound);
    let of_key = by_key("k", "");
    let labelled = other.store.label(&other.tenant, &of_key, percent(1.0), &Labeller::default()).await;
    assert_eq!(labelled.unwrap(), Labelled::NotFound);
    assert_eq!(q.job(id).await, before);
}

pub(crate) async fn a_node_gets_only_jobs_of_its_tenant(q: Fixture) {
    let other = q.of("other");
    q.submit(job().priority(9)).await;
    let theirs = other.submit(job()).await;
    assert_eq!(other.node("n").await.take_all().await, [theirs]);
}

pub(crate) async fn a_node_of_another_tenant_can_do_nothing_with_a_job(q: Fixture) {
    let theirs = q.of("other").node("theirs").await;
    let taken = q.node("ours").await.holds(job()).await;
    assert_eq!(theirs.complete(&taken).await, ReportKind::Fenced);
    assert_eq!(theirs.release(&taken).await, Released::Over);
    let reply = theirs.progress(&taken, 5, 9).await.unwrap();
    assert_eq!(reply, HeartbeatReply { cancelled: vec![], lost: vec![taken.id] });
    assert_eq!(q.job(taken.id).await, taken);
}

pub(crate) async fn a_cancelled_job_of_another_tenant_is_lost_and_not_cancelled(q: Fixture) {
    let theirs = q.of("other").node("theirs").await;
    let id = q.submit(job()).await;
    q.cancelled(id, "x").await;
    assert_eq!(theirs.heartbeat(&[id]).await.unwrap().cancelled, []);
}

pub(crate) async fn a_session_is_of_one_tenant(q: Fixture) {
    let ours = q.node("ours").await;
    let taken = ours.holds(job()).await;
    let stolen = ours.of("other");
    assert_eq!(stolen.heartbeat(&[taken.id]).await, None);
    assert_eq!(stolen.complete(&taken).await, ReportKind::NoSession);
    assert_eq!(stolen.release(&taken).await, Released::NoSession);
    assert_eq!(q.of("other").store.nodes(&q.of("other").tenant).await.unwrap(), []);
}

pub(crate) async fn a_node_that_is_shared_holds_jobs_of_each_tenant_apart(q: Fixture) {
    let other = q.of("other");
    let own = q.node("shared").await;
    let theirs = own.share_with("other").await;
    let (ours, guests) = (q.submit(job()).await, other.submit(job()).await);
    let (taken, guest) = (own.take().await, theirs.take().await);
    assert_eq!((taken.id, guest.id), (ours, guests));
    // Neither session has anything to do with the job of the other one.
    assert_eq!(own.complete(&guest).await, ReportKind::Fenced);
    assert_eq!(own.heartbeat(&[guest.id]).await.unwrap().lost, [guest.id]);
    assert_eq!(own.of("other").complete(&guest).await, ReportKind::NoSession);
    assert_eq!(theirs.heartbeat(&[guest.id]).await, Some(HeartbeatReply::default()));
    assert_eq!(theirs.complete(&guest).await, ReportKind::Moved);
    assert_eq!(own.complete(&taken).await, ReportKind::Moved);
    assert_eq!(other.job(guests).await.node.as_deref(), Some("shared"));
    // The metrics count the node once, in its home.
    let stats = q.store.stats().await.unwrap();
    let nodes: Vec<_> = stats.iter().map(|of| (of.tenant.as_str(), of.nodes)).collect();
    assert!(
        nodes.contains(&("other", 0)) && nodes.iter().map(|(_, nodes)| nodes).sum::<u64>() == 1,
        "{nodes:?}"
    );
}

pub(crate) async fn derived_credentials_open_nothing_by_themselves(q: Fixture) {
    let other = q.of("other");
    let id = other.submit(job()).await;
    let own = q.node("n").await;
    let derived = own.derived("other");
    assert_eq!(derived.claim().await, Claim::NoSession);
    assert_eq!(derived.heartbeat(&[id]).await, None);
    let theirs = own.share_with("other").await;
    // The session of one home does not let in the same session id with another token, or another session.
    for stranger in [own.with_wrong_token().derived("other"), q.node("n").await.derived("other")] {
        assert_eq!(stranger.claim().await, Claim::NoSession);
    }
    assert_eq!(theirs.take().await.id, id);
}

pub(crate) async fn a_derived_session_is_opened_once(q: Fixture) {
    let other = q.of("other");
    let own = q.node("n").await;
    let theirs = own.share_with("other").await;
    other.submit(job()).await;
    let taken = theirs.take().await;
    // Another controller, or another call, opens it again.
    let again = own.share_with("other").await;
    assert_eq!(again.who, theirs.who);
    assert_eq!(other.store.nodes(&other.tenant).await.unwrap().len(), 1);
    assert_eq!(again.complete(&taken).await, ReportKind::Moved);
    // It ends like every session, and can be opened again.
    let ttl = q.policy().session_ttl;
    q.pass(ttl + ttl, &[&own]).await;
    assert_eq!(theirs.claim().await, Claim::NoSession);
    assert_eq!(own.share_with("other").await.claim().await, Claim::Nothing { next: None });
}

pub(crate) async fn changes_and_samples_are_of_one_tenant(q: Fixture) {
    let other = q.of("other");
    let (cursor, place) = (other.position().await, other.samples("", 10).await.next);
    let node = q.node("n").await;
    let taken = node.holds(job().label(5.0)).await;
    node.complete(&taken).await;
    assert_eq!(other.changes(&cursor, 10).await.jobs, []);
    assert_eq!(other.samples(&place, 10).await.samples, []);
    assert_eq!(other.all_samples().await, []);
    assert_eq!(q.all_samples().await.len(), 1);
}

pub(crate) async fn explanations_count_only_what_the_tenant_can_use(q: Fixture) {
    let other = q.of("other");
    q.submit(job().priority(9)).await;
    q.node("ours").await;
    let theirs = other.submit(job()).await;
    let explained = other.explained(theirs).await;
    assert_eq!((explained.ahead_by_priority, explained.ahead_by_age), (0, 0));
    assert!(explained.supply.values().all(|supply| supply.nodes == 0), "{explained:?}");
}

pub(crate) async fn tenants_with_odd_names_are_told_apart(q: Fixture) {
    let names =
        ["a", "A", "a b", "a'b", "a\"b", "a%", "a_", "a\\", "\u{fc}", "u\u{308}", "\u{1f3a5}", "on", "*"];
    let mut submitted = Vec::new();
    for name in names {
        submitted.push(q.of(name).submit(job().key("k")).await);
    }
    for (name, id) in names.into_iter().zip(submitted) {
        let listed = q.of(name).list(&Filter::default()).await;
        assert_eq!(listed.len(), 1, "{name}");
        assert_eq!((listed[0].id, listed[0].tenant.as_str()), (id, name));
    }
}
