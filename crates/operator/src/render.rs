//! What all rendered objects have in common. Pure.
//!
//! | module                | holds                                                                  |
//! |-----------------------|------------------------------------------------------------------------|
//! | [`name`]              | names of objects, within the limits of Kubernetes                      |
//! | [`labels`]            | labels and selectors                                                   |
//! | [`pod_defaults`]      | parts of every Pod: security contexts, scratch volume                  |
//! | [`pod`]               | a Pod that keeps running and serves HTTP                               |
//! | [`controller_access`] | address and token by which a Pod reaches the controller                |
//! | [`template`], [`merge`] | the user's partial Pod template, merged over the rendered one        |
//! | [`scratch_limit`]     | the limit of the scratch volume, passed on to the agent                |
//! | [`service`], [`stateful_set`] | headless Service and StatefulSet                               |

pub mod controller_access;
pub mod labels;
pub mod merge;
pub mod name;
pub mod pod;
pub mod pod_defaults;
pub mod scratch_limit;
pub mod service;
pub mod stateful_set;
pub mod template;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt as _};
use serde_json::Value;
use vmafx_api::conditions::Reason;

pub use self::controller_access::{ControllerAccess, ControllerTls};
use self::stateful_set::InvalidTemplate;

use crate::template_policy::ForbiddenTemplate;
use crate::workload::{DesiredAccount, ResourceOwner};

/// The objects of a resource's workload.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedWorkload {
    pub account: DesiredAccount,
    pub service: Service,
    pub budget: Option<PodDisruptionBudget>,
    /// JSON, because parts of the template may be newer than the types here.
    pub stateful_set: Value,
}

/// Why no workload can be rendered.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum RenderError {
    #[error("no image: set spec.image, or {setting} on the operator")]
    NoImage { setting: &'static str },
    /// Only of an object that was created before the API server refused such names.
    #[error(
        "metadata.name has more than {max} characters, so the trainer cannot use it as a tag: create a new VmafxModelTraining with a shorter name"
    )]
    LongName { max: usize },
    #[error(transparent)]
    Template(#[from] InvalidTemplate),
    #[error(transparent)]
    Forbidden(#[from] ForbiddenTemplate),
    #[error("the spec does not make a StatefulSet: {0}")]
    StatefulSet(String),
}

impl RenderError {
    pub fn reason(&self) -> Reason {
        match self {
            Self::Forbidden(_) => Reason::PodTemplateForbidden,
            Self::NoImage { .. } | Self::LongName { .. } | Self::Template(_) | Self::StatefulSet(_) => {
                Reason::Invalid
            }
        }
    }
}

/// The workloads of one kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadFamily {
    /// Prefix of every name, so that the Service of a resource named `web` does not collide with the team's own `web`.
    pub app: &'static str,
    /// Value of the label `app.kubernetes.io/component`.
    pub component: &'static str,
}

pub const NODE: WorkloadFamily = WorkloadFamily { app: "vmafx-node", component: "node" };

pub const TRAINER: WorkloadFamily = WorkloadFamily { app: "vmafx-trainer", component: "trainer" };

impl WorkloadFamily {
    /// Metadata of an object that is rendered for a resource.
    pub fn metadata<K: Resource<DynamicType = ()>>(self, resource: &K, name: String) -> ObjectMeta {
        ObjectMeta {
            name: Some(name),
            namespace: resource.namespace(),
            labels: Some(self.labels(&self.workload(&resource.name_any()))),
            owner_references: Some(vec![ResourceOwner::of(resource).reference()]),
            ..ObjectMeta::default()
        }
    }
}
