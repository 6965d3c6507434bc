//! Places that are no registries, and registries that say nothing.

use std::time::Duration;

use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};
use vmafx_testkit::wait;

use crate::clips::Studio;
use crate::controller::Controller;
use crate::trainer::{PATIENCE, Plan};

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_no_registry_is_told_and_learning_goes_on() {
    let controller = Controller::start().await;
    let server = HttpServer::start(|_| Reply::status(404));
    let mut studio = Studio::new(23);
    let clips: Vec<_> = (0..20).map(|_| studio.clip()).collect();
    let trainer = Plan::new("m", &server.authority()).controller(&controller.address).start();
    controller.judge("node-0", &clips[..10]).await;
    let status = trainer.until("a failed push", |status| status["push_error"] != "").await;
    assert_eq!(status["phase"], "running");
    assert!(status["push_error"].as_str().unwrap().starts_with("RegistryNotFound: "), "{status}");
    controller.judge("node-0", &clips[10..]).await;
    trainer.learned(20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_says_nothing_holds_up_neither_learning_nor_leaving() {
    let controller = Controller::start().await;
    let server = HttpServer::start(|request| match request.method.as_str() {
        "GET" | "HEAD" => Reply::status(404),
        _ => Reply::body(ReplyBody::Silent),
    });
    let mut studio = Studio::new(24);
    let clips: Vec<_> = (0..20).map(|_| studio.clip()).collect();
    let trainer = Plan::new("m", &server.authority())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_GRACEFUL_SHUTDOWN", "2s")
        .start();
    controller.judge("node-0", &clips[..10]).await;
    let begun = || std::future::ready(server.requests().iter().any(|request| request.method == "POST"));
    wait::until(PATIENCE, "an upload", begun).await.unwrap();
    controller.judge("node-0", &clips[10..]).await;
    let status = trainer.learned(20).await;
    assert_eq!((status["phase"].as_str(), status["samples_pending"].as_u64()), (Some("running"), Some(20)));
    let left = tokio::time::timeout(Duration::from_mins(1), trainer.leave()).await;
    assert!(left.is_ok(), "it waits for ever");
}
