//! A controller that does not know the trainer's place in its samples any more.

use vmafx_testkit::registry::{RegistryAuth, RegistryServer};

use crate::clips::Studio;
use crate::controller::Controller;
use crate::trainer::Plan;

const RESETS: &str = "vmafx_trainer_stream_resets_total";

/// Without a checkpoint on the way: with one, what was got over is history.
fn plan(registry: &RegistryServer, controller: &Controller) -> Plan {
    Plan::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "1000")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_store_teaches_nothing_twice() {
    let mut controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut studio = Studio::new(8);
    let clips: Vec<_> = (0..60).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips[..30]).await;
    controller.stop().await;
    let copy = std::fs::read(controller.store()).unwrap();
    controller.begin_again().await;
    controller.judge("node-0", &clips[30..50]).await;
    let plan = plan(&registry, &controller);
    let trainer = plan.start();
    trainer.learned(50).await;

    controller.stop().await;
    for ending in ["-wal", "-shm"] {
        let mut file = controller.store().into_os_string();
        file.push(ending);
        let _ = std::fs::remove_file(file);
    }
    std::fs::write(controller.store(), copy).unwrap();
    controller.begin_again().await;
    // The first thirty are known; these are new, though the store gives them places that it gave before. They are fewer than
    // were lost: the place that the trainer asks for is not there, however late it comes back.
    controller.judge("node-0", &clips[50..]).await;
    let status = trainer.learned(60).await;
    assert!(
        status["error"].as_str().unwrap().contains("behind the last sample that was learned"),
        "{status}"
    );
    assert_eq!(trainer.metric(RESETS).await, Some(1.0));
    trainer.leave().await;
    // What was saved is a place of the store as it is.
    let trainer = plan.start();
    trainer.until("a stream", |status| status["phase"] == "running" && status["error"] == "").await;
    trainer.learned(60).await;
    assert_eq!(trainer.metric(RESETS).await, Some(0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_store_is_read_from_its_beginning() {
    let mut controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut studio = Studio::new(9);
    let clips: Vec<_> = (0..30).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips[..20]).await;
    let trainer = plan(&registry, &controller).start();
    trainer.learned(20).await;
    controller.stop().await;
    let down = trainer.until("the loss", |status| status["error"] != "").await;
    assert_eq!(down["phase"], "running");
    let (code, page) = trainer.page("/readyz").await.unwrap();
    assert!(code == 503 && page.contains("controller"), "{page}");

    for file in std::fs::read_dir(controller.store().parent().unwrap()).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    controller.begin_again().await;
    controller.judge("node-0", &clips[20..]).await;
    let status = trainer.learned(30).await;
    assert!(status["error"].as_str().unwrap().contains("went on with the oldest"), "{status}");
    assert_eq!(trainer.metric(RESETS).await, Some(1.0));
    assert_eq!(trainer.page("/readyz").await.unwrap().0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_comes_back_is_read_on_from_where_it_was() {
    let mut controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut studio = Studio::new(25);
    let clips: Vec<_> = (0..30).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips[..20]).await;
    let trainer = plan(&registry, &controller).start();
    trainer.learned(20).await;
    controller.stop().await;
    trainer.until("the loss", |status| status["error"] != "").await;
    controller.begin_again().await;
    controller.judge("node-0", &clips[20..]).await;
    trainer.learned(30).await;
    let status = trainer.until("no error", |status| status["error"] == "").await;
    assert_eq!((status["current_samples"].as_u64(), trainer.metric(RESETS).await), (Some(30), Some(0.0)));
}
