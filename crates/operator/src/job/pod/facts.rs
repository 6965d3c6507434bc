//! What is kept of a Kubernetes Job and of its Pods.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;

use super::render::{PRIORITY, QUEUE};
use crate::key::ObjectKey;
use crate::reserved::{AGENT_CONTAINER, HELD, JOB_LABEL};
use crate::runtime::{Cached, ObjectIdentity};
use crate::workload::ControllerRef;

/// As much of a Kubernetes Job as decisions and status need.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent of each other, as they are in Kubernetes"
)]
pub struct JobFacts {
    /// Name, UID and version.
    pub identity: ObjectIdentity,
    /// Who controls it.
    pub controller: Option<ControllerRef>,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Whether the operator was the one who did that.
    pub held: bool,
    /// The queue that it is in, and its priority there.
    pub queue: [Option<String>; 2],
    /// How often it may be repeated.
    pub backoff_limit: Option<i32>,
    /// How long it may take, in seconds.
    pub deadline: Option<i64>,
    /// Pods that have failed.
    pub failed: i32,
    /// Pods that have not ended, or have just begun to.
    pub active: i32,
    /// Pods that have ended well.
    pub succeeded: i32,
    /// Whether it is settled how it ends, while its Pods are still on their way.
    pub ending: bool,
    /// How it ended.
    pub end: Option<End>,
}

/// How a Kubernetes Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Whether it reached its end.
    pub complete: bool,
    /// In Kubernetes' word.
    pub reason: String,
    /// In its sentence.
    pub message: String,
    /// When.
    pub at: Option<Timestamp>,
}

impl From<Job> for JobFacts {
    fn from(job: Job) -> Self {
        let (spec, status) = (job.spec.clone().unwrap_or_default(), job.status.clone().unwrap_or_default());
        let holds = |types: [&str; 2]| {
            let mut conditions = status.conditions.iter().flatten();
            conditions.find(|one| one.status == "True" && types.contains(&one.type_.as_str()))
        };
        let end = holds(["Complete", "Failed"]);
        Self {
            identity: ObjectIdentity::of(&job),
            controller: ControllerRef::of(&job.metadata),
            terminating: job.metadata.deletion_timestamp.is_some(),
            suspended: spec.suspend.unwrap_or_default(),
            held: job.annotations().get(HELD).is_some_and(|value| value == "true"),
            queue: [QUEUE, PRIORITY].map(|label| job.labels().get(label).cloned()),
            backoff_limit: spec.backoff_limit,
            deadline: spec.active_deadline_seconds,
            failed: status.failed.unwrap_or_default(),
            active: status.active.unwrap_or_default(),
            succeeded: status.succeeded.unwrap_or_default(),
            ending: holds(["SuccessCriteriaMet", "FailureTarget"]).is_some(),
            end: end.map(|condition| End {
                complete: condition.type_ == "Complete",
                reason: condition.reason.clone().unwrap_or_default(),
                message: condition.message.clone().unwrap_or_default(),
                at: condition.last_transition_time.as_ref().map(|time| time.0),
            }),
        }
    }
}

/// As much of a Pod as the status needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFacts {
    /// Name, UID and version.
    pub identity: ObjectIdentity,
    /// The Job that made it.
    pub controller: Option<ControllerRef>,
    /// The value of the label by which it is found.
    pub label: String,
    /// The name of the resource.
    pub resource: Option<String>,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// How far it is, in Kubernetes' word.
    pub phase: String,
    /// What became of the whole Pod, such as `Evicted`, with the sentence about it.
    pub trouble: Option<Word>,
    /// The Kubernetes node that it is on.
    pub node: Option<String>,
    /// Why no node takes it.
    pub unschedulable: Option<String>,
    /// Why Kubernetes takes it away.
    pub disrupted: Option<Word>,
    /// Why a container cannot begin.
    pub waits: Option<Word>,
    /// The container that scores.
    pub agent: Agent,
}

/// A word of Kubernetes with its sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// In CamelCase.
    pub reason: String,
    /// May be empty.
    pub message: String,
}

/// The container that scores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Agent {
    /// It has not begun.
    #[default]
    Waiting,
    /// It scores.
    Running {
        /// Since when.
        since: Option<Timestamp>,
    },
    /// It has ended.
    Ended(Box<Ended>),
}

/// How a container ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code.
    pub code: i32,
    /// Kubernetes' word, such as `OOMKilled`.
    pub reason: String,
    /// What it left as its result.
    pub message: String,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub finished: Option<Timestamp>,
}

impl PodFacts {
    /// Whether it is over, one way or the other.
    pub fn is_over(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether it is the Pod of a Job.
    pub fn is_of(&self, job: &JobFacts) -> bool {
        self.controller.as_ref().is_some_and(|controller| controller.uid == job.identity.uid)
    }
}

impl From<Pod> for PodFacts {
    fn from(pod: Pod) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let agent = status.container_statuses.iter().flatten().find(|one| one.name == AGENT_CONTAINER);
        let word = |type_: &str, wanted: &str| {
            let conditions = status.conditions.iter().flatten();
            let found = conditions.into_iter().find(|one| one.type_ == type_ && one.status == wanted)?;
            Some(Word {
                reason: found.reason.clone().unwrap_or_default(),
                message: found.message.clone().unwrap_or_default(),
            })
        };
        Self {
            identity: ObjectIdentity::of(&pod),
            controller: ControllerRef::of(&pod.metadata),
            label: pod.labels().get(JOB_LABEL).cloned().unwrap_or_default(),
            resource: pod.annotations().get(JOB_LABEL).cloned(),
            created: pod.metadata.creation_timestamp.as_ref().map(|time| time.0),
            terminating: pod.metadata.deletion_timestamp.is_some(),
            phase: status.phase.clone().unwrap_or_default(),
            trouble: status
                .reason
                .clone()
                .map(|reason| Word { reason, message: status.message.clone().unwrap_or_default() }),
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
            unschedulable: word("PodScheduled", "False")
                .filter(|word| word.reason == "Unschedulable")
                .map(|word| word.message),
            disrupted: word("DisruptionTarget", "True"),
            waits: waits(&status),
            agent: agent.map(self::agent).unwrap_or_default(),
        }
    }
}

/// The first container that waits for more than its turn.
fn waits(status: &PodStatus) -> Option<Word> {
    let inits = status.init_container_statuses.iter().flatten();
    let all = inits.chain(status.container_statuses.iter().flatten());
    let waiting = all.filter_map(|one| one.state.as_ref()?.waiting.as_ref());
    let words = waiting.map(|waiting| Word {
        reason: waiting.reason.clone().unwrap_or_default(),
        message: waiting.message.clone().unwrap_or_default(),
    });
    words
        .into_iter()
        .find(|word| !matches!(word.reason.as_str(), "" | "ContainerCreating" | "PodInitializing"))
}

fn agent(status: &ContainerStatus) -> Agent {
    let Some(state) = &status.state else { return Agent::Waiting };
    if let Some(ended) = &state.terminated {
        return Agent::Ended(Box::new(Ended {
            code: ended.exit_code,
            reason: ended.reason.clone().unwrap_or_default(),
            message: ended.message.clone().unwrap_or_default(),
            started: ended.started_at.as_ref().map(|time| time.0),
            finished: ended.finished_at.as_ref().map(|time| time.0),
        }));
    }
    match &state.running {
        Some(running) => Agent::Running { since: running.started_at.as_ref().map(|time| time.0) },
        None => Agent::Waiting,
    }
}

impl Cached for JobFacts {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }
}

impl Cached for PodFacts {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }

    fn group(&self) -> Option<ObjectKey> {
        Some(ObjectKey::new(self.identity.key.namespace.clone(), self.label.clone()))
    }
}
