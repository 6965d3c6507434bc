use std::time::Duration;

use futures::FutureExt;
use uuid::Uuid;
use vmafx_queue::SessionId;

use super::*;

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

fn dispatch() -> Dispatch {
    Dispatch::new(Arc::new(Standing))
}

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

fn serves(backends: &[&str]) -> Arc<[String]> {
    backends.iter().map(|&backend| backend.to_owned()).collect()
}

const SESSION: SessionId = SessionId(Uuid::nil());

/// One who looked, found nothing, and waits.
fn waiting(dispatch: &Dispatch, backends: &[&str]) -> Place {
    let mut place = dispatch.enter(&tenant("acme"), &serves(backends)).unwrap();
    place.stay(SESSION, 64, None);
    place
}

fn work(backend: &str, jobs: u32) -> Notification {
    Notification::Work { tenant: tenant("acme"), backend: backend.into(), jobs }
}

/// Whether it is called by now; it then looks.
fn is_called(place: &mut Place) -> bool {
    place.called().now_or_never() == Some(true)
}

fn called(places: &mut [Place]) -> Vec<bool> {
    places.iter_mut().map(is_called).collect()
}

#[test]
fn as_many_are_called_as_there_are_jobs_the_longest_waiting_first() {
    let dispatch = dispatch();
    let mut places: Vec<_> = (0..5).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.hear(&work("cpu", 2));
    assert_eq!(called(&mut places), [true, true, false, false, false]);
    dispatch.hear(&work("", 1));
    assert_eq!(called(&mut places[2..]), [true, false, false]);
}

#[test]
fn only_those_are_called_who_fit() {
    let dispatch = dispatch();
    let mut places =
        [waiting(&dispatch, &[]), waiting(&dispatch, &["cpu"]), waiting(&dispatch, &["cpu", "cuda"])];
    dispatch.hear(&work("cuda", 5));
    assert_eq!(called(&mut places), [false, false, true]);
    dispatch.hear(&Notification::Work { tenant: tenant("other"), backend: "".into(), jobs: 5 });
    assert_eq!(called(&mut places[..2]), [false, false]);
    // A node that serves nothing by name gets what asks for nothing.
    dispatch.hear(&work("", 1));
    assert_eq!(called(&mut places[..2]), [true, false]);
}

#[test]
fn a_job_that_comes_while_one_looks_calls_it_again() {
    let dispatch = dispatch();
    let mut place = dispatch.enter(&tenant("acme"), &serves(&["cpu"])).unwrap();
    // It is looking, and has missed this one.
    dispatch.hear(&work("cpu", 1));
    place.stay(SESSION, 64, None);
    assert!(is_called(&mut place));
}

#[test]
fn a_second_job_calls_somebody_who_is_not_busy_with_the_first() {
    let dispatch = dispatch();
    let mut places: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.hear(&work("cpu", 1));
    assert_eq!(called(&mut places), [true, false]);
    dispatch.hear(&work("cpu", 1));
    assert_eq!(called(&mut places), [false, true]);
}

#[test]
fn one_who_looked_in_vain_keeps_its_place() {
    let dispatch = dispatch();
    let mut places: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.hear(&work("cpu", 1));
    assert_eq!(called(&mut places), [true, false]);
    places[0].stay(SESSION, 64, None);
    dispatch.hear(&work("cpu", 1));
    assert_eq!(called(&mut places), [true, false]);
}

#[test]
fn a_call_to_one_who_is_gone_goes_to_the_next() {
    let dispatch = dispatch();
    let mut places: Vec<_> = (0..3).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.hear(&work("cpu", 1));
    drop(places.remove(0));
    assert_eq!(called(&mut places), [true, false]);
}

#[test]
fn a_call_that_was_heard_by_one_who_then_goes_away_goes_to_the_next() {
    let dispatch = dispatch();
    let mut places: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.hear(&work("cpu", 1));
    assert!(is_called(&mut places[0]));
    drop(places.remove(0));
    assert_eq!(called(&mut places), [true]);
}

#[test]
fn one_who_is_served_takes_its_call_along() {
    let dispatch = dispatch();
    let mut places: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.hear(&work("cpu", 1));
    assert!(is_called(&mut places[0]));
    places[0].served();
    drop(places.remove(0));
    assert_eq!(called(&mut places), [false]);
}

#[test]
fn a_failed_look_calls_nobody_else() {
    let dispatch = dispatch();
    let mut places: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.hear(&work("cpu", 1));
    assert!(is_called(&mut places[0]));
    places[0].failed();
    drop(places.remove(0));
    assert_eq!(called(&mut places), [false]);
}

#[test]
fn a_look_calls_one_of_each_class_and_who_finds_something_the_next() {
    let dispatch = dispatch();
    let mut cpu: Vec<_> = (0..3).map(|_| waiting(&dispatch, &["cpu"])).collect();
    let mut cuda: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cuda"])).collect();
    dispatch.look();
    assert_eq!((called(&mut cpu), called(&mut cuda)), (vec![true, false, false], vec![true, false]));
    cpu[0].served();
    drop(cpu.remove(0));
    cuda[0].stay(SESSION, 64, None);
    assert_eq!((called(&mut cpu), called(&mut cuda)), (vec![true, false], vec![false, false]));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_pause_calls_one_of_those_who_wait_for_it() {
    let dispatch = dispatch();
    let mut places: Vec<_> = (0..2).map(|_| waiting(&dispatch, &["cpu"])).collect();
    let watching = tokio::time::timeout(Duration::from_secs(4), dispatch.watch_pauses());
    places[1].stay(SESSION, 64, Some(Timestamp(5_000)));
    assert!(watching.await.is_err());
    assert_eq!(called(&mut places), [false, false]);
    let watching = tokio::time::timeout(Duration::from_secs(2), dispatch.watch_pauses());
    assert!(watching.await.is_err());
    assert_eq!(called(&mut places), [true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_noted_while_it_waits_for_a_later_one_is_not_missed() {
    let dispatch = dispatch();
    let mut place = waiting(&dispatch, &["cpu"]);
    dispatch.expect(&tenant("acme"), "cpu", Timestamp(60_000));
    let watching = tokio::time::timeout(Duration::from_secs(10), dispatch.watch_pauses());
    let sooner = async {
        tokio::task::yield_now().await;
        dispatch.expect(&tenant("acme"), "", Timestamp(3_000));
        dispatch.expect(&tenant("acme"), "cuda", Timestamp(1_000));
    };
    let (watched, ()) = tokio::join!(watching, sooner);
    assert!(watched.is_err());
    assert!(is_called(&mut place));
}

#[test]
fn of_too_many_of_one_session_the_longest_waiting_is_sent_home() {
    let dispatch = dispatch();
    let mut places: Vec<_> = (0..3)
        .map(|_| {
            let mut place = dispatch.enter(&tenant("acme"), &serves(&["cpu"])).unwrap();
            place.stay(SESSION, 2, None);
            place
        })
        .collect();
    assert_eq!(places[0].called().now_or_never(), Some(false));
    assert_eq!(places[1].called().now_or_never(), None);
}

#[test]
fn nothing_is_left_of_those_who_are_gone() {
    let dispatch = dispatch();
    let mut places: Vec<_> = (0..4).map(|_| waiting(&dispatch, &["cpu"])).collect();
    dispatch.hear(&work("cpu", 2));
    assert!(is_called(&mut places[0]));
    drop(places);
    assert!(dispatch.lines().is_empty());
}
