//! What is made for a training run. Pure: a run and the operator's settings go in, objects come out.
//!
//! The Service is `vmafx-trainer-<name>`, by which the trainer is found at port 9091. A name with dots, or one of more
//! than 49 characters, makes no Service; then a digest makes the name, and whoever looks for the trainer reads it from
//! the StatefulSet's `serviceName`. The StatefulSet has the same name, but may be called so for 38 characters only.

pub mod environment;
pub mod pod;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use serde_json::Value;
use vmafx_api::VmafxModelTraining;

use crate::render::stateful_set::{NoTemplate, parallel, with_template};
use crate::render::{ControllerAccess, TRAINER, labels, service};

/// What the operator's settings say about trainers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// The image of trainers that name none.
    pub image: Option<String>,
    /// How trainers find the controller.
    pub controller: ControllerAccess,
    /// The `ConfigMap` with the authorities by which they know it, if they speak TLS to it.
    pub ca_config_map: Option<String>,
    /// Registries without TLS, separated by commas.
    pub plain_registries: String,
}

/// Everything that is made for a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// What names the trainer.
    pub service: Service,
    /// The trainer, as it is sent: parts of the template may be newer than the types here.
    pub stateful_set: Value,
}

/// Why nothing can be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RenderError {
    /// No image.
    #[error("no image: set spec.image, or VMAFX_OPERATOR_TRAINER_IMAGE on the operator")]
    NoImage,
    /// The template makes no Pod.
    #[error(transparent)]
    Template(#[from] NoTemplate),
}

/// Makes everything.
pub fn render(training: &VmafxModelTraining, defaults: &Defaults) -> Result<Rendered, RenderError> {
    let name = training.name_any();
    let (workload, service_name) = (TRAINER.workload(&name), TRAINER.service(&name));
    let selector = labels::selector(&workload);
    let replicas = i32::from(!training.spec.paused);
    let metadata = TRAINER.metadata(training, workload);
    let set = parallel(metadata, selector.clone(), service_name.clone(), replicas);
    let template = pod::render(training, defaults)?;
    let stateful_set = with_template(&set, &template, training.spec.pod_template.as_ref())?;
    let service = service::headless(TRAINER.metadata(training, service_name), selector, pod::PORT);
    Ok(Rendered { service, stateful_set })
}

#[cfg(test)]
mod tests;
