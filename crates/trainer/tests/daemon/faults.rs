//! Registries that are down, full, closed or wrong, and base models that are not there.

use std::time::Duration;

use rstest::rstest;
use serde_json::Value;
use vmafx_oci::RegistryCredentials;
use vmafx_testkit::registry::{PASSWORD, RegistryAuth, RegistryLayer, RegistryServer, RegistryStorage, USER};

use crate::clips::{Studio, base_json};
use crate::controller::{Controller, free_address};
use crate::shelf::Shelf;
use crate::trainer::Plan;

const FAILURES: &str = "vmafx_trainer_checkpoint_push_failures_total";

#[rstest]
#[case::down(None, "RegistryUnavailable")]
#[case::read_only(Some(RegistryStorage::ReadOnly), "RegistryReadOnly")]
#[case::full(Some(RegistryStorage::Full { max_file_bytes: 16_000 }), "RegistryServer")]
#[tokio::test(flavor = "multi_thread")]
async fn training_goes_on_while_a_registry_takes_nothing(
    #[case] storage: Option<RegistryStorage>,
    #[case] reason: &str,
) {
    let controller = Controller::start().await;
    let mut registry = RegistryServer::start_on(RegistryStorage::Disk, RegistryAuth::Open).await.unwrap();
    let mut studio = Studio::new(14);
    let clips: Vec<_> = (0..60).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips[..20]).await;
    let trainer = Plan::new("m", registry.address()).controller(&controller.address).start();
    let status = trainer
        .until("a checkpoint", |status| status["samples_pending"] == 0 && status["model_version"] != "")
        .await;
    let written = status["model_version"].clone();

    match storage {
        Some(storage) => registry.restart_on(storage).await.unwrap(),
        None => registry.stop().unwrap(),
    }
    controller.judge("node-0", &clips[20..40]).await;
    let status = trainer.until("a failed push", |status| status["push_error"] != "").await;
    let error = status["push_error"].as_str().unwrap().to_owned();
    assert!(error.starts_with(reason), "{error}");
    assert_eq!((status["phase"].as_str(), &status["model_version"]), (Some("running"), &written));
    controller.judge("node-0", &clips[40..]).await;
    let status = trainer.learned(60).await;
    assert_eq!(status["push_error"].as_str(), Some(error.as_str()), "the words stay while nothing changes");
    let word = error.split(':').next().unwrap();
    assert!(trainer.metric(&format!("{FAILURES}{{reason=\"{word}\"}}")).await.unwrap() >= 1.0);

    registry.restart_on(RegistryStorage::Disk).await.unwrap();
    let status =
        trainer.until("a push", |status| status["push_error"] == "" && status["samples_pending"] == 0).await;
    // The number follows that of the last one that got there, however many did not.
    let shelf = Shelf::of(&registry);
    let numbers = shelf.numbers("m").await;
    let last = numbers.last().unwrap();
    assert_eq!(numbers, (1..=*last).collect::<Vec<_>>());
    assert_eq!(status["model_version"].as_str(), Some(format!("m-v{last:06}").as_str()));
    assert_eq!(shelf.get(&format!("m-v{last:06}")).await.unwrap().facts.samples, 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_is_down_at_the_start_is_waited_for() {
    let controller = Controller::start().await;
    let mut registry = RegistryServer::start_on(RegistryStorage::Disk, RegistryAuth::Open).await.unwrap();
    let mut studio = Studio::new(15);
    let clips: Vec<_> = (0..20).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips).await;
    let plan = Plan::new("m", registry.address()).controller(&controller.address);
    let trainer = plan.start();
    trainer.learned(20).await;
    trainer.leave().await;

    registry.stop().unwrap();
    let trainer = plan.start();
    let status = trainer.until("a reason", |status| status["error"] != "").await;
    assert_eq!(
        (status["phase"].as_str(), status["current_samples"].as_u64()),
        (Some("initializing"), Some(0))
    );
    assert_eq!(status["push_error"], status["error"]);
    assert_eq!(trainer.page("/readyz").await.unwrap().0, 503);
    registry.restart_on(RegistryStorage::Disk).await.unwrap();
    let status = trainer.until("a beginning", |status| status["phase"] == "running").await;
    assert_eq!((status["current_samples"].as_u64(), status["push_error"].as_str()), (Some(20), Some("")));
    trainer.until("no error", |status| status["error"] == "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_come_later_are_used() {
    let controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Password).await.unwrap();
    let mut studio = Studio::new(16);
    let clips: Vec<_> = (0..20).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips).await;
    let docker = tempfile::tempdir().unwrap();
    let trainer = Plan::new("m", registry.address())
        .controller(&controller.address)
        .set("DOCKER_CONFIG", docker.path().to_str().unwrap())
        .start();
    let status = trainer.until("a reason", |status| status["error"] != "").await;
    assert_eq!(status["phase"], "initializing", "whether there is a checkpoint is not known");
    assert!(status["error"].as_str().unwrap().contains("DOCKER_CONFIG"), "{status}");

    let config = serde_json::json!({"auths": {registry.address(): {"username": USER, "password": PASSWORD}}});
    std::fs::write(docker.path().join("config.json"), config.to_string()).unwrap();
    trainer
        .until("a checkpoint", |status| status["samples_pending"] == 0 && status["model_version"] != "")
        .await;
    let shelf = Shelf::at(registry.address(), RegistryCredentials::in_directory(docker.path()));
    assert!(!shelf.numbers("m").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_is_known_by_the_authority_that_the_trainer_is_given() {
    let controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Tls).await.unwrap();
    let mut studio = Studio::new(20);
    controller.judge("node-0", &[studio.clip()]).await;
    // This machine by a name that does not say so, hence asked with TLS.
    let name = registry.address().replace("127.0.0.1", "127.1");
    let plan = Plan::new("m", &name).controller(&controller.address);
    let stranger = plan.start();
    let status = stranger.until("a reason", |status| status["error"] != "").await;
    assert!(status["error"].as_str().unwrap().contains("certificate"), "{status}");
    stranger.kill();

    let trainer = plan.set("SSL_CERT_FILE", registry.ca_file().to_str().unwrap()).start();
    let version = |status: &Value| status["model_version"].as_str() == Some("m-v000001");
    trainer.until("a checkpoint", version).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_model_that_comes_later_is_found_and_outlives_its_file() {
    let controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut studio = Studio::new(17);
    controller.judge("node-0", &[studio.clip()]).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("base.json");
    let plan = Plan::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_BASE_MODEL", file.to_str().unwrap());
    let trainer = plan.start();
    let status = trainer.until("a failure", |status| status["phase"] == "failed").await;
    assert!(status["error"].as_str().unwrap().contains(file.to_str().unwrap()), "{status}");
    let (code, page) = trainer.page("/readyz").await.unwrap();
    assert!(code == 503 && page.contains("base.json"), "{page}");
    std::fs::write(&file, base_json()).unwrap();
    trainer.learned(1).await;
    trainer.leave().await;

    // A checkpoint has all that a run needs.
    std::fs::remove_file(&file).unwrap();
    let trainer = plan.start();
    trainer.learned(1).await;
}

#[rstest]
#[case::unknown("vmaf_v0.6", "did you mean vmaf_v0.6.1")]
#[case::a_collection("vmaf_b_v0.6.3", "vmaf_b_v0.6.3")]
#[tokio::test(flavor = "multi_thread")]
async fn a_base_model_that_cannot_be_is_told(#[case] model: &str, #[case] why: &str) {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let trainer = Plan::new("m", registry.address())
        .controller(&free_address())
        .set("VMAFX_TRAINER_BASE_MODEL", model)
        .start();
    let status = trainer.until("a failure", |status| status["phase"] == "failed").await;
    assert!(status["error"].as_str().unwrap().contains(why), "{status}");
    trainer.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_model_is_pulled_from_a_registry() {
    let controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut studio = Studio::new(18);
    controller.judge("node-0", &[studio.clip()]).await;
    let model = format!("oci://{}/bases:mine", registry.address());
    let trainer = Plan::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_BASE_MODEL", &model)
        .start();
    let status = trainer.until("a failure", |status| status["phase"] == "failed").await;
    assert!(status["error"].as_str().unwrap().contains(&model), "{status}");
    let json = base_json();
    let pushed = tokio::task::spawn_blocking(move || {
        let layer = RegistryLayer { media_type: "application/vnd.vmafx.model.v1+json", content: &json };
        registry.push("bases", "mine", &[layer]).map(|_| registry)
    });
    let registry = pushed.await.unwrap().unwrap();
    trainer.learned(1).await;
    trainer.leave().await;
    let facts = Shelf::of(&registry).get("m-v000001").await.unwrap().facts;
    assert_eq!((facts.base_model, facts.base_digest.as_str()), (model, crate::clips::base().digest()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trainer_that_cannot_save_leaves_in_time_and_nothing_is_lost() {
    let controller = Controller::start().await;
    let mut registry = RegistryServer::start_on(RegistryStorage::Disk, RegistryAuth::Open).await.unwrap();
    let mut studio = Studio::new(19);
    let clips: Vec<_> = (0..5).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips).await;
    let plan = Plan::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "10")
        .set("VMAFX_TRAINER_GRACEFUL_SHUTDOWN", "2s");
    let trainer = plan.start();
    trainer.learned(5).await;
    registry.stop().unwrap();
    // It ends with success, and well before anybody has to end it.
    let left = tokio::time::timeout(Duration::from_mins(1), trainer.leave()).await;
    assert!(left.is_ok());
    registry.restart_on(RegistryStorage::Disk).await.unwrap();
    let trainer = plan.start();
    trainer.learned(5).await;
}
