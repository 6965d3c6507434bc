//! Controllers that restart, with the same store or with one that rejects the trainer's cursor.

use vmafx_testkit::registry::{RegistryAuth, RegistryServer};

use crate::clips::ClipGenerator;
use crate::controller::Controller;
use crate::trainer::TrainerConfig;

const RESETS: &str = "vmafx_trainer_stream_resets_total";

/// A run without checkpoints, because a checkpoint would clear the notice in the status.
fn config(registry: &RegistryServer, controller: &Controller) -> TrainerConfig {
    TrainerConfig::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "1000")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_sample_is_learned_twice_from_an_older_copy_of_the_store() {
    let mut controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut generator = ClipGenerator::new(8);
    let clips: Vec<_> = (0..60).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips[..30]).await;
    controller.stop().await;
    let copy = controller.server.copy_store().unwrap();
    controller.server.restart().await.unwrap();
    controller.score_and_label("node-0", &clips[30..50]).await;
    let config = config(&registry, &controller);
    let trainer = config.start();
    trainer.learned(50).await;

    controller.stop().await;
    controller.server.restore_store(copy.path()).unwrap();
    controller.server.restart().await.unwrap();
    // The trainer has learned the first thirty. These ten are new, though the store reuses cursors for them. They are
    // fewer than the twenty that were lost, so the trainer's cursor is out of range whenever it reconnects.
    controller.score_and_label("node-0", &clips[50..]).await;
    let status = trainer.learned(60).await;
    assert!(
        status["error"].as_str().unwrap().contains("those that were already learned are skipped"),
        "{status}"
    );
    assert_eq!(trainer.metric(RESETS).await, Some(1.0));
    trainer.stop().await;
    // The checkpoint contains a cursor of the current store.
    let trainer = config.start();
    trainer.until("the stream", |status| status["phase"] == "running" && status["error"] == "").await;
    trainer.learned(60).await;
    assert_eq!(trainer.metric(RESETS).await, Some(0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_is_noticed_after_its_numbers_have_passed_the_cursor() {
    let mut controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut generator = ClipGenerator::new(10);
    let clips: Vec<_> = (0..80).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips[..30]).await;
    controller.stop().await;
    let copy = controller.server.copy_store().unwrap();
    controller.server.restart().await.unwrap();
    controller.score_and_label("node-0", &clips[30..40]).await;
    let config = config(&registry, &controller);
    let trainer = config.start();
    trainer.learned(40).await;
    // The trainer is away, and its last checkpoint has the cursor of the lost future.
    trainer.stop().await;
    controller.stop().await;
    controller.server.restore_store(copy.path()).unwrap();
    controller.server.restart().await.unwrap();
    controller.score_and_label("node-0", &clips[40..]).await;
    let trainer = config.start();
    trainer.learned(80).await;
    assert_eq!(trainer.metric(RESETS).await, Some(1.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_store_is_read_from_its_beginning() {
    let mut controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut generator = ClipGenerator::new(9);
    let clips: Vec<_> = (0..30).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips[..20]).await;
    let trainer = config(&registry, &controller).start();
    trainer.learned(20).await;
    controller.stop().await;
    let down = trainer.until("the lost connection", |status| status["error"] != "").await;
    assert_eq!(down["phase"], "running");
    let (code, page) = trainer.page("/readyz").await.unwrap();
    assert!(code == 503 && page.contains("controller"), "{page}");

    controller.server.delete_store().unwrap();
    controller.server.restart().await.unwrap();
    controller.score_and_label("node-0", &clips[20..]).await;
    let status = trainer.learned(30).await;
    assert!(status["error"].as_str().unwrap().contains("reading resumed at the oldest sample"), "{status}");
    assert_eq!(trainer.metric(RESETS).await, Some(1.0));
    assert_eq!(trainer.page("/readyz").await.unwrap().0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_resumes_at_the_cursor_when_the_controller_returns() {
    let mut controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut generator = ClipGenerator::new(25);
    let clips: Vec<_> = (0..30).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips[..20]).await;
    let trainer = config(&registry, &controller).start();
    trainer.learned(20).await;
    controller.stop().await;
    trainer.until("the lost connection", |status| status["error"] != "").await;
    controller.server.restart().await.unwrap();
    controller.score_and_label("node-0", &clips[20..]).await;
    trainer.learned(30).await;
    let status = trainer.until("no error", |status| status["error"] == "").await;
    assert_eq!((status["current_samples"].as_u64(), trainer.metric(RESETS).await), (Some(30), Some(0.0)));
}
