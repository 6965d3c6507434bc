//! What is the same in everything that is made for a resource, whatever its kind. Pure.
//!
//! | file             | holds                                                             |
//! |------------------|-------------------------------------------------------------------|
//! | [`name`]         | how it is called, within the limits of Kubernetes                 |
//! | [`labels`]       | how it is found                                                   |
//! | [`pod`]          | a Pod that keeps running and serves pages                         |
//! | [`controller`]   | how what runs in it finds the controller, and proves who it is    |
//! | [`service`]      | the Service that names it                                         |
//! | [`stateful_set`] | the StatefulSet that keeps it running                             |

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

pub use self::controller_access::{ControllerAccess, ControllerTls};
use self::stateful_set::InvalidTemplate;

use crate::workload::ResourceOwner;

/// The objects of a resource's workload.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedWorkload {
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
    #[error(transparent)]
    Template(#[from] InvalidTemplate),
    #[error("the spec does not make a StatefulSet: {0}")]
    StatefulSet(String),
}

/// A kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadFamily {
    /// In front of every name, so that a Service for a resource named `web` is not the team's own `web`.
    pub app: &'static str,
    /// Its part in the whole.
    pub component: &'static str,
}

/// What runs for a VmafxNode.
pub const NODE: WorkloadFamily = WorkloadFamily { app: "vmafx-node", component: "node" };

/// What runs for a VmafxModelTraining.
pub const TRAINER: WorkloadFamily = WorkloadFamily { app: "vmafx-trainer", component: "trainer" };

impl WorkloadFamily {
    /// Name, namespace, labels and owner of something that is made for a resource.
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
