//! Parts of every Pod that the operator renders: no privileges, a read-only root file system and a writable scratch volume.

use k8s_openapi::api::core::v1::{
    Capabilities, EmptyDirVolumeSource, EnvVar, PodSecurityContext, ResourceRequirements, SeccompProfile,
    SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::reserved::SCRATCH_VOLUME;

const SCRATCH_DIRECTORY: &str = "/tmp";

/// The user `nonroot` of minimal images.
const USER: i64 = 65532;

/// As the Pod security level `restricted` requires it.
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

pub fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), ..Capabilities::default() }),
        ..SecurityContext::default()
    }
}

pub fn scratch() -> Volume {
    Volume {
        name: SCRATCH_VOLUME.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    }
}

pub fn scratch_mount() -> VolumeMount {
    VolumeMount {
        name: SCRATCH_VOLUME.to_owned(),
        mount_path: SCRATCH_DIRECTORY.to_owned(),
        ..VolumeMount::default()
    }
}

pub fn variable(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.into()), value_from: None }
}

/// Adds a limit of one GPU, unless the resources set one. Kubernetes derives the request from the limit.
pub fn with_gpu(resources: Option<ResourceRequirements>, gpu: Option<&str>) -> Option<ResourceRequirements> {
    let Some(gpu) = gpu else { return resources };
    let mut resources = resources.unwrap_or_default();
    resources
        .limits
        .get_or_insert_default()
        .entry(gpu.to_owned())
        .or_insert_with(|| Quantity("1".to_owned()));
    Some(resources)
}
