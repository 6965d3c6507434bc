//! One pass over a job: settle with the controller, and write the status if it changed.
//!
//! News that is soon followed by other news is not worth a write of its own: what is not final rests for a moment before
//! it is written. So a short job costs one write, and no job more than three.

mod late;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio::time::Instant;
use vmafx_api::conditions::Reason;
use vmafx_api::job::Execution;
use vmafx_api::{VmafxJob, VmafxJobStatus};
use vmafx_job::CancelCause;
use vmafx_proto::controller::v1::{Job, JobStatus};

use super::label;
use super::link::{Labelled, Link};
use super::memory::{Known, Memory};
use super::metrics::JobMetrics;
use super::mirror::Mirror;
use super::plan::{Remote, Step, Why, next};
use super::pod::PodJobs;
use super::status::{happenings, is_over, status};
use super::{Seen, What};
use crate::client::requests;
use crate::error::Retry;
use crate::events::{EventRecorder, ResourceEvent};
use crate::key::ObjectKey;
use crate::runtime::{Cache, Cached, Reconcile, ReconcileError, RequeueAfter, WatchedKind};

/// How long news rests before it is written.
const REST: Duration = Duration::from_millis(100);

/// How long a silent controller is no news: it may just be starting again.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a job is asked for when changes are not heard of by themselves, and why it waits.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// How soon after a single call that failed.
const SOON: Duration = Duration::from_secs(1);

/// How often when they are.
const CHECK_EVERY: Duration = Duration::from_mins(5);

/// With very many open jobs they are looked at less often, so that the controller is asked at most this often a second.
const ASKED_PER_SECOND: u64 = 50;

/// After a call that failed, others do not wait for the same: a thousand jobs would each take its deadline.
const AWAY: Duration = Duration::from_secs(2);

/// Steps in one pass; more would be a circle.
const MOST_STEPS: usize = 6;

/// Reconciles jobs.
pub struct JobReconciler {
    /// The way to the API server.
    pub client: Client,
    /// What is known of them.
    pub jobs: Cache<Seen>,
    /// Those that have a Pod of their own.
    pub pods: PodJobs,
    /// The controller.
    pub link: Link,
    /// What was heard of the controller's jobs.
    pub mirror: Mirror,
    /// What is not written yet.
    pub memory: Memory,
    /// Tells people.
    pub recorder: EventRecorder,
    /// What is counted.
    pub metrics: JobMetrics,
}

impl Reconcile for JobReconciler {
    const KIND: WatchedKind = WatchedKind::Job;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Option<RequeueAfter>, ReconcileError> {
        let seen = self.jobs.get(key);
        let wanted = seen.as_deref().filter(|seen| !is_being_deleted(seen));
        self.end_others(key, wanted.map(Cached::uid)).await?;
        let Some(seen) = wanted else { return Ok(None) };
        match &seen.what {
            What::Ended { remove_at, unlabelled } => {
                self.memory.forget(key, seen.uid());
                match unlabelled {
                    // The write that follows is news, which leads here again.
                    Some(job) => self.label_late(job).await.map(|()| None),
                    None => self.remove(seen, *remove_at).await,
                }
            }
            What::Open(job) if job.spec.execution == Execution::Pod => self.pod_pass(job).await.map(Some),
            What::Open(job) => self.pass(key, job).await.map(Some),
        }
    }
}

impl JobReconciler {
    /// Ends what was handed over for resources of this name that are gone.
    async fn end_others(&self, key: &ObjectKey, uid: Option<&str>) -> Result<(), ReconcileError> {
        for known in self.memory.others(key, uid) {
            if let Some(why) = self.is_away() {
                return Err(failure(why));
            }
            let id = match &known.id {
                Some(id) => Some(id.clone()),
                None => match self.link.find(&known.uid).await {
                    Remote::Job(live) => Some(live.id.clone()),
                    Remote::Unreachable(why) => return Err(failure(why)),
                    Remote::NotAsked | Remote::Refused(_) | Remote::Missing => None,
                },
            };
            if let Some(id) = id {
                self.link.cancel(&id, CancelCause::ResourceGone).await.map_err(failure)?;
                self.mirror.forget(&id);
            }
            self.memory.forget(key, &known.uid);
        }
        Ok(())
    }

    /// Deletes a resource whose time after its end is over.
    async fn remove(
        &self,
        seen: &Seen,
        at: Option<Timestamp>,
    ) -> Result<Option<RequeueAfter>, ReconcileError> {
        let Some(at) = at else { return Ok(None) };
        let left = Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default();
        if !left.is_zero() {
            return Ok(Some(RequeueAfter(left)));
        }
        requests::delete::<VmafxJob>(&self.client, "delete the VmafxJob after its time", &seen.identity)
            .await?;
        Ok(None)
    }

    async fn pass(&self, key: &ObjectKey, job: &VmafxJob) -> Result<RequeueAfter, ReconcileError> {
        let uid = job.metadata.uid.as_deref().unwrap_or_default();
        let mut known = self.memory.of(key, uid);
        let recorded = job.status.as_ref().and_then(|status| status.controller_job_id.clone());
        known.id = known.id.or(recorded);
        // Before anything is handed over: should the resource go meanwhile, its job is looked for.
        self.memory.keep(key, known.clone());
        let remote = self.settle(key, job, &mut known).await;
        self.explain(job, &remote, &mut known).await;
        let waiting = known.waiting.as_ref().and_then(|(_, why)| why.as_ref());
        let after = status(job, &remote, waiting, Timestamp::now());
        let again = if job.status.as_ref() == Some(&after) {
            known.behind = None;
            self.look_again(&remote)
        } else {
            let left = left(&mut known.behind, rest(job, &remote, &after));
            if left.is_zero() {
                self.memory.keep(key, known.clone());
                self.write(job, &after, &known).await?;
                (known.behind, known.forgotten) = (None, None);
                self.look_again(&remote)
            } else {
                left
            }
        };
        if known.behind.is_none() && is_over(&after) {
            self.memory.forget(key, uid);
            known.id.iter().for_each(|id| self.mirror.forget(id));
        } else {
            self.memory.keep(key, known);
        }
        Ok(RequeueAfter(again))
    }

    /// The same for a job that Kubernetes runs.
    async fn pod_pass(&self, job: &VmafxJob) -> Result<RequeueAfter, ReconcileError> {
        let pass = self.pods.pass(job, Timestamp::now()).await?;
        if job.status.clone().unwrap_or_default() != pass.status {
            self.write(job, &pass.status, &Known::default()).await?;
        }
        Ok(RequeueAfter(pass.again.unwrap_or(CHECK_EVERY)))
    }

    /// Does what is to be done at the controller; what is then known of the job.
    async fn settle(&self, key: &ObjectKey, job: &VmafxJob, known: &mut Known) -> Remote {
        if let Some(why) = self.is_away() {
            return Remote::Unreachable(why);
        }
        let heard = known.id.as_ref().filter(|_| self.mirror.is_live()).and_then(|id| self.mirror.get(id));
        let mut remote = heard.map_or(Remote::NotAsked, Remote::Job);
        for _ in 0..MOST_STEPS {
            remote = match next(job, known.id.as_deref(), &remote, known.refused) {
                Step::Follow => break,
                Step::Ask { id } => self.ask(&id).await,
                Step::Find => {
                    let found = self.link.find(&known.uid).await;
                    if let Remote::Job(live) = &found {
                        known.id = Some(live.id.clone());
                    }
                    found
                }
                Step::Submit { key: idempotency_key } => match self.link.submit(job, idempotency_key).await {
                    Ok(submitted) => {
                        self.metrics.submitted.inc();
                        let before = known.id.replace(submitted.id.clone());
                        if matches!(remote, Remote::Missing) {
                            known.forgotten = before;
                        }
                        known.waiting = None;
                        self.memory.keep(key, known.clone());
                        if submitted.known { self.ask(&submitted.id).await } else { self.fresh(submitted.id) }
                    }
                    Err(remote) => remote,
                },
                Step::Cancel { id, cause } => match self.link.cancel(&id, cause).await {
                    Ok(()) => self.ask(&id).await,
                    Err(why) => Remote::Unreachable(why),
                },
                Step::Label { id, value } => match self.link.label(&id, value).await {
                    Ok(Labelled::Taken) => self.ask(&id).await,
                    Ok(Labelled::Refused(why)) => {
                        known.refused = Some(value);
                        self.recorder.publish(job, &label::refused(value, &why)).await;
                        self.ask(&id).await
                    }
                    Err(why) => Remote::Unreachable(why),
                },
            };
            if matches!(remote, Remote::Unreachable(_)) {
                break;
            }
        }
        remote
    }

    /// Why the controller need not be asked: it did not answer somebody else a moment ago.
    fn is_away(&self) -> Option<Why> {
        self.link.failed_within(AWAY).filter(|_| !self.mirror.is_live())
    }

    async fn ask(&self, id: &str) -> Remote {
        let remote = self.link.ask(id).await;
        if let Remote::Job(job) = &remote {
            self.mirror.keep(Arc::clone(job));
            // The stream may have been quicker.
            return self.mirror.get(id).map_or(remote, Remote::Job);
        }
        remote
    }

    /// A job that was just handed over waits, unless more was heard of it already.
    fn fresh(&self, id: String) -> Remote {
        Remote::Job(self.mirror.get(&id).unwrap_or_else(|| Arc::new(Job { id, ..Job::default() })))
    }

    /// Asks why it waits, once it has waited for a moment, and then now and again.
    async fn explain(&self, job: &VmafxJob, remote: &Remote, known: &mut Known) {
        let Remote::Job(live) = remote else { return };
        if live.status() != JobStatus::Pending {
            known.waiting = None;
            return;
        }
        let rested = match known.behind {
            Some(since) => since.elapsed() >= REST,
            None => job.status.is_some(),
        };
        let asked = known.waiting.as_ref().is_some_and(|(at, _)| at.elapsed() < self.look_every());
        if rested && !asked {
            let why = self.link.explain(&live.id, Timestamp::now()).await;
            known.waiting = Some((Instant::now(), why));
        }
    }

    async fn write(
        &self,
        job: &VmafxJob,
        after: &VmafxJobStatus,
        known: &Known,
    ) -> Result<(), ReconcileError> {
        let Some(written) = crate::status::apply(&self.client, job, after).await? else {
            // It is gone, and the watch will say so.
            return Ok(());
        };
        self.jobs.put(Seen::from(written));
        let forgotten = known.forgotten.as_ref().map(|id| {
            let note = format!("the controller does not know job {id} any more; it was submitted again");
            ResourceEvent::warning(Reason::Forgotten, note)
        });
        for happening in happenings(job.status.as_ref(), after).into_iter().chain(forgotten) {
            self.recorder.publish(job, &happening).await;
        }
        if let Some(phase) = after.phase.filter(|_| is_over(after)) {
            self.metrics.ended(phase);
        }
        Ok(())
    }

    fn look_again(&self, remote: &Remote) -> Duration {
        match remote {
            Remote::Job(live) if live.status() == JobStatus::Pending => self.look_every(),
            Remote::Job(_) if self.mirror.is_live() => CHECK_EVERY,
            // The controller answers others.
            Remote::Unreachable(_) if self.mirror.is_live() => SOON,
            _ => self.look_every(),
        }
    }

    fn look_every(&self) -> Duration {
        let open = u64::try_from(self.memory.len()).unwrap_or(u64::MAX);
        LOOK_EVERY.max(Duration::from_secs(open / ASKED_PER_SECOND))
    }
}

/// How long a status may be behind.
fn rest(job: &VmafxJob, remote: &Remote, after: &VmafxJobStatus) -> Duration {
    match remote {
        _ if is_over(after) => Duration::ZERO,
        Remote::Unreachable(_) if job.status.is_some() => PATIENCE,
        _ => REST,
    }
}

/// How much of that is left; it counts from the first news that is not written.
fn left(behind: &mut Option<Instant>, rest: Duration) -> Duration {
    rest.saturating_sub(behind.get_or_insert_with(Instant::now).elapsed())
}

fn is_being_deleted(seen: &Seen) -> bool {
    seen.open().is_some_and(|job| job.metadata.deletion_timestamp.is_some())
}

fn failure(why: Why) -> ReconcileError {
    ReconcileError { reason: why.reason, retry: Retry::Later, source: why.message.into() }
}

#[cfg(test)]
mod tests;
