//! A Pod that keeps running and serves pages, with a token for the controller.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, HTTPGetAction, PodSpec, PodTemplateSpec, Probe, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::controller_access::{ControllerAccess, token_mount};
use crate::render::pod_defaults;

/// The name of the port of its pages.
pub const HTTP: &str = "http";

/// What tells workers and trainers of registries without TLS.
pub const PLAIN_REGISTRIES: &str = "VMAFX_OCI_PLAIN_HTTP";

/// Between the end of a process's own patience and the kubelet's.
pub const MARGIN_SECONDS: i64 = 15;

/// What a process is told of the kubelet's patience: less, so that it can end by itself.
pub fn patience(grace_seconds: i64) -> String {
    format!("{}s", (grace_seconds - MARGIN_SECONDS).max(1))
}

/// A Pod with one container, a token for the controller and room for files.
pub fn template(
    labels: BTreeMap<String, String>,
    container: Container,
    controller: &ControllerAccess,
    grace_seconds: i64,
) -> PodTemplateSpec {
    PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            containers: vec![container],
            // A token for the API server is nothing that it needs.
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            termination_grace_period_seconds: Some(grace_seconds),
            security_context: Some(pod_defaults::pod_security()),
            volumes: Some(vec![pod_defaults::scratch(), controller.token()]),
            ..PodSpec::default()
        }),
    }
}

/// A container with its pages on a port, and with what [`template`] mounts.
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

/// A volume to be read.
pub fn read_only(volume: &str, directory: &str) -> VolumeMount {
    VolumeMount {
        name: volume.to_owned(),
        mount_path: directory.to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    }
}

/// Asks one of its pages.
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
