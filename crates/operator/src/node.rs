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

use kube::ResourceExt as _;
use vmafx_api::VmafxNode;

use crate::key::ObjectKey;
use crate::runtime::Cached;

pub use self::reconcile::NodeReconciler;

/// A node as it is kept: without what nobody reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen(pub VmafxNode);

impl From<VmafxNode> for Seen {
    fn from(mut node: VmafxNode) -> Self {
        node.managed_fields_mut().clear();
        node.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
        Self(node)
    }
}

impl Cached for Seen {
    fn key(&self) -> ObjectKey {
        ObjectKey::of(&self.0)
    }

    fn uid(&self) -> &str {
        self.0.metadata.uid.as_deref().unwrap_or_default()
    }

    fn version(&self) -> &str {
        self.0.metadata.resource_version.as_deref().unwrap_or_default()
    }
}
