//! The Kubernetes Job of a VmafxJob. Pure: the resource and the operator's settings go in, an object comes out.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::{
    Job, JobSpec, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern, PodFailurePolicyRule,
};
use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;
use vmafx_job::RunResult;

use super::args::{RESULT, args, literal};
use super::name::{job_name, label_value};
use crate::node::render::GpuResources;
use crate::render::pod::PLAIN_REGISTRIES;
use crate::render::{pod_defaults, scratch_limit, template};
use crate::reserved::{AGENT_CONTAINER, HELD, JOB_LABEL};
use crate::webhook::rules::job::vendor;
use crate::workload::ResourceOwner;

/// The label by which a Job is handed to a queue of Kueue, and the one with its priority there.
pub const QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// See [`QUEUE`].
pub const PRIORITY: &str = "kueue.x-k8s.io/priority-class";

/// Stands for the job's namespace in a scoring root.
const NAMESPACE: &str = "{namespace}";

/// What the operator's settings say about jobs that have a Pod of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDefaults {
    /// The image, unless the template names one.
    pub image: Option<String>,
    /// Where clips and reports may lie; `{namespace}` stands for the namespace of the job.
    pub roots: Vec<String>,
    /// The extended resource of each vendor's GPUs.
    pub gpus: GpuResources,
    /// Registries without TLS, separated by commas.
    pub plain_registries: String,
}

/// Why no Job can be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RenderError {
    /// No image.
    #[error(
        "no image: set it for the container {AGENT_CONTAINER} in spec.podTemplate, or VMAFX_OPERATOR_NODE_IMAGE on the operator"
    )]
    NoImage,
    /// Nothing may be read.
    #[error(
        "nothing may be read by jobs in Pods of their own: set VMAFX_OPERATOR_SCORING_ROOTS on the operator"
    )]
    NoRoots,
    /// No Kubernetes node computes with it.
    #[error("no Kubernetes node offers the backend {0}: use execution: Queue and a node that does")]
    Backend(&'static str),
    /// The template makes no Pod.
    #[error("spec.podTemplate: {0}")]
    Template(String),
}

impl RenderError {
    /// The word for the condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::NoRoots => Reason::InputRefused,
            Self::NoImage | Self::Backend(_) | Self::Template(_) => Reason::Invalid,
        }
    }

    /// Whether nothing that anybody can change would help.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Backend(_))
    }
}

/// Makes the Job, as it is sent: parts of the template may be newer than the types here.
pub fn render(job: &VmafxJob, defaults: &JobDefaults) -> Result<Value, RenderError> {
    let (spec, queued) = (&job.spec, queue(job).is_some());
    let template = pod_template(job, defaults)?;
    // Whoever runs the queue decides when the Job begins.
    let held = spec.suspend && !queued;
    let made = Job {
        metadata: ObjectMeta {
            name: Some(job_name(&job.name_any())),
            namespace: job.namespace(),
            labels: Some(labels(job).into_iter().chain(queue_labels(job)).collect()),
            annotations: held.then(|| [(HELD.to_owned(), "true".to_owned())].into()),
            owner_references: Some(vec![ResourceOwner::of(job).reference()]),
            ..ObjectMeta::default()
        },
        spec: Some(JobSpec {
            suspend: Some(held || queued),
            backoff_limit: Some(spec.backoff_limit),
            active_deadline_seconds: spec.active_deadline_seconds,
            pod_failure_policy: Some(failure_policy()),
            ..JobSpec::default()
        }),
        status: None,
    };
    let mut made = serde_json::to_value(made).map_err(|error| RenderError::Template(error.to_string()))?;
    made["spec"]["template"] = template;
    Ok(made)
}

/// The queue of Kueue that the resource names.
pub fn queue(job: &VmafxJob) -> Option<&str> {
    job.labels().get(QUEUE).map(String::as_str).filter(|name| !name.is_empty())
}

/// What of the resource's labels Kueue reads on a Job.
pub fn queue_labels(job: &VmafxJob) -> BTreeMap<String, String> {
    let labels = job
        .labels()
        .iter()
        .filter(|(key, _)| queue(job).is_some() && [QUEUE, PRIORITY].contains(&key.as_str()));
    labels.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn labels(job: &VmafxJob) -> BTreeMap<String, String> {
    let all = [
        (JOB_LABEL, label_value(&job.name_any())),
        ("app.kubernetes.io/name", "vmafx-node".to_owned()),
        ("app.kubernetes.io/component", "job".to_owned()),
        ("app.kubernetes.io/part-of", "vmafx".to_owned()),
        ("app.kubernetes.io/managed-by", crate::FIELD_MANAGER.to_owned()),
    ];
    all.map(|(key, value)| (key.to_owned(), value)).into()
}

/// What is at fault itself is not tried again; what was taken off its machine by Kubernetes has not been tried.
fn failure_policy() -> PodFailurePolicy {
    let own_fault = [RunResult::EXIT_FINAL, RunResult::EXIT_USAGE].map(i32::from);
    PodFailurePolicy {
        rules: vec![
            PodFailurePolicyRule {
                action: "FailJob".to_owned(),
                on_exit_codes: Some(PodFailurePolicyOnExitCodesRequirement {
                    container_name: Some(AGENT_CONTAINER.to_owned()),
                    operator: "In".to_owned(),
                    values: own_fault.to_vec(),
                }),
                ..PodFailurePolicyRule::default()
            },
            PodFailurePolicyRule {
                action: "Ignore".to_owned(),
                on_pod_conditions: Some(vec![PodFailurePolicyOnPodConditionsPattern {
                    type_: "DisruptionTarget".to_owned(),
                    status: Some("True".to_owned()),
                }]),
                ..PodFailurePolicyRule::default()
            },
        ],
    }
}

/// The template that we make with the user's parts merged over it. How its Pods are found, that they end, and what they
/// may read is ours whatever those say.
fn pod_template(job: &VmafxJob, defaults: &JobDefaults) -> Result<Value, RenderError> {
    let environment = environment(job, defaults)?;
    let rendered = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels(job)), ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            containers: vec![agent(job, defaults, environment.clone())?],
            // A token for the API server is nothing that a scoring Pod needs.
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            security_context: Some(pod_defaults::pod_security()),
            volumes: Some(vec![pod_defaults::scratch()]),
            ..PodSpec::default()
        }),
    };
    let ours = json!({
        "metadata": {
            "labels": { JOB_LABEL: label_value(&job.name_any()) },
            "annotations": { JOB_LABEL: job.name_any() },
        },
        "spec": {
            "restartPolicy": "Never",
            "containers": [{ "name": AGENT_CONTAINER, "env": environment }],
        },
    });
    let merged = template::merged(&rendered, job.spec.pod_template.as_ref(), &ours);
    let mut template = merged.map_err(RenderError::Template)?;
    scratch_limit::limit_agent(&mut template);
    let containers = template["spec"]["containers"].as_array().into_iter().flatten();
    let agent = containers.into_iter().find(|container| container["name"] == AGENT_CONTAINER);
    agent.filter(|agent| agent["image"].is_string()).ok_or(RenderError::NoImage)?;
    Ok(template)
}

fn agent(job: &VmafxJob, defaults: &JobDefaults, mut env: Vec<EnvVar>) -> Result<Container, RenderError> {
    if !defaults.plain_registries.is_empty() {
        env.push(pod_defaults::variable(PLAIN_REGISTRIES, &defaults.plain_registries));
    }
    let vendor = vendor(job.spec.backend).ok_or(RenderError::Backend(job.spec.backend.name()))?;
    Ok(Container {
        name: AGENT_CONTAINER.to_owned(),
        image: defaults.image.clone(),
        args: Some(args(&job.spec)),
        env: Some(env),
        resources: pod_defaults::with_gpu(None, defaults.gpus.of(vendor)),
        security_context: Some(pod_defaults::container_security()),
        termination_message_path: Some(RESULT.to_owned()),
        termination_message_policy: Some("File".to_owned()),
        volume_mounts: Some(vec![pod_defaults::scratch_mount()]),
        ..Container::default()
    })
}

fn environment(job: &VmafxJob, defaults: &JobDefaults) -> Result<Vec<EnvVar>, RenderError> {
    if defaults.roots.is_empty() {
        return Err(RenderError::NoRoots);
    }
    let roots = defaults.roots.join(",").replace(NAMESPACE, &job.namespace().unwrap_or_default());
    Ok(vec![
        pod_defaults::variable("VMAFX_BACKEND", job.spec.backend.name()),
        pod_defaults::variable("VMAFX_SCORING_ROOTS", literal(&roots)),
    ])
}

#[cfg(test)]
mod tests;
