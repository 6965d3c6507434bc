//! What is cached of Kubernetes Jobs and of their Pods: the fields that plan and status need.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;

use super::render::{PRIORITY, QUEUE};
use super::source::TemplateSource;
use crate::key::ObjectKey;
use crate::reserved::{AGENT_CONTAINER, HELD, JOB_LABEL};
use crate::runtime::{Cached, ObjectIdentity};
use crate::workload::ControllerRef;

#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, as they are in Kubernetes")]
pub struct BatchJobSnapshot {
    pub identity: ObjectIdentity,
    pub controller: Option<ControllerRef>,
    pub terminating: bool,
    pub suspended: bool,
    /// Whether it has the annotation by which the operator marks a Job that it suspended.
    pub held: bool,
    /// What the template was made from; `None` if that is not known.
    pub source: Option<TemplateSource>,
    /// The labels of Kueue: queue and priority class.
    pub queue: [Option<String>; 2],
    pub backoff_limit: Option<i32>,
    /// In seconds.
    pub deadline: Option<i64>,
    /// The number of failed Pods.
    pub failed: i32,
    /// The number of Pods that are pending or running.
    pub active: i32,
    /// The number of succeeded Pods.
    pub succeeded: i32,
    /// Whether Kubernetes has decided how the Job ends and waits for its Pods to terminate.
    pub ending: bool,
    pub end: Option<BatchJobEnd>,
}

/// The condition `Complete` or `Failed` of a Kubernetes Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchJobEnd {
    pub complete: bool,
    pub reason: String,
    pub message: String,
    pub at: Option<Timestamp>,
}

impl From<Job> for BatchJobSnapshot {
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
            source: TemplateSource::of_live(&job),
            queue: [QUEUE, PRIORITY].map(|label| job.labels().get(label).cloned()),
            backoff_limit: spec.backoff_limit,
            deadline: spec.active_deadline_seconds,
            failed: status.failed.unwrap_or_default(),
            active: status.active.unwrap_or_default(),
            succeeded: status.succeeded.unwrap_or_default(),
            ending: holds(["SuccessCriteriaMet", "FailureTarget"]).is_some(),
            end: end.map(|condition| BatchJobEnd {
                complete: condition.type_ == "Complete",
                reason: condition.reason.clone().unwrap_or_default(),
                message: condition.message.clone().unwrap_or_default(),
                at: condition.last_transition_time.as_ref().map(|time| time.0),
            }),
        }
    }
}

impl BatchJobSnapshot {
    /// Failed attempts of the Jobs before this one.
    pub fn failed_before(&self) -> i32 {
        self.source.as_ref().map_or(0, |source| source.failed_before)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSnapshot {
    pub identity: ObjectIdentity,
    pub controller: Option<ControllerRef>,
    /// The value of the label by which it is selected.
    pub label: String,
    /// The name of the VmafxJob.
    pub resource: Option<String>,
    pub created: Option<Timestamp>,
    pub terminating: bool,
    /// `status.phase`.
    pub phase: String,
    /// `status.reason` and `status.message`, such as `Evicted`.
    pub pod_reason: Option<KubernetesReason>,
    pub node: Option<String>,
    /// The scheduler's message, if no node fits.
    pub unschedulable: Option<String>,
    /// The condition `DisruptionTarget`: why Kubernetes terminates the Pod.
    pub disrupted: Option<KubernetesReason>,
    /// Why a container cannot start.
    pub blocked: Option<KubernetesReason>,
    pub agent: AgentState,
}

/// A reason of Kubernetes with its message, which may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubernetesReason {
    pub reason: String,
    pub message: String,
}

/// The state of the scoring container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AgentState {
    #[default]
    Waiting,
    Running {
        since: Option<Timestamp>,
    },
    Terminated(Box<TerminatedAgent>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminatedAgent {
    pub exit_code: i32,
    /// Such as `OOMKilled`.
    pub reason: String,
    /// The termination message: the result that the container wrote.
    pub message: String,
    pub started: Option<Timestamp>,
    pub finished: Option<Timestamp>,
}

impl PodSnapshot {
    /// Whether all its containers have terminated.
    pub fn is_over(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    pub fn is_of(&self, job: &BatchJobSnapshot) -> bool {
        self.controller.as_ref().is_some_and(|controller| controller.uid == job.identity.uid)
    }
}

impl From<Pod> for PodSnapshot {
    fn from(pod: Pod) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let agent = status.container_statuses.iter().flatten().find(|one| one.name == AGENT_CONTAINER);
        let condition = |type_: &str, status_: &str| {
            let conditions = status.conditions.iter().flatten();
            let found = conditions.into_iter().find(|one| one.type_ == type_ && one.status == status_)?;
            Some(KubernetesReason {
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
            pod_reason: status.reason.clone().map(|reason| KubernetesReason {
                reason,
                message: status.message.clone().unwrap_or_default(),
            }),
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
            unschedulable: condition("PodScheduled", "False")
                .filter(|one| one.reason == "Unschedulable")
                .map(|one| one.message),
            disrupted: condition("DisruptionTarget", "True"),
            blocked: blocked(&status),
            agent: agent.map(self::agent).unwrap_or_default(),
        }
    }
}

/// Why the first container that cannot start is waiting; a normal start is no reason.
fn blocked(status: &PodStatus) -> Option<KubernetesReason> {
    let inits = status.init_container_statuses.iter().flatten();
    let all = inits.chain(status.container_statuses.iter().flatten());
    let waiting = all.filter_map(|one| one.state.as_ref()?.waiting.as_ref());
    let reasons = waiting.map(|waiting| KubernetesReason {
        reason: waiting.reason.clone().unwrap_or_default(),
        message: waiting.message.clone().unwrap_or_default(),
    });
    reasons
        .into_iter()
        .find(|one| !matches!(one.reason.as_str(), "" | "ContainerCreating" | "PodInitializing"))
}

fn agent(status: &ContainerStatus) -> AgentState {
    let Some(state) = &status.state else { return AgentState::Waiting };
    if let Some(ended) = &state.terminated {
        return AgentState::Terminated(Box::new(TerminatedAgent {
            exit_code: ended.exit_code,
            reason: ended.reason.clone().unwrap_or_default(),
            message: ended.message.clone().unwrap_or_default(),
            started: ended.started_at.as_ref().map(|time| time.0),
            finished: ended.finished_at.as_ref().map(|time| time.0),
        }));
    }
    match &state.running {
        Some(running) => AgentState::Running { since: running.started_at.as_ref().map(|time| time.0) },
        None => AgentState::Waiting,
    }
}

impl Cached for BatchJobSnapshot {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }
}

impl Cached for PodSnapshot {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }

    fn group(&self) -> Option<ObjectKey> {
        Some(ObjectKey::new(self.identity.key.namespace.clone(), self.label.clone()))
    }
}
