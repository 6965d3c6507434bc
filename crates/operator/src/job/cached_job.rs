//! What is cached of a VmafxJob.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use vmafx_api::VmafxJob;
use vmafx_proto::controller::v1::Job;

use super::label;
use super::plan::{delete_at, is_final};
use crate::key::ObjectKey;
use crate::runtime::{Cache, Cached, ObjectIdentity};

/// Very little is cached of a finished job, because a cluster keeps thousands of them.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedJob {
    pub(super) identity: ObjectIdentity,
    pub state: CachedJobState,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CachedJobState {
    Open(Box<VmafxJob>),
    /// The status is final.
    Finished {
        delete_at: Option<Timestamp>,
        /// The whole resource, if it has a ground truth that was not sent to the controller.
        unlabelled: Option<Box<VmafxJob>>,
    },
}

impl CachedJob {
    /// The resource, unless its status is final.
    pub fn open(&self) -> Option<&VmafxJob> {
        match &self.state {
            CachedJobState::Open(job) => Some(job),
            CachedJobState::Finished { .. } => None,
        }
    }
}

/// The resource of a controller's job, if it exists and is open.
pub(super) fn open_resource(jobs: &Cache<CachedJob>, live: &Job) -> Option<ObjectKey> {
    let origin = live.origin.as_ref()?;
    let key = ObjectKey::new(origin.namespace.clone(), origin.name.clone());
    let cached = jobs.get(&key)?;
    (cached.uid() == origin.uid && cached.open().is_some()).then_some(key)
}

impl From<VmafxJob> for CachedJob {
    fn from(mut job: VmafxJob) -> Self {
        let identity = ObjectIdentity::of(&job);
        job.managed_fields_mut().clear();
        job.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
        if is_final(&job) {
            let delete_at = delete_at(&job);
            let unlabelled = label::is_late(&job).then(|| Box::new(job));
            return Self { identity, state: CachedJobState::Finished { delete_at, unlabelled } };
        }
        Self { identity, state: CachedJobState::Open(Box::new(job)) }
    }
}

impl Cached for CachedJob {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }
}
