//! Registries that are down, full, read-only or protected, and base models that are missing.

use std::time::Duration;

use rstest::rstest;
use serde_json::Value;
use vmafx_oci::RegistryCredentials;
use vmafx_testkit::ports;
use vmafx_testkit::registry::{PASSWORD, RegistryAuth, RegistryLayer, RegistryServer, RegistryStorage, USER};

use crate::checkpoints::RegistryReader;
use crate::clips::{ClipGenerator, base_json};
use crate::controller::Controller;
use crate::trainer::TrainerConfig;

const FAILURES: &str = "vmafx_trainer_checkpoint_push_failures_total";

#[rstest]
#[case::down(None, "RegistryUnavailable")]
#[case::read_only(Some(RegistryStorage::ReadOnly), "RegistryReadOnly")]
#[case::full(Some(RegistryStorage::Full { max_file_bytes: 16_000 }), "Registry")]
#[tokio::test(flavor = "multi_thread")]
async fn training_continues_while_the_registry_accepts_nothing(
    #[case] storage: Option<RegistryStorage>,
    #[case] reason: &str,
) {
    let controller = Controller::start().await;
    let mut registry = RegistryServer::start_on(RegistryStorage::Disk, RegistryAuth::Open).await.unwrap();
    let mut generator = ClipGenerator::new(14);
    let clips: Vec<_> = (0..60).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips[..20]).await;
    let trainer = TrainerConfig::new("m", registry.address()).controller(&controller.address).start();
    let status = trainer
        .until("a checkpoint", |status| status["samples_pending"] == 0 && status["model_version"] != "")
        .await;
    let written = status["model_version"].clone();

    match storage {
        Some(storage) => registry.restart_on(storage).await.unwrap(),
        None => registry.stop().unwrap(),
    }
    controller.score_and_label("node-0", &clips[20..40]).await;
    let status = trainer.until("a failed push", |status| status["push_error"] != "").await;
    let error = status["push_error"].as_str().unwrap().to_owned();
    assert!(error.starts_with(reason), "{error}");
    assert_eq!((status["phase"].as_str(), &status["model_version"]), (Some("running"), &written));
    controller.score_and_label("node-0", &clips[40..]).await;
    let status = trainer.learned(60).await;
    assert_eq!(
        status["push_error"].as_str(),
        Some(error.as_str()),
        "the text stays the same while the cause does"
    );
    let reason = error.split(':').next().unwrap();
    assert!(trainer.metric(&format!("{FAILURES}{{reason=\"{reason}\"}}")).await.unwrap() >= 1.0);

    registry.restart_on(RegistryStorage::Disk).await.unwrap();
    let status =
        trainer.until("a push", |status| status["push_error"] == "" && status["samples_pending"] == 0).await;
    // Failed pushes leave no gap in the numbers.
    let checkpoints = RegistryReader::of(&registry);
    let numbers = checkpoints.numbers("m").await;
    let last = numbers.last().unwrap();
    assert_eq!(numbers, (1..=*last).collect::<Vec<_>>());
    assert_eq!(status["model_version"].as_str(), Some(format!("m-v{last:06}").as_str()));
    assert_eq!(checkpoints.get(&format!("m-v{last:06}")).await.unwrap().facts.samples, 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trainer_waits_for_a_registry_that_is_down_at_the_start() {
    let controller = Controller::start().await;
    let mut registry = RegistryServer::start_on(RegistryStorage::Disk, RegistryAuth::Open).await.unwrap();
    let mut generator = ClipGenerator::new(15);
    let clips: Vec<_> = (0..20).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips).await;
    let config = TrainerConfig::new("m", registry.address()).controller(&controller.address);
    let trainer = config.start();
    trainer.learned(20).await;
    trainer.stop().await;

    registry.stop().unwrap();
    let trainer = config.start();
    let status = trainer.until("an error", |status| status["error"] != "").await;
    assert_eq!(
        (status["phase"].as_str(), status["current_samples"].as_u64()),
        (Some("initializing"), Some(0))
    );
    assert_eq!(status["push_error"], status["error"]);
    assert_eq!(trainer.page("/readyz").await.unwrap().0, 503);
    registry.restart_on(RegistryStorage::Disk).await.unwrap();
    let status = trainer.until("training to start", |status| status["phase"] == "running").await;
    assert_eq!((status["current_samples"].as_u64(), status["push_error"].as_str()), (Some(20), Some("")));
    trainer.until("no error", |status| status["error"] == "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_appear_later_are_used() {
    let controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Password).await.unwrap();
    let mut generator = ClipGenerator::new(16);
    let clips: Vec<_> = (0..20).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips).await;
    let docker = tempfile::tempdir().unwrap();
    let trainer = TrainerConfig::new("m", registry.address())
        .controller(&controller.address)
        .set("DOCKER_CONFIG", docker.path().to_str().unwrap())
        .start();
    let status = trainer.until("an error", |status| status["error"] != "").await;
    assert_eq!(status["phase"], "initializing", "it is not known whether there is a checkpoint");
    assert!(status["error"].as_str().unwrap().contains("DOCKER_CONFIG"), "{status}");

    let config = serde_json::json!({"auths": {registry.address(): {"username": USER, "password": PASSWORD}}});
    std::fs::write(docker.path().join("config.json"), config.to_string()).unwrap();
    trainer
        .until("a checkpoint", |status| status["samples_pending"] == 0 && status["model_version"] != "")
        .await;
    let checkpoints =
        RegistryReader::at(registry.address(), RegistryCredentials::in_directory(docker.path()));
    assert!(!checkpoints.numbers("m").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registrys_certificate_is_checked_with_the_trainers_ca_file() {
    let controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Tls).await.unwrap();
    let mut generator = ClipGenerator::new(20);
    controller.score_and_label("node-0", &[generator.clip()]).await;
    // The client calls loopback addresses without TLS, but does not recognize 127.1 as one.
    let name = registry.address().replace("127.0.0.1", "127.1");
    let config = TrainerConfig::new("m", &name).controller(&controller.address);
    let without_ca = config.start();
    let status = without_ca.until("an error", |status| status["error"] != "").await;
    assert!(status["error"].as_str().unwrap().contains("certificate"), "{status}");
    without_ca.kill();

    let trainer = config.set("SSL_CERT_FILE", registry.ca_file().to_str().unwrap()).start();
    let version = |status: &Value| status["model_version"].as_str() == Some("m-v000001");
    trainer.until("a checkpoint", version).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_model_that_appears_later_is_used_and_its_file_is_not_needed_again() {
    let controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut generator = ClipGenerator::new(17);
    controller.score_and_label("node-0", &[generator.clip()]).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("base.json");
    let config = TrainerConfig::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_BASE_MODEL", file.to_str().unwrap());
    let trainer = config.start();
    let status = trainer.until("a failure", |status| status["phase"] == "failed").await;
    assert!(status["error"].as_str().unwrap().contains(file.to_str().unwrap()), "{status}");
    let (code, page) = trainer.page("/readyz").await.unwrap();
    assert!(code == 503 && page.contains("base.json"), "{page}");
    std::fs::write(&file, base_json()).unwrap();
    trainer.learned(1).await;
    trainer.stop().await;

    // The checkpoint contains the base model.
    std::fs::remove_file(&file).unwrap();
    let trainer = config.start();
    trainer.learned(1).await;
}

#[rstest]
#[case::unknown("vmaf_v0.6", "did you mean vmaf_v0.6.1")]
#[case::a_collection("vmaf_b_v0.6.3", "vmaf_b_v0.6.3")]
#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_base_model_is_reported(#[case] model: &str, #[case] why: &str) {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let trainer = TrainerConfig::new("m", registry.address())
        .controller(&ports::free_address().unwrap().to_string())
        .set("VMAFX_TRAINER_BASE_MODEL", model)
        .start();
    let status = trainer.until("a failure", |status| status["phase"] == "failed").await;
    assert!(status["error"].as_str().unwrap().contains(why), "{status}");
    trainer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_model_is_pulled_from_a_registry() {
    let controller = Controller::start().await;
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let mut generator = ClipGenerator::new(18);
    controller.score_and_label("node-0", &[generator.clip()]).await;
    let model = format!("oci://{}/bases:mine", registry.address());
    let trainer = TrainerConfig::new("m", registry.address())
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
    trainer.stop().await;
    let facts = RegistryReader::of(&registry).get("m-v000001").await.unwrap().facts;
    assert_eq!((facts.base_model, facts.base_digest.as_str()), (model, crate::clips::base().digest()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trainer_that_cannot_save_stops_in_time_and_nothing_is_lost() {
    let controller = Controller::start().await;
    let mut registry = RegistryServer::start_on(RegistryStorage::Disk, RegistryAuth::Open).await.unwrap();
    let mut generator = ClipGenerator::new(19);
    let clips: Vec<_> = (0..5).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips).await;
    let config = TrainerConfig::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "10")
        .set("VMAFX_TRAINER_GRACEFUL_SHUTDOWN", "2s");
    let trainer = config.start();
    trainer.learned(5).await;
    registry.stop().unwrap();
    // `stop` requires a successful exit.
    let stopped = tokio::time::timeout(Duration::from_mins(1), trainer.stop()).await;
    assert!(stopped.is_ok(), "the trainer does not stop");
    registry.restart_on(RegistryStorage::Disk).await.unwrap();
    let trainer = config.start();
    trainer.learned(5).await;
}
