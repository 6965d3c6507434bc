//! VmafxNode: a pool of workers.
//!
//! | module        | holds                                                                              |
//! |---------------|------------------------------------------------------------------------------------|
//! | [`render`]    | the desired objects of a node: StatefulSet, Service, PodDisruptionBudget; pure     |
//! | [`observe`]   | the live objects, and whether the controller answers ([`probe`])                   |
//! | [`plan`]      | what to do and why; whether the agents are healthy ([`health`]); pure              |
//! | [`status`]    | the status that follows, and the write of it                                       |
//! | [`reconcile`] | one pass: these in their order, with [`Workloads::apply`] before the status        |
//!
//! [`Workloads::apply`]: crate::workload::Workloads::apply
//!
//! `lastHeartbeat`, `assignedJobs`, `detectedDevice` and `quarantine` are the controller's fields: the operator reads them and never
//! writes them. A status is applied as the set of fields that it names, so they cannot be overwritten by accident.

pub mod health;
pub mod observe;
pub mod plan;
pub mod probe;
pub mod reconcile;
pub mod render;
pub mod status;

use vmafx_api::VmafxNode;

use crate::runtime::CachedResource;

pub use self::reconcile::NodeReconciler;

pub type CachedNode = CachedResource<VmafxNode>;
