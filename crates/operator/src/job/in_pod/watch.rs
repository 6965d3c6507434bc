//! The watches that fill the caches: only objects with our label, and of each only its snapshot.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, Resource as _};
use vmafx_api::VmafxJob;

use super::snapshot::{BatchJobSnapshot, PodSnapshot};
use crate::key::ObjectKey;
use crate::reserved::JOB_LABEL;
use crate::runtime::{Notifier, Watch, WatchedKind};

/// A changed Kubernetes Job concerns the resource that owns it.
pub fn jobs(client: Client, notifier: Notifier) -> Watch<Job, BatchJobSnapshot> {
    Watch::new(WatchedKind::BatchJob, client, <BatchJobSnapshot as From<Job>>::from)
        .labelled(JOB_LABEL)
        .notifies(notifier, owner)
}

/// A changed Pod concerns the resource that its annotation names.
pub fn pods(client: Client, notifier: Notifier) -> Watch<Pod, PodSnapshot> {
    Watch::new(WatchedKind::Pod, client, <PodSnapshot as From<Pod>>::from)
        .labelled(JOB_LABEL)
        .notifies(notifier, named)
}

fn owner(job: &BatchJobSnapshot) -> Vec<ObjectKey> {
    let owner = job.controller.as_ref().filter(|owner| owner.kind == VmafxJob::kind(&()));
    owner
        .map(|owner| ObjectKey::new(job.identity.key.namespace.clone(), owner.name.clone()))
        .into_iter()
        .collect()
}

fn named(pod: &PodSnapshot) -> Vec<ObjectKey> {
    let name = pod.resource.clone();
    name.map(|name| ObjectKey::new(pod.identity.key.namespace.clone(), name)).into_iter().collect()
}
