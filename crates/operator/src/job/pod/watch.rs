//! The watches that feed it: only what carries our label, and of that only what is read.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, Resource as _};
use vmafx_api::VmafxJob;

use super::facts::{JobFacts, PodFacts};
use crate::key::ObjectKey;
use crate::reserved::JOB_LABEL;
use crate::runtime::{Notifier, Watch, WatchedKind};

/// Of Kubernetes Jobs. A changed one concerns the resource that owns it.
pub fn jobs(client: Client, notifier: Notifier) -> Watch<Job, JobFacts> {
    Watch::new(WatchedKind::BatchJob, client, <JobFacts as From<Job>>::from)
        .labelled(JOB_LABEL)
        .notifies(notifier, owner)
}

/// Of Pods. A changed one concerns the resource that it names.
pub fn pods(client: Client, notifier: Notifier) -> Watch<Pod, PodFacts> {
    Watch::new(WatchedKind::Pod, client, <PodFacts as From<Pod>>::from)
        .labelled(JOB_LABEL)
        .notifies(notifier, named)
}

fn owner(job: &JobFacts) -> Vec<ObjectKey> {
    let owner = job.controller.as_ref().filter(|owner| owner.kind == VmafxJob::kind(&()));
    owner
        .map(|owner| ObjectKey::new(job.identity.key.namespace.clone(), owner.name.clone()))
        .into_iter()
        .collect()
}

fn named(pod: &PodFacts) -> Vec<ObjectKey> {
    let name = pod.resource.clone();
    name.map(|name| ObjectKey::new(pod.identity.key.namespace.clone(), name)).into_iter().collect()
}
