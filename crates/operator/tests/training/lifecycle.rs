//! A run from its creation to its deletion.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_api::VmafxModelTraining;
use vmafx_api::conditions::TrainingCondition;
use vmafx_api::training::TrainingPhase;
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::control_plane::SharedControlPlane;
use crate::fixture::{self, RUN, TrainingFixture, WORKLOAD, samples, tracked};
use crate::resources::{self, message, reason};

#[tokio::test]
async fn a_new_run_gets_a_trainer_and_a_service_and_is_initializing() {
    let fixture = TrainingFixture::new().await;
    let made = fixture.create().await;
    let run = fixture.until("a tracked StatefulSet", |run| tracked(run).is_some()).await;
    let status = run.status.as_ref().unwrap();
    assert_eq!((status.phase, status.observed_generation), (Some(TrainingPhase::Initializing), Some(1)));
    assert_eq!(status.conditions.len(), TrainingCondition::ALL.len());
    assert_eq!(reason(&run, "Ready"), "TrainerStarting");
    let set = fixture.all::<StatefulSet>().get(WORKLOAD).await.unwrap();
    assert_eq!((set.uid(), set.owner_references()[0].uid.clone()), (tracked(&run), made.uid().unwrap()));
    let spec = set.spec.unwrap();
    assert_eq!((spec.replicas, spec.service_name.as_deref()), (Some(1), Some(WORKLOAD)));
    let service = fixture.all::<Service>().get(WORKLOAD).await.unwrap();
    assert_eq!(service.owner_references()[0].uid, made.uid().unwrap());
    assert_eq!(service.spec.unwrap().ports.unwrap()[0].port, 9091);
    assert_eq!(fixture.until_event("Created").await.len(), 1);
    fixture.until("the failed poll", |run| message(run, "Ready").contains("/status ")).await;
    assert_eq!(
        fixture.notes("TrainerUnreachable").await,
        [""; 0],
        "a trainer that has not started is not reported as unreachable"
    );
}

#[tokio::test]
async fn phase_and_numbers_of_a_run_are_those_that_its_trainer_reports() {
    let fixture = TrainingFixture::new().await;
    fixture.set_report(json!({ "phase": "initializing", "current_samples": 0 }));
    fixture.create().await;
    fixture.until("an answer", |run| message(run, "Ready").contains("does not learn yet")).await;
    fixture.set_report(
        json!({ "phase": "running", "current_samples": 4200, "samples_pending": 7, "rmse": 0.1, "news": 1 }),
    );
    let run = fixture.until_phase(TrainingPhase::Running).await;
    assert_eq!((reason(&run, "Ready").as_str(), samples(&run)), ("Training", Some(4200)));
    let status = run.status.unwrap();
    assert_eq!((status.samples_pending, status.metrics.unwrap().rmse), (Some(7), Some(0.1)));
    assert_eq!(fixture.until_event("Training").await.len(), 1);
    fixture.set_report(json!({ "phase": "running", "current_samples": 3 }));
    let run = fixture.until("fewer samples", |run| samples(run) == Some(3)).await;
    assert_eq!(run.status.unwrap().samples_pending, Some(7), "a field that is not reported keeps its value");
    fixture.set_report(json!({ "phase": "failed", "error": "the base model cannot be read" }));
    let run = fixture.until_phase(TrainingPhase::Failed).await;
    assert_eq!(message(&run, "Ready"), "the base model cannot be read");
    assert_eq!(fixture.until_event("TrainingFailed").await, ["the base model cannot be read"]);
}

#[tokio::test]
async fn a_template_is_merged_and_one_that_the_api_server_refuses_becomes_a_condition() {
    let fixture = TrainingFixture::new().await;
    fixture.running().await;
    let template = |spec: Value| json!({ "podTemplate": { "spec": spec } });
    // Kubernetes 1.31 accepts most other values of a StatefulSet's template, and refuses its Pods.
    fixture.change(template(json!({ "activeDeadlineSeconds": 5 }))).await;
    let run = fixture.until_reason("WorkloadSynced", "Invalid").await;
    assert!(message(&run, "WorkloadSynced").contains("activeDeadlineSeconds"), "{run:?}");
    let trainer = json!({ "name": "trainer", "resources": { "requests": { "cpu": "250m" } } });
    let valid =
        json!({ "activeDeadlineSeconds": null, "serviceAccountName": "learner", "containers": [trainer] });
    fixture.change(template(valid)).await;
    fixture.until_reason("WorkloadSynced", "AsExpected").await;
    let pod = fixture.all::<StatefulSet>().get(WORKLOAD).await.unwrap().spec.unwrap().template.spec.unwrap();
    assert_eq!(pod.service_account_name.as_deref(), Some("learner"));
    let trainer = &pod.containers[0];
    assert_eq!(trainer.resources.as_ref().unwrap().requests.as_ref().unwrap()["cpu"].0, "250m");
    assert!(trainer.image.is_some(), "fields that the template does not set keep their values");
}

#[tokio::test]
async fn a_paused_run_has_no_trainer_and_comes_back() {
    let fixture = TrainingFixture::new().await;
    let before = fixture.running().await;
    fixture.change(json!({ "paused": true })).await;
    let paused = fixture.until_phase(TrainingPhase::Paused).await;
    assert_eq!(
        (reason(&paused, "Paused").as_str(), reason(&paused, "Ready").as_str()),
        ("Drained", "Drained")
    );
    let replicas = async || fixture.all::<StatefulSet>().get(WORKLOAD).await.unwrap().spec.unwrap().replicas;
    assert_eq!((replicas().await, samples(&paused)), (Some(0), Some(10)));
    let asked = fixture.poll_count();
    fixture.set_report(json!({ "phase": "initializing", "current_samples": 10 }));
    fixture.change(json!({ "paused": false })).await;
    let back = fixture.until_phase(TrainingPhase::Initializing).await;
    assert_eq!((reason(&back, "Paused").as_str(), tracked(&back)), ("Resumed", tracked(&before)));
    wait::until(TIMEOUT, "one desired replica", async || replicas().await == Some(1)).await.unwrap();
    fixture.set_report(json!({ "phase": "running", "current_samples": 11 }));
    fixture.until_phase(TrainingPhase::Running).await;
    assert!(fixture.poll_count() > asked);
    for event in ["Drained", "Resumed"] {
        assert_eq!(fixture.until_event(event).await.len(), 1, "{event}");
    }
}

#[tokio::test]
async fn the_stateful_set_is_created_again_and_an_impostor_replaced() {
    let fixture = TrainingFixture::without_polls().await;
    let run = fixture.running().await;
    let first = tracked(&run).unwrap();
    let sets = fixture.all::<StatefulSet>();
    sets.delete(WORKLOAD, &DeleteParams::default()).await.unwrap();
    let second = fixture.tracked_other_than(&first).await;
    assert_eq!(fixture.until_event("Recreated").await.len(), 1);
    let forged = json!({ "status": { "statefulSet": { "name": WORKLOAD, "uid": "00000000-forged" } } });
    let runs = fixture.all::<VmafxModelTraining>();
    runs.patch_status(RUN, &PatchParams::default(), &Patch::Merge(forged)).await.unwrap();
    let fresh =
        |run: &VmafxModelTraining| tracked(run).is_some_and(|uid| uid != second && uid != "00000000-forged");
    let third = tracked(&fixture.until("a third StatefulSet", fresh).await);
    fixture.change(json!({ "image": "registry.test/vmafx-trainer:2" })).await;
    let run = fixture
        .until("the change", |run| {
            let observed = run.status.as_ref().and_then(|status| status.observed_generation);
            observed == Some(2) && reason(run, "WorkloadSynced") == "AsExpected"
        })
        .await;
    assert_eq!(tracked(&run), third, "the fresh one is not replaced again");
}

#[tokio::test]
async fn all_objects_are_deleted_with_the_run() {
    let fixture = TrainingFixture::new().await;
    fixture.running().await;
    fixture.all::<VmafxModelTraining>().delete(RUN, &DeleteParams::default()).await.unwrap();
    wait::until(TIMEOUT, "all objects to be deleted", async || {
        let set = fixture.all::<StatefulSet>().get_opt(WORKLOAD).await.unwrap();
        set.is_none() && fixture.all::<Service>().get_opt(WORKLOAD).await.unwrap().is_none()
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn without_an_image_nothing_is_created_and_the_condition_says_what_to_do() {
    let fixture = TrainingFixture::without_image().await;
    fixture.create().await;
    let run = fixture.until_reason("WorkloadSynced", "Invalid").await;
    assert!(message(&run, "Ready").contains("VMAFX_OPERATOR_TRAINER_IMAGE"), "{run:?}");
    assert!(fixture.all::<StatefulSet>().get_opt(WORKLOAD).await.unwrap().is_none());
    fixture.change(json!({ "image": "registry.test/mine:1" })).await;
    fixture.until_reason("WorkloadSynced", "AsExpected").await;
}

#[tokio::test]
async fn a_service_of_another_owner_is_left_alone_and_not_polled() {
    let fixture = TrainingFixture::new().await;
    let services = fixture.all::<Service>();
    let theirs = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": WORKLOAD },
        "spec": { "ports": [{ "port": 80 }] } });
    let made =
        services.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    fixture.set_report(json!({ "phase": "running", "current_samples": 666 }));
    fixture.create().await;
    let run = fixture.until_reason("WorkloadSynced", "ForeignOwner").await;
    assert_eq!((reason(&run, "Ready").as_str(), samples(&run)), ("ForeignOwner", Some(0)));
    // After another pass, the Service is still not polled.
    fixture.change(json!({ "image": "registry.test/vmafx-trainer:2" })).await;
    let again = |run: &VmafxModelTraining| run.status.as_ref().unwrap().observed_generation == Some(2);
    fixture.until("another pass", again).await;
    assert_eq!(services.get(WORKLOAD).await.unwrap().resource_version(), made.resource_version());
    assert_eq!(fixture.poll_count(), 0);
    services.delete(WORKLOAD, &DeleteParams::default()).await.unwrap();
    fixture.until_phase(TrainingPhase::Running).await;
}

#[tokio::test]
async fn runs_of_the_same_name_in_two_namespaces_are_independent() {
    let fixture = TrainingFixture::new().await;
    let other = SharedControlPlane::shared().control_plane.namespace("other").await.unwrap();
    let theirs = kube::Api::<VmafxModelTraining>::namespaced(other.client(), other.name());
    fixture.trainers.set_report(other.name(), RUN, &json!({ "phase": "running", "current_samples": 20 }));
    fixture::create(&theirs, RUN).await;
    let ours = fixture.running().await;
    let theirs = resources::until(&theirs, RUN, "twenty samples", |run| samples(run) == Some(20)).await;
    assert_eq!(samples(&ours), Some(10));
    assert_ne!(tracked(&ours), tracked(&theirs));
}

#[tokio::test]
async fn a_run_whose_name_is_too_long_for_a_service_gets_one_with_a_shorter_name() {
    let fixture = TrainingFixture::new().await;
    let (name, runs) = ("m".repeat(100), fixture.all::<VmafxModelTraining>());
    let say = json!({ "phase": "running", "current_samples": 1 });
    fixture.trainers.set_report(fixture.namespace.name(), &name, &say);
    fixture::create(&runs, &name).await;
    let run = resources::until(&runs, &name, "an answer", |run| samples(run) == Some(1)).await;
    let set = run.status.unwrap().stateful_set.unwrap().name;
    let service = fixture.all::<StatefulSet>().get(&set).await.unwrap().spec.unwrap().service_name.unwrap();
    assert!(set.len() <= 52 && service.len() <= 63, "{set} {service}");
    fixture.all::<Service>().get(&service).await.unwrap();
}
