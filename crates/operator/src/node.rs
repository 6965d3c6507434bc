//! VmafxNode: a pool of workers.
//!
//! | file            | holds                                                                    |
//! |-----------------|--------------------------------------------------------------------------|
//! | [`render`]      | what is made for it: StatefulSet, Service, PodDisruptionBudget           |
//! | [`health`]      | whether its agents are well: pure                                        |
//! | [`probe`]       | whether the controller answers, asked once for all nodes                 |
//! | [`status`]      | what its status says: pure                                               |
//! | [`reconcile`]   | one pass: observe, sync, judge, write the status if it changed           |
//!
//! `lastHeartbeat`, `assignedJobs` and `detectedDevice` are the controller's; they are read here and never written. Since
//! a status is applied as the set of fields that it names, there is no way to write them by accident.

pub mod health;
pub mod probe;
pub mod reconcile;
pub mod render;
pub mod status;

use vmafx_api::VmafxNode;

use crate::runtime::Whole;

pub use self::reconcile::NodeReconciler;

/// A node as it is kept.
pub type Seen = Whole<VmafxNode>;
