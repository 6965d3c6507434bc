//! VmafxJob: one pair of clips to score.
//!
//! | file          | holds                                                              |
//! |---------------|--------------------------------------------------------------------|
//! | [`request`]   | the submission that a resource stands for: pure                    |
//! | [`pod`]       | jobs that have a Pod of their own                                  |
//! | [`plan`]      | what to do next, from the resource and the controller's word: pure |
//! | [`reconcile`] | one pass: observe, do the next thing, write the status             |
//! | [`status`]    | what its status says: pure                                         |

pub mod plan;
pub mod pod;
pub mod reconcile;
pub mod request;
pub mod status;

use kube::ResourceExt as _;
use vmafx_api::VmafxJob;

use crate::key::ObjectKey;
use crate::runtime::Cached;

/// A job as it is kept: without what nobody reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen(pub VmafxJob);

impl From<VmafxJob> for Seen {
    fn from(mut job: VmafxJob) -> Self {
        job.managed_fields_mut().clear();
        job.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
        Self(job)
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
