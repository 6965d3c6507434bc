//! Other runs and trainers with the same name, and checkpoints that are not readable.

use vmafx_testkit::registry::{RegistryAuth, RegistryServer};

use crate::checkpoints::RegistryReader;
use crate::clips::ClipGenerator;
use crate::controller::Controller;
use crate::trainer::TrainerConfig;

#[tokio::test(flavor = "multi_thread")]
async fn a_new_run_of_an_old_name_starts_from_the_base_model_and_overwrites_nothing() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let checkpoints = RegistryReader::of(&registry);
    let mut generator = ClipGenerator::new(10);
    let clips: Vec<_> = (0..40).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips).await;
    let old = TrainerConfig::new("m", registry.address()).controller(&controller.address);
    let trainer = old.start();
    trainer.learned(40).await;
    trainer.stop().await;
    let before = checkpoints.numbers("m").await;
    let newest = *before.last().unwrap();
    let digest = checkpoints.get(&format!("m-v{newest:06}")).await.unwrap().digest;

    let trainer = old.set("VMAFX_TRAINER_UID", "another").start();
    trainer.learned(40).await;
    trainer.stop().await;
    assert_eq!(checkpoints.get(&format!("m-v{newest:06}")).await.unwrap().digest, digest);
    let after = checkpoints.numbers("m").await;
    let first = checkpoints.get(&format!("m-v{:06}", newest + 1)).await.unwrap();
    assert_eq!(first.facts.uid, "another");
    assert_eq!((first.facts.parent, after[..before.len()].to_vec()), (None, before));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_trainer_of_one_run_uses_no_number_twice_and_reports_the_conflict() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let checkpoints = RegistryReader::of(&registry);
    let mut generator = ClipGenerator::new(11);
    let clips: Vec<_> = (0..60).map(|_| generator.clip()).collect();
    let config = TrainerConfig::new("m", registry.address()).controller(&controller.address);
    // Both start without a version. The one that pushes first takes the number that the other one expects to use.
    let patient = config.clone().set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "50").start();
    patient.until("training to start", |status| status["phase"] == "running").await;
    let eager = config.start();
    eager.until("training to start", |status| status["phase"] == "running").await;
    controller.score_and_label("node-0", &clips[..20]).await;
    eager
        .until("its checkpoint", |status| status["samples_pending"] == 0 && status["current_samples"] == 20)
        .await;
    let taken = checkpoints.numbers("m").await;
    let digest = checkpoints.get("m-v000001").await.unwrap().digest;
    eager.kill();
    controller.score_and_label("node-0", &clips[20..]).await;
    let status = patient.until("a checkpoint", |status| status["model_version"] != "").await;
    let own = taken.last().unwrap() + 1;
    assert_eq!(status["model_version"].as_str(), Some(format!("m-v{own:06}").as_str()));
    assert!(status["error"].as_str().unwrap().contains("another trainer pushed m-v000001"), "{status}");
    assert_eq!(checkpoints.get("m-v000001").await.unwrap().digest, digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_checkpoint_is_skipped_and_one_of_another_base_model_is_an_error() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let checkpoints = RegistryReader::of(&registry);
    let mut generator = ClipGenerator::new(12);
    let clips: Vec<_> = (0..30).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips).await;
    let config = TrainerConfig::new("m", registry.address()).controller(&controller.address);
    let trainer = config.start();
    trainer.learned(30).await;
    trainer.stop().await;
    let newest = *checkpoints.numbers("m").await.last().unwrap();
    let good = checkpoints.get(&format!("m-v{newest:06}")).await.unwrap();
    let facts = vmafx_oci::checkpoint::CheckpointMetadata { number: newest + 1, ..good.facts.clone() };
    let bad = vmafx_oci::checkpoint::artifact(&facts, good.model.clone(), good.state.slice(..1000));
    checkpoints.push(&facts.version(), &bad).await;

    let trainer = config.start();
    let status = trainer.until("training to start", |status| status["phase"] == "running").await;
    assert_eq!(status["current_samples"], 30);
    let error = status["error"].as_str().unwrap();
    assert!(error.contains(&facts.version()) && error.contains("damaged"), "{error}");
    assert_eq!(status["model_version"], good.facts.version());
    trainer.kill();

    let other = config.set("VMAFX_TRAINER_BASE_MODEL", "vmaf_v0.6.1neg").start();
    let status = other.until("a failure", |status| status["phase"] == "failed").await;
    assert!(
        status["error"].as_str().unwrap().contains("was trained on the base model vmaf_v0.6.1,"),
        "{status}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_checkpoints_are_all_unreadable_does_not_start_from_the_base_model() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let checkpoints = RegistryReader::of(&registry);
    let mut generator = ClipGenerator::new(13);
    controller.score_and_label("node-0", &[generator.clip()]).await;
    let config = TrainerConfig::new("m", registry.address()).controller(&controller.address);
    let trainer = config.start();
    trainer.learned(1).await;
    trainer.stop().await;
    let only = checkpoints.get("m-v000001").await.unwrap();
    checkpoints
        .push("m-v000001", &vmafx_oci::checkpoint::artifact(&only.facts, only.model, "no state".into()))
        .await;
    let trainer = config.start();
    let status = trainer.until("a failure", |status| status["phase"] == "failed").await;
    let error = status["error"].as_str().unwrap();
    assert!(error.contains("m-v000001 cannot be read") && error.contains("another name"), "{error}");
    assert_eq!(trainer.page("/readyz").await.unwrap().0, 503);
    assert_eq!(trainer.page("/healthz").await.unwrap().0, 200);
}
