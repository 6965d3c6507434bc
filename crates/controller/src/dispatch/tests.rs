use std::time::Duration;

use futures::FutureExt;
use uuid::Uuid;
use vmafx_queue::SessionId;

use super::*;
use crate::service::{TenantSet, Weight};

struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn uptime(&self) -> Duration {
        Duration::ZERO
    }
}

/// Every tenant may share its nodes with every other.
struct AnyPool;

impl Sharing for AnyPool {
    fn has_pools(&self) -> bool {
        true
    }

    fn guests(&self, _: &TenantId) -> &TenantSet {
        &TenantSet::All
    }

    fn weight(&self, _: &TenantId) -> Weight {
        Weight::DEFAULT
    }
}

fn dispatch() -> Dispatch {
    Dispatch::new(Arc::new(StoppedClock), Arc::new(AnyPool))
}

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

fn own(name: &str) -> PullScope {
    PullScope::Own(tenant(name))
}

fn serves(backends: &[&str]) -> Arc<[String]> {
    backends.iter().map(|&backend| backend.to_owned()).collect()
}

const SESSION: SessionId = SessionId(Uuid::nil());

/// A pull whose first claim found nothing.
fn waiting(dispatch: &Dispatch, backends: &[&str]) -> WaitingPull {
    let mut pull = dispatch.enqueue(&own("acme"), &serves(backends)).unwrap();
    pull.found_nothing(SESSION, 64, None);
    pull
}

fn work_of(name: &str, backend: &str, jobs: u32) -> Notification {
    Notification::Work { tenant: tenant(name), backend: backend.into(), jobs }
}

fn work(backend: &str, jobs: u32) -> Notification {
    work_of("acme", backend, jobs)
}

/// Whether the pull was woken by now; it then claims.
fn is_woken(pull: &mut WaitingPull) -> bool {
    pull.woken().now_or_never() == Some(true)
}

fn woken(pulls: &mut [WaitingPull]) -> Vec<bool> {
    pulls.iter_mut().map(is_woken).collect()
}

#[test]
fn as_many_pulls_are_woken_as_there_are_jobs_the_longest_waiting_first() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..5).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.notify(&work("cpu", 2));
    assert_eq!(woken(&mut pulls), [true, true, false, false, false]);
    dispatch.notify(&work("", 1));
    assert_eq!(woken(&mut pulls[2..]), [true, false, false]);
}

#[test]
fn only_pulls_that_serve_the_backend_are_woken() {
    let dispatch = dispatch();
    let mut pulls =
        [waiting(&dispatch, &[]), waiting(&dispatch, &["cpu"]), waiting(&dispatch, &["cpu", "cuda"])];
    dispatch.notify(&work("cuda", 5));
    assert_eq!(woken(&mut pulls), [false, false, true]);
    dispatch.notify(&work_of("other", "", 5));
    assert_eq!(woken(&mut pulls[..2]), [false, false]);
    // A node that names no backend gets jobs without a backend.
    dispatch.notify(&work("", 1));
    assert_eq!(woken(&mut pulls[..2]), [true, false]);
}

#[test]
fn a_job_that_arrives_during_a_claim_wakes_the_pull_again() {
    let dispatch = dispatch();
    let mut pull = dispatch.enqueue(&own("acme"), &serves(&["cpu"])).unwrap();
    // The first claim runs and has missed this job.
    dispatch.notify(&work("cpu", 1));
    pull.found_nothing(SESSION, 64, None);
    assert!(is_woken(&mut pull));
}

#[test]
fn a_second_job_wakes_a_pull_that_is_not_busy_claiming_the_first() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.notify(&work("cpu", 1));
    assert_eq!(woken(&mut pulls), [true, false]);
    dispatch.notify(&work("cpu", 1));
    assert_eq!(woken(&mut pulls), [false, true]);
}

#[test]
fn a_pull_whose_claim_found_nothing_keeps_its_position() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.notify(&work("cpu", 1));
    assert_eq!(woken(&mut pulls), [true, false]);
    pulls[0].found_nothing(SESSION, 64, None);
    dispatch.notify(&work("cpu", 1));
    assert_eq!(woken(&mut pulls), [true, false]);
}

#[test]
fn a_wake_up_of_a_dropped_pull_goes_to_the_next() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..3).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.notify(&work("cpu", 1));
    drop(pulls.remove(0));
    assert_eq!(woken(&mut pulls), [true, false]);
}

#[test]
fn a_wake_up_of_a_pull_that_is_dropped_during_its_claim_goes_to_the_next() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.notify(&work("cpu", 1));
    assert!(is_woken(&mut pulls[0]));
    drop(pulls.remove(0));
    assert_eq!(woken(&mut pulls), [true]);
}

#[test]
fn a_pull_that_claimed_a_job_uses_up_its_wake_up() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.notify(&work("cpu", 1));
    assert!(is_woken(&mut pulls[0]));
    pulls[0].claimed_job(&tenant("acme"));
    drop(pulls.remove(0));
    assert_eq!(woken(&mut pulls), [false]);
}

#[test]
fn a_failed_claim_wakes_no_other_pull() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.notify(&work("cpu", 1));
    assert!(is_woken(&mut pulls[0]));
    pulls[0].claim_failed();
    drop(pulls.remove(0));
    assert_eq!(woken(&mut pulls), [false]);
}

/// The first pulls are those of a node that failed the job: each passes the wake-up on, and none gets it twice.
#[test]
fn a_job_that_is_kept_from_the_first_pulls_wakes_the_next_one() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..3).map(|_| waiting(&dispatch, &["cpu"])).collect();
    for wake in [Dispatch::wake_every_class, |dispatch: &Dispatch| dispatch.notify(&work("cpu", 1))] {
        wake(&dispatch);
        for broken in 0..2 {
            assert_eq!(woken(&mut pulls[broken..=broken]), [true]);
            pulls[broken].passed_over(SESSION, 64, Timestamp(60_000));
        }
        assert_eq!(woken(&mut pulls), [false, false, true]);
        pulls[2].passed_over(SESSION, 64, Timestamp(60_000));
        assert_eq!(woken(&mut pulls), [false, false, false], "the wake-up ends behind the last pull");
    }
}

#[test]
fn a_recheck_wakes_one_pull_of_each_class_and_one_that_claims_a_job_wakes_the_next() {
    let dispatch = dispatch();
    let mut cpu: Vec<_> = (0..3).map(|_| waiting(&dispatch, &["cpu"])).collect();
    let mut cuda: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cuda"])).collect();
    dispatch.wake_every_class();
    assert_eq!((woken(&mut cpu), woken(&mut cuda)), (vec![true, false, false], vec![true, false]));
    cpu[0].claimed_job(&tenant("acme"));
    drop(cpu.remove(0));
    cuda[0].found_nothing(SESSION, 64, None);
    assert_eq!((woken(&mut cpu), woken(&mut cuda)), (vec![true, false], vec![false, false]));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_back_off_wakes_one_of_the_pulls_that_wait_for_it() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    let timers = tokio::time::timeout(Duration::from_secs(4), dispatch.wake_when_due());
    pulls[1].found_nothing(SESSION, 64, Some(Timestamp(5_000)));
    assert!(timers.await.is_err());
    assert_eq!(woken(&mut pulls), [false, false]);
    let timers = tokio::time::timeout(Duration::from_secs(2), dispatch.wake_when_due());
    assert!(timers.await.is_err());
    assert_eq!(woken(&mut pulls), [true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_back_off_that_ends_earlier_than_the_awaited_one_is_not_missed() {
    let dispatch = dispatch();
    let mut pull = waiting(&dispatch, &["cpu"]);
    dispatch.wake_at(&tenant("acme"), "cpu", Timestamp(60_000));
    let timers = tokio::time::timeout(Duration::from_secs(10), dispatch.wake_when_due());
    let earlier = async {
        tokio::task::yield_now().await;
        dispatch.wake_at(&tenant("acme"), "", Timestamp(3_000));
        dispatch.wake_at(&tenant("acme"), "cuda", Timestamp(1_000));
    };
    let (timed_out, ()) = tokio::join!(timers, earlier);
    assert!(timed_out.is_err());
    assert!(is_woken(&mut pull));
}

#[test]
fn of_too_many_pulls_of_one_session_the_longest_waiting_is_evicted() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..3)
        .map(|_| {
            let mut pull = dispatch.enqueue(&own("acme"), &serves(&["cpu"])).unwrap();
            pull.found_nothing(SESSION, 2, None);
            pull
        })
        .collect();
    assert_eq!(pulls[0].woken().now_or_never(), Some(false));
    assert_eq!(pulls[1].woken().now_or_never(), None);
}

#[test]
fn dropped_pulls_leave_nothing_in_the_queues() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..4).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.notify(&work("cpu", 2));
    assert!(is_woken(&mut pulls[0]));
    drop(pulls);
    assert!(dispatch.queues().is_empty());
}

/// A pull of the pool of `acme` that serves `a` and `b` too, and whose first claim found nothing.
fn waiting_in_pool(dispatch: &Dispatch) -> WaitingPull {
    let mut pull = dispatch.enqueue(&PullScope::Shared(pool()), &serves(&["cpu"])).unwrap();
    pull.found_nothing(SESSION, 64, None);
    pull
}

fn pool() -> Arc<Pool> {
    let guests = TenantSet::Only(["a", "b"].map(tenant).into());
    Arc::new(Pool { home: tenant("acme"), guests })
}

#[test]
fn a_pull_of_a_pool_waits_for_jobs_of_each_of_its_tenants_in_the_order_of_age() {
    let dispatch = dispatch();
    let first = dispatch.enqueue(&own("a"), &serves(&["cpu"])).unwrap();
    let mut pulls =
        [first, waiting_in_pool(&dispatch), waiting_in_pool(&dispatch), waiting(&dispatch, &["cpu"])];
    dispatch.notify(&work_of("c", "cpu", 4));
    dispatch.notify(&work_of("b", "cuda", 4));
    assert_eq!(woken(&mut pulls), [false; 4]);
    dispatch.notify(&work_of("a", "cpu", 2));
    assert_eq!(woken(&mut pulls), [true, true, false, false]);
    dispatch.notify(&work_of("acme", "", 3));
    assert_eq!(woken(&mut pulls), [false, true, true, true], "the second one is queued again, at the end");
    drop(pulls);
    assert!(dispatch.queues().is_empty());
}

#[test]
fn a_wake_up_that_was_used_for_the_job_of_another_tenant_is_passed_on() {
    let dispatch = dispatch();
    let mut pulls: Vec<_> = (0..3).map(|_| waiting_in_pool(&dispatch)).collect();
    dispatch.notify(&work_of("a", "cpu", 1));
    assert_eq!(woken(&mut pulls), [true, false, false]);
    pulls[0].claimed_job(&tenant("b"));
    drop(pulls.remove(0));
    assert_eq!(woken(&mut pulls), [true, false]);
    pulls[0].claimed_job(&tenant("a"));
    drop(pulls.remove(0));
    assert_eq!(woken(&mut pulls), [false]);
}

#[test]
fn a_pool_claims_for_the_tenants_that_were_announced_and_for_each_once() {
    let dispatch = dispatch();
    let pull = waiting_in_pool(&dispatch);
    let tenants = || {
        let mut round = dispatch.round(&pool(), &serves(&["cpu"]));
        let turns = std::iter::from_fn(|| {
            let turn = round.next_turn()?;
            let name = turn.tenant()?.to_string();
            turn.found_nothing(None);
            Some(name)
        });
        turns.collect::<Vec<_>>()
    };
    assert_eq!(tenants(), [""; 0]);
    dispatch.notify(&work_of("b", "cpu", 1));
    dispatch.notify(&work_of("c", "cpu", 1));
    assert_eq!((tenants(), tenants()), (vec!["b".to_owned()], vec![]));
    dispatch.refresh_tenants([(tenant("a"), true), (tenant("b"), false), (tenant("c"), true)].into());
    assert_eq!((tenants(), tenants()), (vec!["a".to_owned()], vec![]));
    drop(pull);
}

#[test]
fn a_turn_that_is_dropped_is_refunded() {
    let dispatch = dispatch();
    let round = || dispatch.round(&pool(), &serves(&["cpu"]));
    drop(round().next_turn());
    dispatch.notify(&work_of("a", "cpu", 1));
    dispatch.notify(&work_of("b", "cpu", 1));
    let next = || round().next_turn().and_then(|turn| turn.tenant().cloned());
    assert_eq!((next(), next()), (Some(tenant("a")), Some(tenant("a"))));
    round().next_turn().unwrap().claimed();
    assert_eq!(next(), Some(tenant("b")));
}
