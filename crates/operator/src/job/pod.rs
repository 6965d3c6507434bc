//! Jobs that have a Pod of their own: one Kubernetes Job per resource, which repeats and ends them.
//!
//! | file           | holds                                                                       |
//! |----------------|-----------------------------------------------------------------------------|
//! | [`render`]     | the Kubernetes Job; [`args`] is what its container is told, [`name`] its name |
//! | [`facts`]      | what is kept of that Job and its Pods                                       |
//! | [`decide`]     | what is to be done about it: pure                                           |
//! | [`outcome`]    | how the job ended, from the result that the container left: pure            |
//! | [`status`]     | what the status says; [`waiting`] is why a job does not run yet: pure       |
//! | [`watch`]      | the watches that feed it                                                    |
//!
//! The Kubernetes Job is made once and never applied again, since its template cannot be changed. Of what can be, only the
//! fields that differ are sent. So an object that another controller shares with us, as Kueue does, has one writer per
//! field, and at rest nothing is sent.

pub mod args;
pub mod decide;
pub mod facts;
pub mod name;
pub mod outcome;
pub mod render;
#[cfg(test)]
mod scene;
pub mod status;
pub mod waiting;
pub mod watch;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Map, Value};
use vmafx_api::conditions::Reason;
use vmafx_api::{VmafxJob, VmafxJobStatus};

use self::decide::{Step, decide};
use self::facts::{JobFacts, PodFacts};
use self::name::{job_name, label_value};
use self::outcome::{Outcome, outcome};
use self::render::{JobDefaults, render};
use self::status::{Obstacle, status};
use super::plan::is_final;
use crate::client::requests;
use crate::error::{ApiError, Retry, call};
use crate::key::ObjectKey;
use crate::reserved::JOB_LABEL;
use crate::runtime::{Cache, ReconcileError};

/// Nothing is expected to happen, and a watch would tell; this is for what a watch may have missed.
const RESYNC: Duration = Duration::from_mins(10);

/// Something will happen by itself, or has just been made to.
const SOON: Duration = Duration::from_secs(2);

/// Somebody has to do something first.
const SLOWLY: Duration = Duration::from_mins(1);

/// A young Job changes often, by its controller's hand, and our writes want it as it was read.
const ATTEMPTS: usize = 3;

/// Keeps the Kubernetes Jobs of all resources that want one.
#[derive(Clone)]
pub struct PodJobs {
    /// The way to the API server.
    pub client: Client,
    /// The Kubernetes Jobs that carry our label.
    pub jobs: Cache<JobFacts>,
    /// The Pods that do.
    pub pods: Cache<PodFacts>,
    /// What they are made from.
    pub defaults: JobDefaults,
}

/// What came of a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct PodPass {
    /// What the status is to be.
    pub status: VmafxJobStatus,
    /// When to look again, if nothing happens before; never after the end.
    pub again: Option<Duration>,
}

/// What there is of a job in Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Its Kubernetes Job, or whatever has that name.
    pub job: Option<Arc<JobFacts>>,
    /// The Pods of that.
    pub pods: Vec<Arc<PodFacts>>,
    /// Pods of Jobs that are gone, still at work.
    pub leaving: usize,
}

/// What came of a step.
enum Done {
    /// Nothing stands in the way.
    Well(Found),
    /// Something does.
    Not(Found, Obstacle),
    /// The resource is not what it was, and is left alone until that is seen.
    Left,
}

impl PodJobs {
    /// Brings a job a step further and says how it stands. While nothing has changed it makes no request at all.
    pub async fn pass(&self, job: &VmafxJob, now: Timestamp) -> Result<PodPass, ReconcileError> {
        let as_it_is = || PodPass { status: job.status.clone().unwrap_or_default(), again: None };
        if is_final(job) || job.metadata.deletion_timestamp.is_some() {
            return Ok(as_it_is());
        }
        let key = key(job);
        let mut found = self.known(job, self.jobs.get(&key));
        let mut attempt = 1;
        loop {
            if let Some(ended) = self.ended(job, &mut found).await? {
                return Ok(PodPass { status: status(job, &found, Some(&ended), None, now), again: None });
            }
            let step = decide(job, found.job.as_deref());
            match self.act(job, found, step).await {
                Ok(Done::Well(found)) => {
                    let again = (!job.spec.cancel).then_some(RESYNC);
                    return Ok(PodPass { status: status(job, &found, None, None, now), again });
                }
                Ok(Done::Not(found, obstacle)) => {
                    let again = if obstacle.reason == Reason::Terminating { SOON } else { SLOWLY };
                    let again = (!obstacle.is_final).then_some(again);
                    return Ok(PodPass { status: status(job, &found, None, Some(&obstacle), now), again });
                }
                Ok(Done::Left) => return Ok(as_it_is()),
                // What was known is old.
                Err(ApiError::Conflict { .. }) if attempt < ATTEMPTS => {
                    attempt += 1;
                    found = self.known(job, self.read(&key).await?);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// How it ended. Before it is said to have failed, its Pods are looked at past the cache: their watch may be behind
    /// that of the Jobs.
    async fn ended(&self, job: &VmafxJob, found: &mut Found) -> Result<Option<Outcome>, ApiError> {
        let Some(live) = found.job.clone().filter(|live| is_ours(job, live)) else { return Ok(None) };
        match outcome(&live, &found.pods) {
            Some(Outcome::Failed { .. }) => {
                let pods = self.list(job).await?.into_iter().map(|pod| Arc::new(PodFacts::from(pod)));
                let mut pods: Vec<_> = pods.filter(|pod| pod.is_of(&live)).collect();
                // One that is gone since still says why.
                found.pods.retain(|known| pods.iter().all(|pod| pod.identity.uid != known.identity.uid));
                pods.append(&mut found.pods);
                found.pods = pods;
                Ok(outcome(&live, &found.pods))
            }
            ended => Ok(ended),
        }
    }

    async fn act(&self, job: &VmafxJob, found: Found, step: Step) -> Result<Done, ApiError> {
        let live = found.job.clone();
        match (step, live) {
            (Step::Create, _) => self.create(job).await,
            (Step::Change(fields), Some(live)) => {
                let changed =
                    requests::change::<Job>(&self.client, "change the Job", &live.identity, fields).await?;
                let changed = self.put(changed);
                Ok(Done::Well(self.known(job, Some(changed))))
            }
            (Step::Delete, Some(live)) => {
                requests::delete::<Job>(&self.client, "delete the Job", &live.identity).await?;
                // What is cancelled keeps what is known of it; what is suspended begins anew.
                let left = if job.spec.cancel { found } else { self.known(job, None) };
                Ok(Done::Well(left))
            }
            (Step::Wait, Some(live)) => {
                let name = &live.identity.key.name;
                let text =
                    format!("the Kubernetes Job {name} is being deleted; a new one follows when it is gone");
                Ok(Done::Not(Found { job: None, ..found }, Obstacle::new(Reason::Terminating, text)))
            }
            (Step::Refuse, Some(live)) => Ok(Done::Not(Found::default(), foreign(&live))),
            (Step::Nothing | Step::Change(_) | Step::Delete | Step::Wait | Step::Refuse, _) => {
                Ok(Done::Well(found))
            }
        }
    }

    /// Makes the Job, if the resource and the name are still as they were when that was decided.
    async fn create(&self, job: &VmafxJob) -> Result<Done, ApiError> {
        let wanted = match render(job, &self.defaults) {
            Ok(wanted) => wanted,
            Err(error) => {
                let obstacle = Obstacle {
                    is_final: error.is_final(),
                    ..Obstacle::new(error.reason(), error.to_string())
                };
                return Ok(Done::Not(Found::default(), obstacle));
            }
        };
        let key = key(job);
        let api: Api<VmafxJob> = Api::namespaced(self.client.clone(), &key.namespace);
        let fresh = call("read the VmafxJob", api.get_opt(&job.name_any())).await?;
        let same = |now: &VmafxJob| {
            now.uid() == job.uid() && now.metadata.generation == job.metadata.generation && !is_final(now)
        };
        if !fresh.is_some_and(|now| now.metadata.deletion_timestamp.is_none() && same(&now)) {
            return Ok(Done::Left);
        }
        if let Some(live) = self.read(&key).await? {
            let found = self.known(job, Some(live.clone()));
            return match decide(job, Some(&live)) {
                Step::Refuse => Ok(Done::Not(Found::default(), foreign(&live))),
                // It was made before, or by another operator: the next pass goes on from there.
                _ => Ok(Done::Well(found)),
            };
        }
        match requests::create::<Job>(&self.client, "make the Job", &key, &body(wanted)).await {
            Ok(made) => {
                let made = self.put(made);
                Ok(Done::Well(self.known(job, Some(made))))
            }
            Err(error) if error.retry() == Retry::Slowly => {
                Ok(Done::Not(Found::default(), Obstacle::new(error.reason(), error.to_string())))
            }
            Err(error) => Err(error),
        }
    }

    /// What the caches know beside the Job.
    fn known(&self, job: &VmafxJob, live: Option<Arc<JobFacts>>) -> Found {
        let group = ObjectKey::new(job.namespace().unwrap_or_default(), label_value(&job.name_any()));
        let all = self.pods.of_group(&group).into_iter();
        let (pods, others): (Vec<_>, Vec<_>) =
            all.partition(|pod| live.as_ref().is_some_and(|live| pod.is_of(live)));
        Found { job: live, pods, leaving: others.iter().filter(|pod| !pod.is_over()).count() }
    }

    async fn read(&self, key: &ObjectKey) -> Result<Option<Arc<JobFacts>>, ApiError> {
        let live = requests::read::<Job>(&self.client, "read the Job", key).await?;
        Ok(live.map(|job| self.put(job)))
    }

    async fn list(&self, job: &VmafxJob) -> Result<Vec<Pod>, ApiError> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &job.namespace().unwrap_or_default());
        let labelled = ListParams::default().labels(&format!("{JOB_LABEL}={}", label_value(&job.name_any())));
        Ok(call("list the Pods of the Job", api.list(&labelled)).await?.items)
    }

    /// What the API server answered is at least as new as what a watch has told. One without our label is not watched,
    /// so nobody would tell of its end.
    fn put(&self, job: Job) -> Arc<JobFacts> {
        let watched = job.labels().contains_key(JOB_LABEL);
        let facts = JobFacts::from(job);
        if watched {
            self.jobs.put(facts.clone());
        }
        Arc::new(facts)
    }
}

fn key(job: &VmafxJob) -> ObjectKey {
    ObjectKey::new(job.namespace().unwrap_or_default(), job_name(&job.name_any()))
}

fn is_ours(job: &VmafxJob, live: &JobFacts) -> bool {
    live.controller.as_ref().is_some_and(|controller| Some(&controller.uid) == job.metadata.uid.as_ref())
}

fn foreign(live: &JobFacts) -> Obstacle {
    let whose = live.controller.as_ref().map_or_else(
        || "was not made by the operator".to_owned(),
        |controller| format!("belongs to {} {}", controller.kind, controller.name),
    );
    let name = &live.identity.key.name;
    let text =
        format!("the Kubernetes Job {name} {whose} and is left alone: delete it, or rename one of the two");
    Obstacle::new(Reason::ForeignOwner, text)
}

/// What is sent: nothing that is null.
fn body(wanted: Value) -> Map<String, Value> {
    match wanted {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
