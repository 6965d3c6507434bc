//! Observes the Kubernetes Job of a VmafxJob and its Pods.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use vmafx_api::VmafxJob;

use super::PodJobs;
use super::name::{job_name, label_value};
use super::outcome::{PodJobOutcome, outcome};
use super::snapshot::{BatchJobSnapshot, PodSnapshot};
use crate::client::requests;
use crate::error::{ApiError, call};
use crate::key::ObjectKey;
use crate::reserved::JOB_LABEL;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedPodJob {
    /// The Kubernetes Job with the name that ours has, whoever owns it.
    pub job: Option<Arc<BatchJobSnapshot>>,
    /// The Pods of that Job.
    pub pods: Vec<Arc<PodSnapshot>>,
    /// The number of Pods of deleted Jobs that have not ended.
    pub leaving: usize,
}

impl ObservedPodJob {
    /// The number of failed Pods that count as attempts: Kubernetes has not removed them.
    pub(super) fn failed_pods(&self) -> usize {
        self.pods.iter().filter(|pod| pod.phase == "Failed" && pod.disrupted.is_none()).count()
    }
}

impl PodJobs {
    /// What the caches hold.
    pub(super) fn observe(&self, job: &VmafxJob) -> ObservedPodJob {
        self.with_cached_pods(job, self.jobs.get(&key(job)))
    }

    /// The Kubernetes Job as the API server has it now, after a conflict has shown that the cached one is outdated.
    pub(super) async fn observe_live(&self, job: &VmafxJob) -> Result<ObservedPodJob, ApiError> {
        Ok(self.with_cached_pods(job, self.read(&key(job)).await?))
    }

    pub(super) fn with_cached_pods(
        &self,
        job: &VmafxJob,
        live: Option<Arc<BatchJobSnapshot>>,
    ) -> ObservedPodJob {
        let group = ObjectKey::new(job.namespace().unwrap_or_default(), label_value(&job.name_any()));
        let all = self.pods.of_group(&group).into_iter();
        let (pods, others): (Vec<_>, Vec<_>) =
            all.partition(|pod| live.as_ref().is_some_and(|live| pod.is_of(live)));
        ObservedPodJob { job: live, pods, leaving: others.iter().filter(|pod| !pod.is_over()).count() }
    }

    /// How the job ended, if it has. Before a failure is final the Pods are listed past the cache, because their watch may
    /// be behind that of the Jobs.
    pub(super) async fn observe_outcome(
        &self,
        job: &VmafxJob,
        observed: &mut ObservedPodJob,
    ) -> Result<Option<PodJobOutcome>, ApiError> {
        let Some(live) = observed.job.clone().filter(|live| is_owned_by(live, job)) else { return Ok(None) };
        match outcome(&live, &observed.pods) {
            Some(PodJobOutcome::Failed { .. }) => {
                let mut pods = self.live_pods(job, &live).await?;
                // A cached Pod that was deleted since still says why it failed.
                let is_deleted = |cached: &Arc<PodSnapshot>| {
                    pods.iter().all(|pod| pod.identity.uid != cached.identity.uid)
                };
                observed.pods.retain(is_deleted);
                pods.append(&mut observed.pods);
                observed.pods = pods;
                Ok(outcome(&live, &observed.pods))
            }
            outcome => Ok(outcome),
        }
    }

    pub(super) async fn read(&self, key: &ObjectKey) -> Result<Option<Arc<BatchJobSnapshot>>, ApiError> {
        let live = requests::read::<Job>(&self.client, "read the Job", key).await?;
        Ok(live.map(|job| self.put(job)))
    }

    /// The Pods of the Kubernetes Job as the API server has them now.
    pub(super) async fn live_pods(
        &self,
        job: &VmafxJob,
        live: &BatchJobSnapshot,
    ) -> Result<Vec<Arc<PodSnapshot>>, ApiError> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &job.namespace().unwrap_or_default());
        let labelled = ListParams::default().labels(&format!("{JOB_LABEL}={}", label_value(&job.name_any())));
        let pods = call("list the Pods of the Job", api.list(&labelled)).await?.items;
        let pods = pods.into_iter().map(|pod| Arc::new(PodSnapshot::from(pod)));
        Ok(pods.filter(|pod| pod.is_of(live)).collect())
    }

    /// Caches an answer of the API server, which is at least as new as what the watch has delivered. A Job without our
    /// label is not cached: it is not watched, so its deletion would not be noticed.
    pub(super) fn put(&self, job: Job) -> Arc<BatchJobSnapshot> {
        let is_watched = job.labels().contains_key(JOB_LABEL);
        let snapshot = BatchJobSnapshot::from(job);
        if is_watched {
            self.jobs.put(snapshot.clone());
        }
        Arc::new(snapshot)
    }
}

pub(super) fn key(job: &VmafxJob) -> ObjectKey {
    ObjectKey::new(job.namespace().unwrap_or_default(), job_name(&job.name_any()))
}

fn is_owned_by(live: &BatchJobSnapshot, job: &VmafxJob) -> bool {
    live.controller.as_ref().is_some_and(|controller| Some(&controller.uid) == job.metadata.uid.as_ref())
}
