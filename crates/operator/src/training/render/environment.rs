//! The environment variables of a trainer, in one table.
//!
//! | variable                              | value                                                                   |
//! |---------------------------------------|-------------------------------------------------------------------------|
//! | `VMAFX_TRAINER_NAME`                  | name of the VmafxModelTraining, and prefix of its tags in the registry  |
//! | `VMAFX_TRAINER_NAMESPACE`             | its namespace                                                           |
//! | `VMAFX_TRAINER_UID`                   | its UID: tells a run from an earlier run of the same name               |
//! | `VMAFX_TRAINER_BASE_MODEL`            | `spec.baseModel`                                                        |
//! | `VMAFX_TRAINER_ALGORITHM`             | `spec.algorithm`                                                        |
//! | `VMAFX_TRAINER_CHECKPOINT_INTERVAL`   | `spec.checkpoint.interval`, such as `10m`                               |
//! | `VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES`| `spec.checkpoint.minSamples`                                            |
//! | `VMAFX_TRAINER_OUTPUT_REGISTRY`       | `spec.outputRegistry`                                                   |
//! | `VMAFX_TRAINER_GATE_MAX_SROCC_DROP`   | `spec.gate.maxSroccDrop`                                                |
//! | `VMAFX_TRAINER_GATE_MAX_RMSE_RATIO`   | `spec.gate.maxRmseRatio`                                                |
//! | `VMAFX_TRAINER_NODE_SELECTOR`         | `spec.dataSource.nodeSelector` as a JSON object; unset = any node       |
//! | `VMAFX_TRAINER_STATUS_ADDR`           | where `/status`, `/healthz` and `/readyz` are served                    |
//! | `VMAFX_TRAINER_GRACEFUL_SHUTDOWN`     | time to save its work after SIGTERM                                     |
//! | `VMAFX_CLUSTER`                       | name of this cluster at the controller                                  |
//! | `VMAFX_OCI_PLAIN_HTTP`                | registries without TLS                                                  |
//! | `VMAFX_CONTROLLER_ADDR`               | host:port of the controller's gRPC service                              |
//! | `VMAFX_CONTROLLER_TOKEN_FILE`         | token of the Pod's ServiceAccount for it                                |
//! | `VMAFX_CONTROLLER_TLS`, `_SERVER_NAME`, `_CA_FILE`, `_CERT_FILE`, `_KEY_FILE` | TLS to the controller           |
//! | `DOCKER_CONFIG`                       | directory with a `config.json` that has the registry's credentials      |
//!
//! A variable without a value is omitted.

use k8s_openapi::api::core::v1::EnvVar;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use vmafx_api::VmafxModelTraining;

use super::TrainerDefaults;
use super::pod::PORT;
use crate::render::pod::{PLAIN_REGISTRIES, shutdown_time};
use crate::render::pod_defaults::variable;

/// Directory of the registry's credentials.
pub(super) const REGISTRY_DIRECTORY: &str = "/var/run/secrets/vmafx.dev/registry";

pub(super) fn of(training: &VmafxModelTraining, defaults: &TrainerDefaults, grace: i64) -> Vec<EnvVar> {
    let (spec, controller) = (&training.spec, &defaults.controller);
    let selector = spec.data_source.as_ref().and_then(|source| source.node_selector.as_ref());
    let selector = selector.filter(|labels| !labels.is_empty()).map(|labels| json!(labels).to_string());
    let mut all = vec![
        variable("VMAFX_TRAINER_NAME", training.name_any()),
        variable("VMAFX_TRAINER_NAMESPACE", training.namespace().unwrap_or_default()),
        variable("VMAFX_TRAINER_UID", training.uid().unwrap_or_default()),
        variable("VMAFX_TRAINER_BASE_MODEL", &spec.base_model),
        variable("VMAFX_TRAINER_ALGORITHM", word(&json!(spec.algorithm))),
        variable("VMAFX_TRAINER_CHECKPOINT_INTERVAL", &spec.checkpoint.interval),
        variable("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", spec.checkpoint.min_samples.to_string()),
        variable("VMAFX_TRAINER_OUTPUT_REGISTRY", &spec.output_registry),
        variable("VMAFX_TRAINER_GATE_MAX_SROCC_DROP", spec.gate.max_srocc_drop.to_string()),
        variable("VMAFX_TRAINER_GATE_MAX_RMSE_RATIO", spec.gate.max_rmse_ratio.to_string()),
        variable("VMAFX_TRAINER_NODE_SELECTOR", selector.unwrap_or_default()),
        variable("VMAFX_TRAINER_STATUS_ADDR", format!(":{PORT}")),
        variable("VMAFX_TRAINER_GRACEFUL_SHUTDOWN", shutdown_time(grace)),
        variable("VMAFX_CLUSTER", &controller.cluster),
        variable(PLAIN_REGISTRIES, &defaults.plain_registries),
    ];
    all.extend(controller.environment());
    if spec.registry_secret.is_some() {
        all.push(variable("DOCKER_CONFIG", REGISTRY_DIRECTORY));
    }
    all.retain(|variable| variable.value.as_deref() != Some(""));
    all
}

/// The spelling of an enum value in the resource.
fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
