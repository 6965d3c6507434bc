//! The Pod of a trainer.
//!
//! It has no persistent volume: its state is the last checkpoint, which it pulls from the registry.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, Container, KeyToPath, PodTemplateSpec, SecretVolumeSource, Volume,
};
use kube::ResourceExt as _;
use vmafx_api::VmafxModelTraining;

use super::environment::{self, CA_DIRECTORY, CA_FILE, REGISTRY_DIRECTORY};
use super::{RenderError, TrainerDefaults};
use crate::render::TRAINER;
use crate::render::pod::{MARGIN_SECONDS, container, probe, read_only, template};
use crate::render::template::grace_seconds;
use crate::reserved::{self, CA_VOLUME, REGISTRY_VOLUME};
use crate::template_policy::PodRole;

/// Port for status and health.
pub const PORT: i32 = 9091;

/// Default time for a trainer to save its work when its Pod is stopped.
pub const DRAIN_SECONDS: i64 = 60;

pub fn render(
    training: &VmafxModelTraining,
    defaults: &TrainerDefaults,
) -> Result<PodTemplateSpec, RenderError> {
    let image = training
        .spec
        .image
        .clone()
        .or_else(|| defaults.image.clone())
        .ok_or(RenderError::NoImage { setting: "VMAFX_OPERATOR_TRAINER_IMAGE" })?;
    let grace = grace_seconds(training.spec.pod_template.as_ref(), DRAIN_SECONDS + MARGIN_SECONDS);
    let mut trainer = Container {
        env: Some(environment::of(training, defaults, grace)),
        startup_probe: Some(probe("/healthz", 2, 30)),
        liveness_probe: Some(probe("/healthz", 10, 3)),
        readiness_probe: Some(probe("/readyz", 5, 2)),
        ..container(reserved::TRAINER_CONTAINER, image, PORT)
    };
    let mounted = [
        training.spec.registry_secret.as_deref().map(|secret| (registry(secret), REGISTRY_DIRECTORY)),
        ca(defaults).map(|volume| (volume, CA_DIRECTORY)),
    ];
    let (mut volumes, mounts) = (Vec::new(), trainer.volume_mounts.get_or_insert_default());
    for (volume, directory) in mounted.into_iter().flatten() {
        mounts.push(read_only(&volume.name, directory));
        volumes.push(volume);
    }
    let labels = TRAINER.labels(&TRAINER.workload(&training.name_any()));
    let account = defaults.templates.account(PodRole::Trainer);
    let mut template = template(labels, trainer, account, &defaults.controller, grace);
    template.spec.get_or_insert_default().volumes.get_or_insert_default().extend(volumes);
    Ok(template)
}

/// The credentials, under the file name that registry clients expect.
fn registry(secret: &str) -> Volume {
    Volume {
        name: REGISTRY_VOLUME.to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(secret.to_owned()),
            items: Some(vec![one(".dockerconfigjson", "config.json")]),
            default_mode: Some(0o440),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }
}

fn ca(defaults: &TrainerDefaults) -> Option<Volume> {
    defaults.controller.tls.as_ref()?;
    let name = defaults.ca_config_map.clone()?;
    Some(Volume {
        name: CA_VOLUME.to_owned(),
        config_map: Some(ConfigMapVolumeSource {
            name,
            items: Some(vec![one(CA_FILE, CA_FILE)]),
            ..ConfigMapVolumeSource::default()
        }),
        ..Volume::default()
    })
}

fn one(key: &str, path: &str) -> KeyToPath {
    KeyToPath { key: key.to_owned(), path: path.to_owned(), mode: None }
}
