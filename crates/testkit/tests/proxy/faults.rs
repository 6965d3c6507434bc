//! Each fault: the client's view, and the requests that reach the API server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::api::DeleteParams;
use rstest::rstest;
use vmafx_testkit::kube::proxy::{Fault, RequestMatcher, ResponseHandling};
use vmafx_testkit::wait;

use crate::{ProxyFixture, SOON, code, create};

/// Long enough for a response that is on its way.
const RESPONSE_TIME: Duration = Duration::from_millis(300);

#[rstest]
#[case(409)]
#[case(422)]
#[case(429)]
#[case(500)]
#[tokio::test]
async fn an_injected_response_looks_like_the_api_servers_and_nothing_is_forwarded(#[case] answer: u16) {
    let fixture = ProxyFixture::start().await;
    let fault = fixture.proxy.inject(RequestMatcher::writes().nth(2), Fault::Respond(answer));
    fixture.create("a").await.unwrap();
    assert_eq!(code(fixture.create("b").await), answer);
    assert!(!fixture.exists("b").await);
    assert_eq!(fault.hits()[0].name, "b");
    fixture.create("b").await.unwrap();
    assert_eq!(fault.hits().len(), 1, "once");
    let failed = &fixture.proxy.writes()[1];
    assert_eq!((failed.server, failed.client), (None, Some(answer)));
}

#[tokio::test]
async fn too_many_requests_come_with_a_retry_delay() {
    let fixture = ProxyFixture::start().await;
    let _fault = fixture.proxy.inject(RequestMatcher::writes(), Fault::Respond(429));
    let kube::Error::Api(status) = fixture.create("a").await.unwrap_err() else {
        panic!("not a response of an API server")
    };
    assert_eq!(status.details.unwrap().retry_after_seconds, 1);
}

#[tokio::test]
async fn fail_after_reports_an_error_for_a_write_that_succeeded() {
    let fixture = ProxyFixture::start().await;
    let _fault = fixture.proxy.inject(RequestMatcher::writes().nth(1), Fault::FailAfter(500));
    assert_eq!(code(fixture.create("a").await), 500);
    assert!(fixture.exists("a").await);
    let lost = &fixture.proxy.writes()[0];
    assert_eq!((lost.server, lost.client), (Some(201), Some(500)));
}

#[rstest]
#[case::before(Fault::DisconnectBefore, false)]
#[case::after(Fault::DisconnectAfter, true)]
#[tokio::test]
async fn a_connection_is_cut_before_or_after_the_api_server_was_asked(
    #[case] injected: Fault,
    #[case] done: bool,
) {
    let fixture = ProxyFixture::start().await;
    let _fault = fixture.proxy.inject(RequestMatcher::writes().nth(1), injected);
    assert!(!matches!(fixture.create("a").await, Ok(_) | Err(kube::Error::Api(_))));
    assert_eq!(fixture.exists("a").await, done);
    assert_eq!(fixture.proxy.writes()[0].client, None);
    fixture.create("b").await.unwrap();
}

#[rstest]
#[case::before(Fault::NoResponse, false)]
#[case::after(Fault::NoResponseAfter, true)]
#[tokio::test]
async fn a_request_without_a_response_times_out(#[case] injected: Fault, #[case] done: bool) {
    let fixture = ProxyFixture::start().await;
    let fault = fixture.proxy.inject(RequestMatcher::writes().nth(1), injected);
    assert!(tokio::time::timeout(RESPONSE_TIME, fixture.create("a")).await.is_err());
    fault.wait_for_hit(SOON).await.unwrap();
    if done {
        wait::until(SOON, "the write", async || fixture.exists("a").await).await.unwrap();
    }
    assert_eq!(fixture.exists("a").await, done);
}

#[tokio::test]
async fn a_held_write_is_done_when_it_is_released() {
    let fixture = ProxyFixture::start().await;
    let fault = fixture.proxy.inject(RequestMatcher::writes().of("configmaps").nth(1), Fault::Hold);
    let maps = fixture.maps();
    let write = create(&maps, "a");
    let test = async {
        fault.wait_for_hit(SOON).await.unwrap();
        assert!(!fixture.exists("a").await);
        fault.release();
    };
    let (written, ()) = tokio::join!(write, test);
    written.unwrap();
    assert!(fixture.exists("a").await);
}

#[tokio::test]
async fn each_path_fails_once() {
    let fixture = ProxyFixture::start().await;
    let fault = fixture
        .proxy
        .inject(RequestMatcher::writes().and(|r| r.method == "DELETE").once_per_path(), Fault::Respond(500));
    for name in ["a", "b"] {
        fixture.create(name).await.unwrap();
        let delete = async || fixture.maps().delete(name, &DeleteParams::default()).await;
        assert_eq!(code(delete().await), 500);
        delete().await.unwrap();
    }
    assert_eq!(fault.hits().len(), 2);
}

#[tokio::test]
async fn a_callback_runs_when_the_write_is_done_and_its_answer_is_not_passed_on() {
    let fixture = ProxyFixture::start().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record_in = Arc::clone(&seen);
    let _fault = fixture.proxy.inject(
        RequestMatcher::writes().nth(2),
        Fault::after(move |record| {
            record_in.lock().unwrap().push((record.request.name.clone(), record.server, record.client));
            ResponseHandling::Disconnect
        }),
    );
    fixture.create("a").await.unwrap();
    assert!(fixture.create("b").await.is_err());
    assert!(fixture.exists("b").await);
    assert_eq!(*seen.lock().unwrap(), [("b".to_owned(), Some(201), None)]);
}

#[tokio::test]
async fn a_callback_before_the_write_can_keep_it_from_the_api_server() {
    let fixture = ProxyFixture::start().await;
    let _fault = fixture
        .proxy
        .inject(RequestMatcher::writes().nth(1), Fault::before(|_| ResponseHandling::Disconnect));
    assert!(fixture.create("a").await.is_err());
    assert!(!fixture.exists("a").await);
}

#[tokio::test]
async fn a_fault_that_was_dropped_is_no_more() {
    let fixture = ProxyFixture::start().await;
    drop(fixture.proxy.inject(RequestMatcher::writes(), Fault::Respond(500)));
    fixture.create("a").await.unwrap();
}

#[tokio::test]
async fn while_connections_are_refused_nobody_gets_through() {
    let fixture = ProxyFixture::start().await;
    let maps = fixture.maps();
    maps.get_opt("a").await.unwrap();
    let refusing = fixture.proxy.refuse_connections();
    assert!(maps.get_opt("a").await.is_err(), "the connection from before is cut");
    assert!(maps.get_opt("a").await.is_err(), "and a new one as well");
    drop(refusing);
    maps.get_opt("a").await.unwrap();
}
