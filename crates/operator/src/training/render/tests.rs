#![allow(clippy::needless_pass_by_value, reason = "specs are written where they are used")]

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PodSpec, Volume};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::render::ControllerTls;
use crate::reserved::TRAINER_NAMES;

pub(crate) fn defaults() -> TrainerDefaults {
    TrainerDefaults {
        image: Some("vmafx-trainer:1".to_owned()),
        controller: crate::node::render::tests::defaults().controller,
        plain_registries: String::new(),
        templates: crate::node::render::tests::defaults().templates,
    }
}

fn training(spec: Value) -> VmafxModelTraining {
    named("house-model", spec)
}

fn named(name: &str, spec: Value) -> VmafxModelTraining {
    let mut full = json!({
        "baseModel": "vmaf_v0.6.1",
        "algorithm": "online-sgd-ema",
        "outputRegistry": "registry.example.com/video/models",
    });
    crate::render::merge::merge(&mut full, &spec);
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining",
        "metadata": { "name": name, "namespace": "video", "uid": "11111111-2222-3333-4444-555555555555" },
        "spec": full,
    }))
    .unwrap()
}

fn set(rendered: RenderedWorkload) -> StatefulSet {
    serde_json::from_value(rendered.stateful_set).unwrap()
}

fn pod(training: &VmafxModelTraining, defaults: &TrainerDefaults) -> PodSpec {
    set(render(training, defaults).unwrap()).spec.unwrap().template.spec.unwrap()
}

fn variable<'a>(pod: &'a PodSpec, name: &str) -> Option<&'a str> {
    pod.containers[0].env.as_ref()?.iter().find(|one| one.name == name)?.value.as_deref()
}

fn volume<'a>(pod: &'a PodSpec, name: &str) -> Option<&'a Volume> {
    pod.volumes.as_ref()?.iter().find(|one| one.name == name)
}

#[test]
fn a_name_that_the_trainer_refuses_is_not_rendered() {
    assert!(render(&named(&"n".repeat(100), json!({})), &defaults()).is_ok());
    let error = render(&named(&"n".repeat(101), json!({})), &defaults()).unwrap_err();
    assert!(error.to_string().starts_with("metadata.name has more than 100 characters"), "{error}");
}

#[test]
fn the_stateful_set() {
    let training = training(json!({
        "registrySecret": "model-push",
        "dataSource": { "nodeSelector": { "gpu.vendor": "nvidia", "rack": "7" } },
        "gate": { "maxSroccDrop": 0.01 },
    }));
    insta::assert_json_snapshot!(render(&training, &defaults()).unwrap().stateful_set);
}

#[test]
fn the_service() {
    insta::assert_json_snapshot!(render(&training(json!({})), &defaults()).unwrap().service);
}

#[rstest]
#[case(false, 1)]
#[case(true, 0)]
fn a_paused_run_has_no_trainer(#[case] paused: bool, #[case] replicas: i32) {
    let rendered = render(&training(json!({ "paused": paused })), &defaults()).unwrap();
    assert_eq!(set(rendered).spec.unwrap().replicas, Some(replicas));
}

#[test]
fn the_image_is_the_runs_own_or_the_operators() {
    let own = pod(&training(json!({ "image": "mine:2" })), &defaults());
    assert_eq!(own.containers[0].image.as_deref(), Some("mine:2"));
    let bare = TrainerDefaults { image: None, ..defaults() };
    let missing = render(&training(json!({})), &bare).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "no image: set spec.image, or VMAFX_OPERATOR_TRAINER_IMAGE on the operator"
    );
}

#[test]
fn credentials_are_mounted_only_if_there_are_any() {
    let anonymous = pod(&training(json!({})), &defaults());
    assert_eq!((variable(&anonymous, "DOCKER_CONFIG"), anonymous.volumes.as_ref().unwrap().len()), (None, 2));
    let known = pod(&training(json!({ "registrySecret": "push" })), &defaults());
    let secret = volume(&known, "registry-credentials").and_then(|volume| volume.secret.as_ref()).unwrap();
    assert_eq!(secret.secret_name.as_deref(), Some("push"));
    let directory = variable(&known, "DOCKER_CONFIG").unwrap();
    let mounts = known.containers[0].volume_mounts.as_ref().unwrap();
    let mount = mounts.iter().find(|mount| mount.mount_path == directory).unwrap();
    assert_eq!((mount.name.as_str(), mount.read_only), ("registry-credentials", Some(true)));
}

#[rstest]
#[case::verified_by_the_image(Some("c"), None, None)]
#[case::verified_by_a_config_map(Some("c"), Some("ca"), Some("/var/run/secrets/vmafx.dev/controller/ca.crt"))]
#[case::by_the_host_of_its_address(None, Some("ca"), Some("/var/run/secrets/vmafx.dev/controller/ca.crt"))]
fn the_controller_is_verified_by_its_authority(
    #[case] server_name: Option<&str>,
    #[case] config_map: Option<&str>,
    #[case] file: Option<&str>,
) {
    let tls = ControllerTls {
        server_name: server_name.map(str::to_owned),
        ca_config_map: config_map.map(str::to_owned),
        client_secret: None,
    };
    let controller = ControllerAccess { tls: Some(tls), ..defaults().controller };
    let defaults = TrainerDefaults { controller, ..defaults() };
    let pod = pod(&training(json!({})), &defaults);
    assert_eq!(variable(&pod, "VMAFX_CONTROLLER_CA_FILE"), file);
    assert_eq!(variable(&pod, "VMAFX_CONTROLLER_TLS"), Some("true"));
    assert_eq!(variable(&pod, "VMAFX_CONTROLLER_SERVER_NAME"), server_name);
    let sources = volume(&pod, "vmafx-token").unwrap().projected.as_ref().unwrap().sources.as_ref().unwrap();
    let mounted = sources.iter().find_map(|source| source.config_map.as_ref());
    assert_eq!(mounted.map(|mounted| mounted.name.as_str()), config_map);
    let optional = mounted.and_then(|mounted| mounted.optional);
    assert_eq!(optional, None, "a Pod would start without its authorities");
}

#[test]
fn parts_of_a_template_are_merged_and_the_selector_labels_stay() {
    let all = training(json!({ "podTemplate": {
        "metadata": { "labels": { "team": "video", "vmafx.dev/workload": "else" } },
        "spec": {
            "serviceAccountName": "learner",
            "restartPolicy": "OnFailure",
            "tolerations": [{ "key": "slow", "operator": "Exists" }],
            "containers": [
                { "name": "trainer", "resources": { "requests": { "cpu": "1" } } },
                { "name": "agent", "image": "proxy:1" },
            ],
            "volumes": [{ "name": "scratch", "emptyDir": { "sizeLimit": "1Gi" } }],
        },
    } }));
    let template = set(render(&all, &defaults()).unwrap()).spec.unwrap().template;
    let labels = template.metadata.unwrap().labels.unwrap();
    assert_eq!(
        (labels["team"].as_str(), labels["vmafx.dev/workload"].as_str()),
        ("video", "vmafx-trainer-house-model")
    );
    let pod = template.spec.unwrap();
    assert_eq!(
        (pod.service_account_name.as_deref(), pod.restart_policy.as_deref()),
        (Some("learner"), Some("Always"))
    );
    assert_eq!(pod.tolerations.unwrap()[0].key.as_deref(), Some("slow"));
    let [trainer, sidecar] = &pod.containers[..] else { panic!("{:?}", pod.containers) };
    assert_eq!(trainer.image.as_deref(), Some("vmafx-trainer:1"));
    assert_eq!(trainer.resources.as_ref().unwrap().requests.as_ref().unwrap()["cpu"].0, "1");
    assert_eq!(sidecar.env, None, "a sidecar named agent is not the agent");
}

#[rstest]
#[case(json!({}), 75, "60s")]
#[case(json!({ "podTemplate": { "spec": { "terminationGracePeriodSeconds": 600 } } }), 600, "585s")]
#[case(json!({ "podTemplate": { "spec": { "terminationGracePeriodSeconds": 1 } } }), 1, "1s")]
fn the_trainer_knows_its_shutdown_time(#[case] spec: Value, #[case] grace: i64, #[case] shutdown: &str) {
    let pod = pod(&training(spec), &defaults());
    assert_eq!(pod.termination_grace_period_seconds, Some(grace));
    assert_eq!(variable(&pod, "VMAFX_TRAINER_GRACEFUL_SHUTDOWN"), Some(shutdown));
}

#[test]
fn an_invalid_template_is_named() {
    let error =
        render(&training(json!({ "podTemplate": { "spec": { "volumes": {} } } })), &defaults()).unwrap_err();
    assert!(error.to_string().starts_with("spec.podTemplate: spec.volumes: "), "{error}");
}

#[test]
fn every_variable_of_a_trainer_is_reserved() {
    let all = training(json!({ "registrySecret": "s", "dataSource": { "nodeSelector": { "a": "b" } } }));
    for variable in pod(&all, &defaults()).containers[0].env.iter().flatten() {
        assert!(TRAINER_NAMES.variable(&variable.name).is_some(), "{}", variable.name);
    }
}

#[test]
fn an_empty_node_selector_is_omitted() {
    let pod = pod(&training(json!({ "dataSource": { "nodeSelector": {} } })), &defaults());
    assert_eq!(variable(&pod, "VMAFX_TRAINER_NODE_SELECTOR"), None);
}

#[test]
fn the_table_of_variables_is_complete() {
    let defaults = TrainerDefaults {
        controller: ControllerAccess {
            tls: Some(ControllerTls {
                server_name: Some("c".to_owned()),
                ca_config_map: Some("ca".to_owned()),
                client_secret: Some("client".to_owned()),
            }),
            ..defaults().controller
        },
        plain_registries: "registry:5000".to_owned(),
        ..defaults()
    };
    let all = training(json!({ "registrySecret": "s", "dataSource": { "nodeSelector": { "a": "b" } } }));
    let table = include_str!("environment.rs");
    let row = "`VMAFX_CONTROLLER_TLS`, `_SERVER_NAME`, `_CA_FILE`, `_CERT_FILE`, `_KEY_FILE`";
    assert!(table.contains(row));
    for variable in pod(&all, &defaults).containers[0].env.iter().flatten() {
        let name = variable.name.as_str();
        let listed = table.contains(&format!("//! | `{name}`")) || name.starts_with("VMAFX_CONTROLLER_");
        assert!(listed, "{name} is not in the table");
    }
}

#[test]
fn the_stateful_set_names_its_service() {
    for name in ["a", "with.dots", &"m".repeat(45), &"m".repeat(100)] {
        let rendered = render(&named(name, json!({})), &defaults()).unwrap();
        let service = rendered.service.clone();
        let set = set(rendered);
        assert_eq!(set.spec.as_ref().unwrap().service_name, service.metadata.name);
        let selector = service.spec.unwrap().selector;
        assert_eq!(set.spec.unwrap().selector.match_labels, selector);
        assert!(set.metadata.name.unwrap().len() <= 52);
    }
}
