//! Renders the desired objects of a training run from the run and the operator's settings. Pure.
//!
//! The Service is `vmafx-trainer-<name>`; the trainer listens on port 9091. A name with dots, or of more than 49
//! characters, is not a valid name of a Service; then the name contains a digest, and clients read it from the
//! StatefulSet's `serviceName`. The StatefulSet has the same name up to 38 characters.

pub mod environment;
pub mod pod;

use kube::ResourceExt as _;
use vmafx_api::VmafxModelTraining;
use vmafx_job::limits::MAX_TRAINING_NAME_LENGTH;

use crate::render::stateful_set::{parallel, with_template};
use crate::render::{ControllerAccess, RenderError, RenderedWorkload, TRAINER, labels, service};
use crate::template_policy::{PodRole, TemplatePolicy};
use crate::workload::{DesiredAccount, DesiredWorkload, ResourceOwner};

/// Settings for all trainers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainerDefaults {
    /// Image of trainers without `spec.image`.
    pub image: Option<String>,
    pub controller: ControllerAccess,
    /// `ConfigMap` with the certificate authorities for TLS connections to the controller.
    pub ca_config_map: Option<String>,
    /// Registries without TLS, separated by commas.
    pub plain_registries: String,
    pub templates: TemplatePolicy,
}

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
    if name.len() > MAX_TRAINING_NAME_LENGTH {
        return Err(RenderError::LongName { max: MAX_TRAINING_NAME_LENGTH });
    }
    let (policy, spec) = (&defaults.templates, &training.spec);
    let namespace = training.namespace().unwrap_or_default();
    let registry_secret = spec.registry_secret.as_deref();
    policy.check(&namespace, PodRole::Trainer, spec.pod_template.as_ref(), registry_secret)?;
    let account = DesiredAccount::new(&namespace, policy.account(PodRole::Trainer), PodRole::Trainer);
    let (workload, service_name) = (TRAINER.workload(&name), TRAINER.service(&name));
    let selector = labels::selector(&workload);
    let replicas = i32::from(!training.spec.paused);
    let metadata = TRAINER.metadata(training, workload);
    let set = parallel(metadata, selector.clone(), service_name.clone(), replicas);
    let template = pod::render(training, defaults)?;
    let stateful_set = with_template(&set, &template, training.spec.pod_template.as_ref())?;
    let service = service::headless(TRAINER.metadata(training, service_name), selector, pod::PORT);
    Ok(RenderedWorkload { account, service, budget: None, stateful_set })
}

#[cfg(test)]
pub(crate) mod tests;
