//! What is made for a training run. Pure: a run and the operator's settings go in, objects come out.
//!
//! The Service is `vmafx-trainer-<name>`, by which the trainer is found at port 9091. A name with dots, or one of more
//! than 49 characters, makes no Service; then a digest makes the name, and whoever looks for the trainer reads it from
//! the StatefulSet's `serviceName`. The StatefulSet has the same name, but may be called so for 38 characters only.

pub mod environment;
pub mod pod;

use kube::ResourceExt as _;
use vmafx_api::VmafxModelTraining;

use crate::render::stateful_set::{parallel, with_template};
use crate::render::{ControllerAccess, RenderError, RenderedWorkload, TRAINER, labels, service};
use crate::workload::{DesiredWorkload, ResourceOwner};

/// What the operator's settings say about trainers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainerDefaults {
    /// The image of trainers that name none.
    pub image: Option<String>,
    /// How trainers find the controller.
    pub controller: ControllerAccess,
    /// The `ConfigMap` with the authorities by which they know it, if they speak TLS to it.
    pub ca_config_map: Option<String>,
    /// Registries without TLS, separated by commas.
    pub plain_registries: String,
}

/// The objects that a run asks for.
pub fn desired(
    training: &VmafxModelTraining,
    defaults: &TrainerDefaults,
) -> Result<DesiredWorkload, RenderError> {
    DesiredWorkload::of(&render(training, defaults)?, &ResourceOwner::of(training))
}

fn render(
    training: &VmafxModelTraining,
    defaults: &TrainerDefaults,
) -> Result<RenderedWorkload, RenderError> {
    let name = training.name_any();
    let (workload, service_name) = (TRAINER.workload(&name), TRAINER.service(&name));
    let selector = labels::selector(&workload);
    let replicas = i32::from(!training.spec.paused);
    let metadata = TRAINER.metadata(training, workload);
    let set = parallel(metadata, selector.clone(), service_name.clone(), replicas);
    let template = pod::render(training, defaults)?;
    let stateful_set = with_template(&set, &template, training.spec.pod_template.as_ref())?;
    let service = service::headless(TRAINER.metadata(training, service_name), selector, pod::PORT);
    Ok(RenderedWorkload { service, budget: None, stateful_set })
}

#[cfg(test)]
pub(crate) mod tests;
