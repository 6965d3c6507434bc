//! Other trainers under the same name.

use vmafx_testkit::registry::{RegistryAuth, RegistryServer};

use crate::clips::Studio;
use crate::controller::Controller;
use crate::shelf::Shelf;
use crate::trainer::Plan;

#[tokio::test(flavor = "multi_thread")]
async fn a_new_run_of_an_old_name_begins_anew_and_overwrites_nothing() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let shelf = Shelf::of(&registry);
    let mut studio = Studio::new(10);
    let clips: Vec<_> = (0..40).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips).await;
    let old = Plan::new("m", registry.address()).controller(&controller.address);
    let trainer = old.start();
    trainer.learned(40).await;
    trainer.leave().await;
    let before = shelf.numbers("m").await;
    let newest = *before.last().unwrap();
    let digest = shelf.get(&format!("m-v{newest:06}")).await.unwrap().digest;

    let trainer = old.set("VMAFX_TRAINER_UID", "another").start();
    trainer.learned(40).await;
    trainer.leave().await;
    assert_eq!(shelf.get(&format!("m-v{newest:06}")).await.unwrap().digest, digest);
    let after = shelf.numbers("m").await;
    let first = shelf.get(&format!("m-v{:06}", newest + 1)).await.unwrap();
    assert_eq!(first.facts.uid, "another");
    assert_eq!((first.facts.parent, after[..before.len()].to_vec()), (None, before));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_trainer_of_one_run_takes_no_number_twice_and_says_that_it_is_not_alone() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let shelf = Shelf::of(&registry);
    let mut studio = Studio::new(11);
    let clips: Vec<_> = (0..60).map(|_| studio.clip()).collect();
    let plan = Plan::new("m", registry.address()).controller(&controller.address);
    // Both know of no version; the first one that pushes takes the number that the other has in mind.
    let patient = plan.clone().set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "50").start();
    patient.until("a beginning", |status| status["phase"] == "running").await;
    let eager = plan.start();
    eager.until("a beginning", |status| status["phase"] == "running").await;
    controller.judge("node-0", &clips[..20]).await;
    eager
        .until("its checkpoint", |status| status["samples_pending"] == 0 && status["current_samples"] == 20)
        .await;
    let taken = shelf.numbers("m").await;
    let digest = shelf.get("m-v000001").await.unwrap().digest;
    eager.kill();
    controller.judge("node-0", &clips[20..]).await;
    let status = patient.until("a checkpoint", |status| status["model_version"] != "").await;
    let own = taken.last().unwrap() + 1;
    assert_eq!(status["model_version"].as_str(), Some(format!("m-v{own:06}").as_str()));
    assert!(status["error"].as_str().unwrap().contains("m-v000001 is not ours"), "{status}");
    assert_eq!(shelf.get("m-v000001").await.unwrap().digest, digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_checkpoint_is_passed_over_and_one_of_another_base_is_not() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let shelf = Shelf::of(&registry);
    let mut studio = Studio::new(12);
    let clips: Vec<_> = (0..30).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips).await;
    let plan = Plan::new("m", registry.address()).controller(&controller.address);
    let trainer = plan.start();
    trainer.learned(30).await;
    trainer.leave().await;
    let newest = *shelf.numbers("m").await.last().unwrap();
    let good = shelf.get(&format!("m-v{newest:06}")).await.unwrap();
    let facts = vmafx_oci::checkpoint::CheckpointMetadata { number: newest + 1, ..good.facts.clone() };
    let bad = vmafx_oci::checkpoint::artifact(&facts, good.model.clone(), good.state.slice(..1000));
    shelf.put(&facts.version(), &bad).await;

    let trainer = plan.start();
    let status = trainer.until("a beginning", |status| status["phase"] == "running").await;
    assert_eq!(status["current_samples"], 30);
    let error = status["error"].as_str().unwrap();
    assert!(error.contains(&facts.version()) && error.contains("damaged"), "{error}");
    assert_eq!(status["model_version"], good.facts.version());
    trainer.kill();

    let other = plan.set("VMAFX_TRAINER_BASE_MODEL", "vmaf_v0.6.1neg").start();
    let status = other.until("a failure", |status| status["phase"] == "failed").await;
    assert!(
        status["error"].as_str().unwrap().contains("was learned from the base model vmaf_v0.6.1,"),
        "{status}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_checkpoints_are_all_unreadable_does_not_begin_from_nothing() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let shelf = Shelf::of(&registry);
    let mut studio = Studio::new(13);
    controller.judge("node-0", &[studio.clip()]).await;
    let plan = Plan::new("m", registry.address()).controller(&controller.address);
    let trainer = plan.start();
    trainer.learned(1).await;
    trainer.leave().await;
    let only = shelf.get("m-v000001").await.unwrap();
    shelf
        .put("m-v000001", &vmafx_oci::checkpoint::artifact(&only.facts, only.model, "no state".into()))
        .await;
    let trainer = plan.start();
    let status = trainer.until("a failure", |status| status["phase"] == "failed").await;
    let error = status["error"].as_str().unwrap();
    assert!(error.contains("m-v000001 cannot be read") && error.contains("another name"), "{error}");
    assert_eq!(trainer.page("/readyz").await.unwrap().0, 503);
    assert_eq!(trainer.page("/healthz").await.unwrap().0, 200);
}
