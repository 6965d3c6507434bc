//! The Pod of a worker.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector, PodTemplateSpec};
use kube::ResourceExt as _;
use serde_json::json;
use vmafx_api::VmafxNode;
use vmafx_api::node::GpuVendor;

use super::{NodeDefaults, RenderError, workload_name};
use crate::render::NODE;
use crate::render::pod::{MARGIN_SECONDS, PLAIN_REGISTRIES, container, probe, shutdown_time, template};
use crate::render::pod_defaults::{self, variable};
use crate::render::template::grace_seconds;
use crate::reserved::AGENT_CONTAINER;
use crate::template_policy::PodRole;

/// Port for health and metrics.
pub const HTTP_PORT: i32 = 9090;

/// The template without the user's parts.
pub fn render(node: &VmafxNode, defaults: &NodeDefaults) -> Result<PodTemplateSpec, RenderError> {
    let grace = grace_seconds(node.spec.pod_template.as_ref(), defaults.drain_seconds + MARGIN_SECONDS);
    let labels = NODE.labels(&workload_name(node));
    let account = defaults.templates.account(PodRole::Worker);
    let agent = agent(node, defaults, grace)?;
    let mut template = template(labels, agent, account, &defaults.controller, grace);
    if let Some(spec) = &mut template.spec {
        spec.node_selector.clone_from(&node.spec.node_selector);
        spec.tolerations.clone_from(&node.spec.tolerations);
    }
    Ok(template)
}

fn agent(node: &VmafxNode, defaults: &NodeDefaults, grace: i64) -> Result<Container, RenderError> {
    let image = node
        .spec
        .image
        .clone()
        .or_else(|| defaults.image.clone())
        .ok_or(RenderError::NoImage { setting: "VMAFX_OPERATOR_NODE_IMAGE" })?;
    Ok(Container {
        env: Some(environment(node, defaults, grace)),
        startup_probe: Some(probe("/startupz", 2, 30)),
        liveness_probe: Some(probe("/livez", 10, 3)),
        readiness_probe: Some(probe("/readyz", 5, 2)),
        resources: pod_defaults::with_gpu(
            node.spec.resources.clone(),
            defaults.gpus.of(node.spec.gpu_vendor),
        ),
        ..container(AGENT_CONTAINER, image, HTTP_PORT)
    })
}

/// Environment variables of `vmafx-node`.
fn environment(node: &VmafxNode, defaults: &NodeDefaults, grace: i64) -> Vec<EnvVar> {
    let mut all = vec![
        EnvVar { name: "VMAFX_NODE_ID".to_owned(), value: None, value_from: Some(field("metadata.name")) },
        variable("VMAFX_HTTP_ADDR", format!(":{HTTP_PORT}")),
        variable("VMAFX_BACKEND", backend(node.spec.gpu_vendor)),
        variable("VMAFX_NODE_SLOTS", node.spec.capacity.to_string()),
        variable("VMAFX_NODE_LABELS", label_list(node)),
        variable("VMAFX_NODE_SERVES", node.spec.serves_namespaces.as_deref().unwrap_or_default().join(",")),
        variable("VMAFX_NODE_GRACEFUL_SHUTDOWN", shutdown_time(grace)),
        variable("VMAFX_CLUSTER", &defaults.controller.cluster),
        variable("VMAFX_NODE_RESOURCE_NAMESPACE", node.namespace().unwrap_or_default()),
        variable("VMAFX_NODE_RESOURCE_NAME", node.name_any()),
        variable("VMAFX_NODE_RESOURCE_UID", node.uid().unwrap_or_default()),
    ];
    all.push(variable(PLAIN_REGISTRIES, &defaults.plain_registries));
    all.extend(defaults.guard.environment());
    all.extend(defaults.controller.environment());
    // The agent treats an empty variable as unset.
    all.retain(|variable| variable.value.as_deref() != Some(""));
    all
}

fn field(path: &str) -> EnvVarSource {
    EnvVarSource {
        field_ref: Some(ObjectFieldSelector {
            field_path: path.to_owned(),
            api_version: Some("v1".to_owned()),
        }),
        ..EnvVarSource::default()
    }
}

/// The scoring backend for a vendor's GPUs.
fn backend(vendor: GpuVendor) -> &'static str {
    match vendor {
        GpuVendor::Nvidia => "cuda",
        GpuVendor::Amd => "hip",
        GpuVendor::Intel => "sycl",
        GpuVendor::Cpu => "cpu",
    }
}

/// The node's labels, by which trainings select their samples. Labels of tools say nothing about the hardware, and a change
/// of one of them should not replace the workers.
fn label_list(node: &VmafxNode) -> String {
    let of_tools = |key: &str| {
        key.rsplit_once('/').is_some_and(|(domain, _)| {
            ["kubernetes.io", "k8s.io", "helm.sh", "argoproj.io", "fluxcd.io"]
                .iter()
                .any(|tool| domain == *tool || domain.ends_with(&format!(".{tool}")))
        })
    };
    let vendor = json!(node.spec.gpu_vendor);
    let mut labels = BTreeMap::from([("gpu.vendor", vendor.as_str().unwrap_or_default())]);
    for (key, value) in node.labels() {
        if !of_tools(key) {
            labels.insert(key, value);
        }
    }
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}
