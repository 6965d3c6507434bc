//! A resource as it is kept.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use vmafx_api::VmafxJob;

use super::label;
use super::plan::{is_final, remove_at};
use crate::runtime::{Cached, ObjectIdentity};

/// A job that has ended is nearly nothing: a cluster keeps thousands of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub(super) identity: ObjectIdentity,
    /// What it is.
    pub what: What,
}

/// Ended or not.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Something is still to be done about it.
    Open(Box<VmafxJob>),
    /// It has its last word.
    Ended {
        /// When the resource is to be deleted.
        remove_at: Option<Timestamp>,
        /// The whole of it, while its ground truth is one that the controller was not told of.
        unlabelled: Option<Box<VmafxJob>>,
    },
}

impl Seen {
    /// The resource, unless it has its last word.
    pub fn open(&self) -> Option<&VmafxJob> {
        match &self.what {
            What::Open(job) => Some(job),
            What::Ended { .. } => None,
        }
    }
}

impl From<VmafxJob> for Seen {
    fn from(mut job: VmafxJob) -> Self {
        let identity = ObjectIdentity::of(&job);
        job.managed_fields_mut().clear();
        job.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
        if is_final(&job) {
            let remove_at = remove_at(&job);
            let unlabelled = label::is_late(&job).then(|| Box::new(job));
            return Self { identity, what: What::Ended { remove_at, unlabelled } };
        }
        Self { identity, what: What::Open(Box::new(job)) }
    }
}

impl Cached for Seen {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }
}
