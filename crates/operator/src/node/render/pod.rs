//! The Pod of one worker.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction, ObjectFieldSelector, PodSpec,
    PodTemplateSpec, Probe, ProjectedVolumeSource, ServiceAccountTokenProjection, Volume, VolumeMount,
    VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt as _;
use vmafx_api::VmafxNode;
use vmafx_api::node::GpuVendor;

use super::{Defaults, RenderError, labels};
use crate::pod::skeleton;
use crate::reserved::{CONTAINER, TOKEN_VOLUME};

/// The name and number of the port of its health pages.
pub const HTTP: &str = "http";
/// See [`HTTP`].
pub const HTTP_PORT: i32 = 9090;

const TOKEN_DIRECTORY: &str = "/var/run/secrets/vmafx.dev/controller";
/// The kubelet renews a token when four fifths of its time are over.
const TOKEN_SECONDS: i64 = 3600;
/// Between the end of the agent's own patience and the kubelet's.
const MARGIN_SECONDS: i64 = 15;

/// Makes it, as far as it is ours to make.
pub fn render(node: &VmafxNode, defaults: &Defaults) -> Result<PodTemplateSpec, RenderError> {
    let grace = grace_seconds(node, defaults);
    Ok(PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels::of(node)), ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            containers: vec![agent(node, defaults, grace)?],
            // A token for the API server is nothing that a worker needs.
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            node_selector: node.spec.node_selector.clone(),
            tolerations: node.spec.tolerations.clone(),
            termination_grace_period_seconds: Some(grace),
            security_context: Some(skeleton::pod_security()),
            volumes: Some(vec![skeleton::scratch(), token(defaults)]),
            ..PodSpec::default()
        }),
    })
}

/// How long the kubelet waits: what the template says, if it says anything, because the agent must know it too.
fn grace_seconds(node: &VmafxNode, defaults: &Defaults) -> i64 {
    let asked = node
        .spec
        .pod_template
        .as_ref()
        .and_then(|parts| parts.0.get("spec")?.get("terminationGracePeriodSeconds")?.as_i64());
    asked.unwrap_or(defaults.drain_seconds + MARGIN_SECONDS)
}

fn agent(node: &VmafxNode, defaults: &Defaults, grace: i64) -> Result<Container, RenderError> {
    let image = node.spec.image.clone().or_else(|| defaults.image.clone()).ok_or(RenderError::NoImage)?;
    Ok(Container {
        name: CONTAINER.to_owned(),
        image: Some(image),
        env: Some(environment(node, defaults, grace)),
        ports: Some(vec![ContainerPort {
            name: Some(HTTP.to_owned()),
            container_port: HTTP_PORT,
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        startup_probe: Some(probe("/startupz", 2, 30)),
        liveness_probe: Some(probe("/livez", 10, 3)),
        readiness_probe: Some(probe("/readyz", 5, 2)),
        resources: skeleton::with_gpu(node.spec.resources.clone(), defaults.gpus.of(node.spec.gpu_vendor)),
        security_context: Some(skeleton::container_security()),
        volume_mounts: Some(vec![
            skeleton::scratch_mount(),
            VolumeMount {
                name: TOKEN_VOLUME.to_owned(),
                mount_path: TOKEN_DIRECTORY.to_owned(),
                read_only: Some(true),
                ..VolumeMount::default()
            },
        ]),
        ..Container::default()
    })
}

/// What the agent is told. The names are those of `vmafx-node`.
fn environment(node: &VmafxNode, defaults: &Defaults, grace: i64) -> Vec<EnvVar> {
    let text = |name: &str, value: String| skeleton::variable(name, value);
    let mut all = vec![
        EnvVar { name: "VMAFX_NODE_ID".to_owned(), value: None, value_from: Some(field("metadata.name")) },
        text("VMAFX_HTTP_ADDR", format!(":{HTTP_PORT}")),
        text("VMAFX_BACKEND", backend(node.spec.gpu_vendor).to_owned()),
        text("VMAFX_NODE_SLOTS", node.spec.capacity.to_string()),
        text("VMAFX_NODE_LABELS", label_list(node)),
        text("VMAFX_NODE_GRACEFUL_SHUTDOWN", format!("{}s", (grace - MARGIN_SECONDS).max(1))),
        text("VMAFX_CLUSTER", defaults.cluster.clone()),
        text("VMAFX_NODE_RESOURCE_NAMESPACE", node.namespace().unwrap_or_default()),
        text("VMAFX_NODE_RESOURCE_NAME", node.name_any()),
        text("VMAFX_NODE_RESOURCE_UID", node.uid().unwrap_or_default()),
        text("VMAFX_CONTROLLER_ADDR", defaults.controller.clone()),
        text("VMAFX_CONTROLLER_TOKEN_FILE", format!("{TOKEN_DIRECTORY}/token")),
    ];
    if let Some(tls) = &defaults.tls {
        all.push(text("VMAFX_CONTROLLER_TLS", "true".to_owned()));
        if let Some(name) = &tls.server_name {
            all.push(text("VMAFX_CONTROLLER_SERVER_NAME", name.clone()));
        }
    }
    // To the agent an empty variable is an unset one.
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

/// What a vendor's GPUs compute with.
fn backend(vendor: GpuVendor) -> &'static str {
    match vendor {
        GpuVendor::Nvidia => "cuda",
        GpuVendor::Amd => "hip",
        GpuVendor::Intel => "sycl",
        GpuVendor::Cpu => "cpu",
    }
}

/// The node's labels, by which training chooses its samples. Those that tools put on everything say nothing about
/// hardware, and a change of one of them should not replace the workers.
fn label_list(node: &VmafxNode) -> String {
    let of_tools = |key: &str| {
        key.rsplit_once('/').is_some_and(|(domain, _)| {
            ["kubernetes.io", "k8s.io", "helm.sh", "argoproj.io", "fluxcd.io"]
                .iter()
                .any(|tool| domain == *tool || domain.ends_with(&format!(".{tool}")))
        })
    };
    let mut labels: BTreeMap<&str, &str> = BTreeMap::from([("gpu.vendor", vendor(node.spec.gpu_vendor))]);
    for (key, value) in node.labels() {
        if !of_tools(key) {
            labels.insert(key, value);
        }
    }
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

fn vendor(vendor: GpuVendor) -> &'static str {
    match vendor {
        GpuVendor::Nvidia => "nvidia",
        GpuVendor::Amd => "amd",
        GpuVendor::Intel => "intel",
        GpuVendor::Cpu => "cpu",
    }
}

fn probe(path: &str, period: i32, failures: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String(HTTP.to_owned()),
            scheme: Some("HTTP".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period),
        timeout_seconds: Some(5),
        failure_threshold: Some(failures),
        ..Probe::default()
    }
}

fn token(defaults: &Defaults) -> Volume {
    Volume {
        name: TOKEN_VOLUME.to_owned(),
        projected: Some(ProjectedVolumeSource {
            sources: Some(vec![VolumeProjection {
                service_account_token: Some(ServiceAccountTokenProjection {
                    audience: Some(defaults.audience.clone()),
                    expiration_seconds: Some(TOKEN_SECONDS),
                    path: "token".to_owned(),
                }),
                ..VolumeProjection::default()
            }]),
            ..ProjectedVolumeSource::default()
        }),
        ..Volume::default()
    }
}
