//! A Pod that keeps running and serves HTTP, with a token for the controller.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvVar, HTTPGetAction, PodSpec, PodTemplateSpec, Probe, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::controller_access::{ControllerAccess, token_mount};
use crate::render::pod_defaults;

/// Name of the HTTP port.
pub const HTTP: &str = "http";

/// Environment variable of workers and trainers: registries without TLS.
pub const PLAIN_REGISTRIES: &str = "VMAFX_OCI_PLAIN_HTTP";

/// What guards workers against the clips and models of their users; empty: the default of `vmafx-node`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerGuard {
    /// Whether workers may score where Landlock or seccomp is not in force.
    pub confinement: String,
    /// Hosts of private networks that models may come from.
    pub private_hosts: String,
}

impl WorkerGuard {
    /// Environment variables of workers.
    pub fn environment(&self) -> impl Iterator<Item = EnvVar> {
        [("VMAFX_CONFINEMENT", &self.confinement), ("VMAFX_OCI_PRIVATE_HOSTS", &self.private_hosts)]
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| pod_defaults::variable(name, value))
    }
}

/// Time between the graceful shutdown of a process and the SIGKILL of the kubelet.
pub const MARGIN_SECONDS: i64 = 15;

/// Graceful shutdown time of a process: less than the kubelet's grace period, so that the process can exit by itself.
pub fn shutdown_time(grace_seconds: i64) -> String {
    format!("{}s", (grace_seconds - MARGIN_SECONDS).max(1))
}

/// A Pod with one container, a token for the controller and a scratch volume.
pub fn template(
    labels: BTreeMap<String, String>,
    container: Container,
    account: &str,
    controller: &ControllerAccess,
    grace_seconds: i64,
) -> PodTemplateSpec {
    PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            containers: vec![container],
            service_account_name: Some(account.to_owned()),
            // The Pod does not use the Kubernetes API.
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            termination_grace_period_seconds: Some(grace_seconds),
            security_context: Some(pod_defaults::pod_security()),
            volumes: Some(vec![pod_defaults::scratch(), controller.token()]),
            ..PodSpec::default()
        }),
    }
}

/// A container with an HTTP port and the mounts of [`template`].
pub fn container(name: &str, image: String, port: i32) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(image),
        ports: Some(vec![ContainerPort {
            name: Some(HTTP.to_owned()),
            container_port: port,
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        security_context: Some(pod_defaults::container_security()),
        volume_mounts: Some(vec![pod_defaults::scratch_mount(), token_mount()]),
        ..Container::default()
    }
}

pub fn read_only(volume: &str, directory: &str) -> VolumeMount {
    VolumeMount {
        name: volume.to_owned(),
        mount_path: directory.to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    }
}

/// An HTTP probe of the container.
pub fn probe(path: &str, period: i32, failures: i32) -> Probe {
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
