//! A Pod that may do nothing that it need not: the restricted profile of Kubernetes' Pod security standards.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, EmptyDirVolumeSource, HTTPGetAction, PodSecurityContext, PodSpec,
    PodTemplateSpec, Probe, ResourceRequirements, SeccompProfile, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::controller::{ControllerAccess, token_mount};
use crate::reserved::SCRATCH_VOLUME;

/// The name of the port of its pages.
pub const HTTP: &str = "http";

/// Between the end of a process's own patience and the kubelet's.
pub const MARGIN_SECONDS: i64 = 15;

const SCRATCH_DIRECTORY: &str = "/tmp";
/// Nobody, as minimal images call it.
const USER: i64 = 65532;

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
            security_context: Some(pod_security()),
            volumes: Some(vec![scratch(), controller.token()]),
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
        security_context: Some(container_security()),
        volume_mounts: Some(vec![scratch_mount(), token_mount()]),
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

/// Of the Pod: as the strictest of the Pod security levels wants it.
pub fn pod_security() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        run_as_group: Some(USER),
        fs_group: Some(USER),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            ..SeccompProfile::default()
        }),
        ..PodSecurityContext::default()
    }
}

/// Of its container: no rights, and a file system that cannot be written.
pub fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), ..Capabilities::default() }),
        ..SecurityContext::default()
    }
}

/// The one place that can be written.
pub fn scratch() -> Volume {
    Volume {
        name: SCRATCH_VOLUME.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    }
}

/// Where that is.
pub fn scratch_mount() -> VolumeMount {
    VolumeMount {
        name: SCRATCH_VOLUME.to_owned(),
        mount_path: SCRATCH_DIRECTORY.to_owned(),
        ..VolumeMount::default()
    }
}

/// With one GPU, unless a number of them is asked for. A request for it follows from the limit.
pub fn with_gpu(resources: Option<ResourceRequirements>, gpu: Option<&str>) -> Option<ResourceRequirements> {
    let Some(gpu) = gpu else { return resources };
    let mut resources = resources.unwrap_or_default();
    let limits = resources.limits.get_or_insert_default();
    limits.entry(gpu.to_owned()).or_insert_with(|| Quantity("1".to_owned()));
    Some(resources)
}
