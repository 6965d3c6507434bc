//! Each fault: what the client sees, and what the API server was asked to do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::api::DeleteParams;
use rstest::rstest;
use vmafx_testkit::kube::proxy::{Act, Pass, Which};
use vmafx_testkit::wait;

use crate::{SOON, Stage, code, create};

/// Long enough for an answer that was on its way.
const A_MOMENT: Duration = Duration::from_millis(300);

#[rstest]
#[case(409)]
#[case(422)]
#[case(429)]
#[case(500)]
#[tokio::test]
async fn an_answer_of_the_proxy_is_that_of_an_api_server_and_nothing_is_done(#[case] answer: u16) {
    let stage = Stage::set().await;
    let fault = stage.proxy.inject(Which::writes().nth(2), Act::Answer(answer));
    stage.create("a").await.unwrap();
    assert_eq!(code(stage.create("b").await), answer);
    assert!(!stage.exists("b").await);
    assert_eq!(fault.hits()[0].name, "b");
    stage.create("b").await.unwrap();
    assert_eq!(fault.hits().len(), 1, "once");
    let failed = &stage.proxy.writes()[1];
    assert_eq!((failed.server, failed.client), (None, Some(answer)));
}

#[tokio::test]
async fn too_many_requests_come_with_a_pause() {
    let stage = Stage::set().await;
    let _fault = stage.proxy.inject(Which::writes(), Act::Answer(429));
    let kube::Error::Api(status) = stage.create("a").await.unwrap_err() else { panic!("no answer") };
    assert_eq!(status.details.unwrap().retry_after_seconds, 1);
}

#[tokio::test]
async fn a_lost_answer_is_one_to_something_that_was_done() {
    let stage = Stage::set().await;
    let _fault = stage.proxy.inject(Which::writes().nth(1), Act::Lose(500));
    assert_eq!(code(stage.create("a").await), 500);
    assert!(stage.exists("a").await);
    let lost = &stage.proxy.writes()[0];
    assert_eq!((lost.server, lost.client), (Some(201), Some(500)));
}

#[rstest]
#[case::before(Act::CutBefore, false)]
#[case::after(Act::CutAfter, true)]
#[tokio::test]
async fn a_connection_is_cut_before_or_after_the_api_server_was_asked(#[case] act: Act, #[case] done: bool) {
    let stage = Stage::set().await;
    let _fault = stage.proxy.inject(Which::writes().nth(1), act);
    assert!(!matches!(stage.create("a").await, Ok(_) | Err(kube::Error::Api(_))));
    assert_eq!(stage.exists("a").await, done);
    assert_eq!(stage.proxy.writes()[0].client, None);
    stage.create("b").await.unwrap();
}

#[rstest]
#[case::before(Act::Silence, false)]
#[case::after(Act::SilenceAfter, true)]
#[tokio::test]
async fn a_silent_server_is_waited_for_in_vain(#[case] act: Act, #[case] done: bool) {
    let stage = Stage::set().await;
    let fault = stage.proxy.inject(Which::writes().nth(1), act);
    assert!(tokio::time::timeout(A_MOMENT, stage.create("a")).await.is_err());
    fault.hit(SOON).await.unwrap();
    if done {
        wait::until(SOON, "the write", async || stage.exists("a").await).await.unwrap();
    }
    assert_eq!(stage.exists("a").await, done);
}

#[tokio::test]
async fn a_held_write_is_done_when_it_is_released() {
    let stage = Stage::set().await;
    let fault = stage.proxy.inject(Which::writes().of("configmaps").nth(1), Act::Hold);
    let maps = stage.maps();
    let write = create(&maps, "a");
    let test = async {
        fault.hit(SOON).await.unwrap();
        assert!(!stage.exists("a").await);
        fault.release();
    };
    let (written, ()) = tokio::join!(write, test);
    written.unwrap();
    assert!(stage.exists("a").await);
}

#[tokio::test]
async fn each_path_fails_once() {
    let stage = Stage::set().await;
    let fault =
        stage.proxy.inject(Which::writes().and(|r| r.method == "DELETE").once_each(), Act::Answer(500));
    for name in ["a", "b"] {
        stage.create(name).await.unwrap();
        let delete = async || stage.maps().delete(name, &DeleteParams::default()).await;
        assert_eq!(code(delete().await), 500);
        delete().await.unwrap();
    }
    assert_eq!(fault.hits().len(), 2);
}

#[tokio::test]
async fn a_callback_runs_when_the_write_is_done_and_its_answer_is_not_passed_on() {
    let stage = Stage::set().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let _fault = stage.proxy.inject(
        Which::writes().nth(2),
        Act::after(move |record| {
            note.lock().unwrap().push((record.request.name.clone(), record.server, record.client));
            Pass::Cut
        }),
    );
    stage.create("a").await.unwrap();
    assert!(stage.create("b").await.is_err());
    assert!(stage.exists("b").await);
    assert_eq!(*seen.lock().unwrap(), [("b".to_owned(), Some(201), None)]);
}

#[tokio::test]
async fn a_callback_before_the_write_can_keep_it_from_the_api_server() {
    let stage = Stage::set().await;
    let _fault = stage.proxy.inject(Which::writes().nth(1), Act::before(|_| Pass::Cut));
    assert!(stage.create("a").await.is_err());
    assert!(!stage.exists("a").await);
}

#[tokio::test]
async fn a_fault_that_was_dropped_is_no_more() {
    let stage = Stage::set().await;
    drop(stage.proxy.inject(Which::writes(), Act::Answer(500)));
    stage.create("a").await.unwrap();
}

#[tokio::test]
async fn while_connections_are_refused_nobody_gets_through() {
    let stage = Stage::set().await;
    let maps = stage.maps();
    maps.get_opt("a").await.unwrap();
    let refusing = stage.proxy.refuse();
    assert!(maps.get_opt("a").await.is_err(), "the connection from before is cut");
    assert!(maps.get_opt("a").await.is_err(), "and a new one as well");
    drop(refusing);
    maps.get_opt("a").await.unwrap();
}
