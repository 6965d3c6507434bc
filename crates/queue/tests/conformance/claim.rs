//! Which job a node gets.

use std::time::Duration;

use vmafx_queue::job::Attempt;
use vmafx_queue::policy::PRIORITY_HEAD_START;
use vmafx_queue::store::Claim;
use vmafx_queue::transition::State;

use crate::support::build::{job, node, seconds};
use crate::support::fixture::Fixture;

pub(crate) async fn the_highest_priority_goes_first_and_then_the_oldest(q: Fixture) {
    let [low, old, young, high] =
        q.submit_all([job(), job().priority(5), job().priority(5), job().priority(10)]).await;
    assert_eq!(q.node("n").await.take_all().await, [high, old, young, low]);
}

pub(crate) async fn a_job_gains_on_later_ones_of_a_higher_priority(q: Fixture) {
    let old = q.submit(job()).await;
    q.clock.advance(PRIORITY_HEAD_START.saturating_sub(Duration::from_millis(1)));
    let in_time = q.submit(job().priority(1)).await;
    q.clock.advance(Duration::from_millis(2));
    let late = q.submit(job().priority(1)).await;
    let later = q.submit(job()).await;
    let explained = q.explained(old).await;
    assert_eq!((explained.ahead_by_priority, explained.ahead_by_age), (1, 0));
    let explained = q.explained(late).await;
    assert_eq!((explained.ahead_by_priority, explained.ahead_by_age), (0, 2));
    assert_eq!(q.node("n").await.take_all().await, [in_time, old, late, later]);
}

pub(crate) async fn jobs_of_one_instant_go_by_id(q: Fixture) {
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(q.submit(job()).await);
    }
    ids.sort_unstable();
    assert_eq!(q.node("n").await.take_all().await, ids);
}

pub(crate) async fn negative_priorities_wait_behind_everything_else(q: Fixture) {
    let [lowest, negative, zero, highest] =
        q.submit_all([job().priority(i32::MIN), job().priority(-1), job(), job().priority(i32::MAX)]).await;
    assert_eq!(q.node("n").await.take_all().await, [highest, zero, negative, lowest]);
}

pub(crate) async fn a_node_gets_jobs_of_its_backends_and_jobs_that_ask_for_none(q: Fixture) {
    let [_hip, cuda, any, _cpu] =
        q.submit_all([job().backend("hip"), job().backend("cuda"), job(), job().backend("cpu")]).await;
    let gpu = q.register(node("gpu").backends(["cuda", "sycl"])).await;
    assert_eq!(gpu.take_all().await, [cuda, any]);
}

pub(crate) async fn a_node_without_backends_gets_only_jobs_that_ask_for_none(q: Fixture) {
    let [_cpu, any] = q.submit_all([job().backend("cpu").priority(9), job()]).await;
    let plain = q.register(node("plain").backends([])).await;
    assert_eq!(plain.take_all().await, [any]);
}

pub(crate) async fn one_order_holds_across_all_backends_of_a_node(q: Fixture) {
    let submitted = q
        .submit_all([
            job().backend("cuda").priority(1),
            job().priority(2),
            job().backend("cpu").priority(2),
            job().backend("cuda").priority(2),
            job().backend("cpu"),
            job().priority(3),
        ])
        .await;
    let both = q.register(node("both").backends(["cpu", "cuda"])).await;
    let order = [5, 1, 2, 3, 0, 4].map(|place| submitted[place]);
    assert_eq!(both.take_all().await, order);
}

pub(crate) async fn a_backend_named_twice_is_served_once(q: Fixture) {
    let [one, two] = q.submit_all([job().backend("cpu"), job().backend("cpu")]).await;
    let twice = q.register(node("twice").backends(["cpu", "cpu"])).await;
    assert_eq!(twice.take_all().await, [one, two]);
}

pub(crate) async fn backends_are_compared_to_the_letter(q: Fixture) {
    q.submit(job().backend("cpu")).await;
    let other = q.register(node("n").backends(["CPU", "cp", "cpu "])).await;
    assert!(other.has_nothing().await);
}

pub(crate) async fn the_backends_of_the_call_count_and_not_those_of_registration(q: Fixture) {
    let [cuda, _cpu] = q.submit_all([job().backend("cuda"), job().backend("cpu")]).await;
    let mut slot = q.node("n").await;
    slot.backends = vec!["cuda".into()];
    assert_eq!(slot.take_all().await, [cuda]);
}

pub(crate) async fn a_job_behind_many_that_do_not_fit_is_found(q: Fixture) {
    for _ in 0..50 {
        q.submit(job().backend("metal").priority(7)).await;
    }
    let id = q.submit(job().backend("cpu").priority(-3)).await;
    assert_eq!(q.node("n").await.take_all().await, [id]);
}

pub(crate) async fn a_claimed_job_says_who_holds_it_since_when_and_until_when(q: Fixture) {
    let id = q.submit(job()).await;
    let before = q.job(id).await;
    q.clock.advance(seconds(3));
    let node = q.node("holder").await;
    let taken = node.take().await;

    assert!(taken.revision > before.revision);
    let expected = vmafx_queue::Job {
        state: State::Running,
        attempt: 1,
        node: Some("holder".into()),
        started_at: Some(q.now()),
        updated_at: q.now(),
        lease_expires_at: Some(q.now() + q.policy().lease_ttl),
        revision: taken.revision,
        ..before
    };
    assert_eq!(taken, expected);
    assert_eq!(q.job(id).await, expected);
    let attempt = Attempt {
        number: 1,
        session: node.who.session,
        node: "holder".into(),
        started_at: q.now(),
        ended: None,
        error: String::new(),
        reason: vmafx_job::FailureReason::Unspecified,
    };
    assert_eq!(q.attempts(id).await, [attempt]);
}

pub(crate) async fn a_job_is_handed_out_once(q: Fixture) {
    q.submit(job()).await;
    q.node("one").await.take().await;
    assert_eq!(q.node("two").await.claim().await, Claim::Nothing { next: None });
}

pub(crate) async fn an_empty_queue_has_nothing(q: Fixture) {
    assert_eq!(q.node("n").await.claim().await, Claim::Nothing { next: None });
}

pub(crate) async fn a_claim_needs_its_own_session(q: Fixture) {
    q.submit(job()).await;
    let node = q.node("n").await;
    assert_eq!(node.with_wrong_token().claim().await, Claim::NoSession);
    assert_eq!(node.of("other").claim().await, Claim::NoSession);
    let other = q.node("m").await;
    let mixed = crate::support::node::TestNode {
        who: vmafx_queue::node::Credentials { session: other.who.session, token: node.who.token.clone() },
        ..node.clone()
    };
    assert_eq!(mixed.claim().await, Claim::NoSession);
    assert_eq!(node.take().await.attempt, 1);
}
