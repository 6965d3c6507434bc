//! Servers that are not registries, and registries that do not respond.

use std::time::Duration;

use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};
use vmafx_testkit::wait;

use crate::clips::ClipGenerator;
use crate::controller::Controller;
use crate::trainer::{TIMEOUT, TrainerConfig};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_a_registry_is_reported_and_learning_continues() {
    let controller = Controller::start().await;
    let server = HttpServer::start(|_| Reply::status(404));
    let mut generator = ClipGenerator::new(23);
    let clips: Vec<_> = (0..20).map(|_| generator.clip()).collect();
    let trainer = TrainerConfig::new("m", &server.authority()).controller(&controller.address).start();
    controller.score_and_label("node-0", &clips[..10]).await;
    let status = trainer.until("a failed push", |status| status["push_error"] != "").await;
    assert_eq!(status["phase"], "running");
    assert!(status["push_error"].as_str().unwrap().starts_with("RegistryNotFound: "), "{status}");
    controller.score_and_label("node-0", &clips[10..]).await;
    trainer.learned(20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_registry_delays_neither_learning_nor_shutdown() {
    let controller = Controller::start().await;
    let server = HttpServer::start(|request| match request.method.as_str() {
        "GET" | "HEAD" => Reply::status(404),
        _ => Reply::body(ReplyBody::Silent),
    });
    let mut generator = ClipGenerator::new(24);
    let clips: Vec<_> = (0..20).map(|_| generator.clip()).collect();
    let trainer = TrainerConfig::new("m", &server.authority())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_GRACEFUL_SHUTDOWN", "2s")
        .start();
    controller.score_and_label("node-0", &clips[..10]).await;
    let started = || std::future::ready(server.requests().iter().any(|request| request.method == "POST"));
    wait::until(TIMEOUT, "an upload", started).await.unwrap();
    controller.score_and_label("node-0", &clips[10..]).await;
    let status = trainer.learned(20).await;
    assert_eq!((status["phase"].as_str(), status["samples_pending"].as_u64()), (Some("running"), Some(20)));
    let stopped = tokio::time::timeout(Duration::from_mins(1), trainer.stop()).await;
    assert!(stopped.is_ok(), "the trainer does not stop");
}
