//! A run from its first day to its last.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_api::VmafxModelTraining;
use vmafx_api::conditions::TrainingCondition;
use vmafx_api::training::TrainingPhase;
use vmafx_testkit::wait;

use crate::SOON;
use crate::plane::Plane;
use crate::world::{self, MADE, RUN, World, message, reason, samples, tracked};

#[tokio::test]
async fn a_new_run_gets_a_trainer_and_a_service_and_is_initializing() {
    let world = World::set().await;
    let made = world.create().await;
    let run = world.until("a tracked StatefulSet", |run| tracked(run).is_some()).await;
    let status = run.status.as_ref().unwrap();
    assert_eq!((status.phase, status.observed_generation), (Some(TrainingPhase::Initializing), Some(1)));
    assert_eq!(status.conditions.len(), TrainingCondition::ALL.len());
    assert_eq!(reason(&run, "Ready"), "TrainerStarting");
    let set = world.all::<StatefulSet>().get(MADE).await.unwrap();
    assert_eq!((set.uid(), set.owner_references()[0].uid.clone()), (tracked(&run), made.uid().unwrap()));
    let spec = set.spec.unwrap();
    assert_eq!((spec.replicas, spec.service_name.as_deref()), (Some(1), Some(MADE)));
    let service = world.all::<Service>().get(MADE).await.unwrap();
    assert_eq!(service.owner_references()[0].uid, made.uid().unwrap());
    assert_eq!(service.spec.unwrap().ports.unwrap()[0].port, 9091);
    assert_eq!(world.until_event("Created").await.len(), 1);
    world.until("the trainer to be missed", |run| message(run, "Ready").contains("/status ")).await;
    assert_eq!(world.notes("TrainerUnreachable").await, [""; 0], "what has not begun cannot have stopped");
}

#[tokio::test]
async fn it_runs_when_its_trainer_says_so_and_its_numbers_are_the_trainers() {
    let world = World::set().await;
    world.says(json!({ "phase": "initializing", "current_samples": 0 }));
    world.create().await;
    world.until("an answer", |run| message(run, "Ready").contains("does not learn yet")).await;
    world.says(
        json!({ "phase": "running", "current_samples": 4200, "samples_pending": 7, "rmse": 0.1, "news": 1 }),
    );
    let run = world.until_phase(TrainingPhase::Running).await;
    assert_eq!((reason(&run, "Ready").as_str(), samples(&run)), ("Training", Some(4200)));
    let status = run.status.unwrap();
    assert_eq!((status.samples_pending, status.metrics.unwrap().rmse), (Some(7), Some(0.1)));
    assert_eq!(world.until_event("Training").await.len(), 1);
    world.says(json!({ "phase": "running", "current_samples": 3 }));
    let run = world.until("fewer samples", |run| samples(run) == Some(3)).await;
    assert_eq!(run.status.unwrap().samples_pending, Some(7), "what is not said stays");
    world.says(json!({ "phase": "failed", "error": "the base model cannot be read" }));
    let run = world.until_phase(TrainingPhase::Failed).await;
    assert_eq!(message(&run, "Ready"), "the base model cannot be read");
    assert_eq!(world.until_event("TrainingFailed").await, ["the base model cannot be read"]);
}

#[tokio::test]
async fn a_template_is_merged_and_one_that_the_api_server_refuses_becomes_a_condition() {
    let world = World::set().await;
    world.running().await;
    let trainer = |more: Value| json!({ "podTemplate": { "spec": { "serviceAccountName": "learner", "containers": [more] } } });
    world.change(trainer(json!({ "name": "trainer", "imagePullPolicy": "Sometimes" }))).await;
    let run = world.until_reason("WorkloadSynced", "Invalid").await;
    assert!(message(&run, "WorkloadSynced").contains("imagePullPolicy"), "{run:?}");
    world.change(trainer(json!({ "name": "trainer", "resources": { "requests": { "cpu": "250m" } } }))).await;
    world.until_reason("WorkloadSynced", "AsExpected").await;
    let pod = world.all::<StatefulSet>().get(MADE).await.unwrap().spec.unwrap().template.spec.unwrap();
    assert_eq!(pod.service_account_name.as_deref(), Some("learner"));
    let trainer = &pod.containers[0];
    assert_eq!(trainer.resources.as_ref().unwrap().requests.as_ref().unwrap()["cpu"].0, "250m");
    assert!(trainer.image.is_some(), "what the template does not say stays");
}

#[tokio::test]
async fn a_paused_run_has_no_trainer_and_comes_back() {
    let world = World::set().await;
    let before = world.running().await;
    world.change(json!({ "paused": true })).await;
    let paused = world.until_phase(TrainingPhase::Paused).await;
    assert_eq!(
        (reason(&paused, "Paused").as_str(), reason(&paused, "Ready").as_str()),
        ("Drained", "Drained")
    );
    let replicas = async || world.all::<StatefulSet>().get(MADE).await.unwrap().spec.unwrap().replicas;
    assert_eq!((replicas().await, samples(&paused)), (Some(0), Some(10)));
    let asked = world.asked();
    world.says(json!({ "phase": "initializing", "current_samples": 10 }));
    world.change(json!({ "paused": false })).await;
    let back = world.until_phase(TrainingPhase::Initializing).await;
    assert_eq!((reason(&back, "Paused").as_str(), tracked(&back)), ("Resumed", tracked(&before)));
    wait::until(SOON, "a trainer to be wanted", async || replicas().await == Some(1)).await.unwrap();
    world.says(json!({ "phase": "running", "current_samples": 11 }));
    world.until_phase(TrainingPhase::Running).await;
    assert!(world.asked() > asked);
    for event in ["Drained", "Resumed"] {
        assert_eq!(world.until_event(event).await.len(), 1, "{event}");
    }
}

#[tokio::test]
async fn the_stateful_set_is_made_again_and_an_impostor_replaced() {
    let world = World::without_polls().await;
    let run = world.running().await;
    let first = tracked(&run).unwrap();
    let sets = world.all::<StatefulSet>();
    sets.delete(MADE, &DeleteParams::default()).await.unwrap();
    let second = world.tracked_other_than(&first).await;
    assert_eq!(world.until_event("Recreated").await.len(), 1);
    let forged = json!({ "status": { "statefulSet": { "name": MADE, "uid": "00000000-forged" } } });
    let runs = world.all::<VmafxModelTraining>();
    runs.patch_status(RUN, &PatchParams::default(), &Patch::Merge(forged)).await.unwrap();
    let fresh =
        |run: &VmafxModelTraining| tracked(run).is_some_and(|uid| uid != second && uid != "00000000-forged");
    let third = tracked(&world.until("a third StatefulSet", fresh).await);
    world.change(json!({ "image": "registry.test/vmafx-trainer:2" })).await;
    let run = world
        .until("the change", |run| {
            let seen = run.status.as_ref().and_then(|status| status.observed_generation);
            seen == Some(2) && reason(run, "WorkloadSynced") == "AsExpected"
        })
        .await;
    assert_eq!(tracked(&run), third, "the fresh one is not replaced again");
}

#[tokio::test]
async fn everything_goes_with_the_run() {
    let world = World::set().await;
    world.running().await;
    world.all::<VmafxModelTraining>().delete(RUN, &DeleteParams::default()).await.unwrap();
    wait::until(SOON, "nothing to be left", async || {
        let set = world.all::<StatefulSet>().get_opt(MADE).await.unwrap();
        set.is_none() && world.all::<Service>().get_opt(MADE).await.unwrap().is_none()
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn without_an_image_nothing_is_made_and_the_condition_says_what_to_do() {
    let world = World::without_image().await;
    world.create().await;
    let run = world.until_reason("WorkloadSynced", "Invalid").await;
    assert!(message(&run, "Ready").contains("VMAFX_OPERATOR_TRAINER_IMAGE"), "{run:?}");
    assert!(world.all::<StatefulSet>().get_opt(MADE).await.unwrap().is_none());
    world.change(json!({ "image": "registry.test/mine:1" })).await;
    world.until_reason("WorkloadSynced", "AsExpected").await;
}

#[tokio::test]
async fn a_service_of_somebody_else_is_left_alone_and_not_asked() {
    let world = World::set().await;
    let services = world.all::<Service>();
    let theirs = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": MADE },
        "spec": { "ports": [{ "port": 80 }] } });
    let made =
        services.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    world.says(json!({ "phase": "running", "current_samples": 666 }));
    world.create().await;
    let run = world.until_reason("WorkloadSynced", "ForeignOwner").await;
    assert_eq!((reason(&run, "Ready").as_str(), samples(&run)), ("ForeignOwner", None));
    // Another pass or two, and still nobody is asked.
    world.change(json!({ "image": "registry.test/vmafx-trainer:2" })).await;
    let again = |run: &VmafxModelTraining| run.status.as_ref().unwrap().observed_generation == Some(2);
    world.until("another pass", again).await;
    assert_eq!(services.get(MADE).await.unwrap().resource_version(), made.resource_version());
    assert_eq!(world.asked(), 0);
    services.delete(MADE, &DeleteParams::default()).await.unwrap();
    world.until_phase(TrainingPhase::Running).await;
}

#[tokio::test]
async fn two_runs_of_one_name_in_two_namespaces_are_two_runs() {
    let world = World::set().await;
    let other = Plane::shared().control_plane.namespace("other").await.unwrap();
    let theirs = kube::Api::<VmafxModelTraining>::namespaced(other.client(), other.name());
    world.trainers.say(other.name(), RUN, &json!({ "phase": "running", "current_samples": 20 }));
    world::create(&theirs, RUN).await;
    let ours = world.running().await;
    let theirs = world::until(&theirs, RUN, "twenty samples", |run| samples(run) == Some(20)).await;
    assert_eq!(samples(&ours), Some(10));
    assert_ne!(tracked(&ours), tracked(&theirs));
}

#[tokio::test]
async fn a_name_that_is_too_long_for_a_service_makes_one_all_the_same() {
    let world = World::set().await;
    let (name, runs) = ("m".repeat(120), world.all::<VmafxModelTraining>());
    let say = json!({ "phase": "running", "current_samples": 1 });
    world.trainers.say(world.namespace.name(), &name, &say);
    world::create(&runs, &name).await;
    let run = world::until(&runs, &name, "an answer", |run| samples(run) == Some(1)).await;
    let set = run.status.unwrap().stateful_set.unwrap().name;
    let service = world.all::<StatefulSet>().get(&set).await.unwrap().spec.unwrap().service_name.unwrap();
    assert!(set.len() <= 52 && service.len() <= 63, "{set} {service}");
    world.all::<Service>().get(&service).await.unwrap();
}
