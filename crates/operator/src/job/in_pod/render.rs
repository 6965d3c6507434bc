//! Renders the Kubernetes Job of a VmafxJob from the resource and the operator's settings. Pure.

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
use vmafx_job::{AddressDenied, DenialReason, InvalidRequest, RunResult, ScoringRoots};

use super::args::{RESULT_PATH, args, escaped};
use super::name::{job_name, label_value};
use super::source::TemplateSource;
use crate::node::render::GpuResources;
use crate::render::pod::{PLAIN_REGISTRIES, WorkerGuard};
use crate::render::{pod_defaults, scratch_limit, template};
use crate::reserved::{AGENT_CONTAINER, HELD, JOB_LABEL, SOURCE};
use crate::template_policy::{ForbiddenTemplate, PodRole, TemplatePolicy};
use crate::webhook::rules::job::vendor;
use crate::workload::ResourceOwner;

/// The label that puts a Job into a queue of Kueue.
pub const QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// The label with its priority class in that queue.
pub const PRIORITY: &str = "kueue.x-k8s.io/priority-class";

/// Replaced by the job's namespace in a scoring root.
pub const NAMESPACE_PLACEHOLDER: &str = "{namespace}";

/// The operator's settings for jobs that run in a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDefaults {
    /// The image, unless the template names one.
    pub image: Option<String>,
    /// The permitted locations of clips and reports; `{namespace}` is replaced by the namespace of the job.
    pub roots: ScoringRoots,
    pub gpus: GpuResources,
    /// Registries without TLS, separated by commas.
    pub plain_registries: String,
    pub guard: WorkerGuard,
    pub templates: TemplatePolicy,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RenderError {
    #[error(
        "no image: set it for the container {AGENT_CONTAINER} in spec.podTemplate, or VMAFX_OPERATOR_NODE_IMAGE on the operator"
    )]
    NoImage,
    #[error(
        "no location is permitted for jobs with execution: Pod: set VMAFX_OPERATOR_SCORING_ROOTS on the operator"
    )]
    NoRoots,
    #[error("spec.{field}: {}", denial(denied))]
    OutsideRoots { field: &'static str, denied: AddressDenied },
    #[error("no Kubernetes node offers the backend {0}: use execution: Queue and a node that does")]
    Backend(&'static str),
    #[error("spec.podTemplate: {0}")]
    Template(String),
    #[error(transparent)]
    Forbidden(#[from] ForbiddenTemplate),
    #[error("spec.{0}")]
    Request(InvalidRequest),
}

impl RenderError {
    pub fn reason(&self) -> Reason {
        match self {
            // The reason of a job that the controller refuses because of its own roots.
            Self::NoRoots | Self::OutsideRoots { .. } => Reason::InputRefused,
            Self::NoImage | Self::Backend(_) | Self::Template(_) => Reason::Invalid,
            Self::Forbidden(_) => Reason::PodTemplateForbidden,
            // The reason of a job that the controller rejects.
            Self::Request(_) => Reason::Rejected,
        }
    }

    /// Whether neither a change of the resource nor of the settings would help.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Backend(_) | Self::Request(_))
    }
}

fn denial(AddressDenied { address, reason }: &AddressDenied) -> String {
    match reason {
        DenialReason::InvalidAddress(problem) => format!("{address} cannot be used: {problem}"),
        DenialReason::NoRoots | DenialReason::OutsideRoots => format!(
            "{address} is outside the scoring roots of jobs with execution: Pod in this namespace: use an address \
             inside them, or have its location added (VMAFX_OPERATOR_SCORING_ROOTS on the operator)"
        ),
    }
}

/// The Job as it is sent, untyped: the template may have fields that are newer than our types. `failed_before` attempts
/// have failed in Jobs that this one replaces.
pub fn render(job: &VmafxJob, defaults: &JobDefaults, failed_before: i32) -> Result<Value, RenderError> {
    let (spec, queued) = (&job.spec, queue(job).is_some());
    spec.check_request().map_err(RenderError::Request)?;
    inside_roots(job, &defaults.roots)?;
    let template = pod_template(job, defaults)?;
    // A queue decides when its Jobs start.
    let held = spec.suspend && !queued;
    let rendered = Job {
        metadata: ObjectMeta {
            name: Some(job_name(&job.name_any())),
            namespace: job.namespace(),
            labels: Some(labels(job).into_iter().chain(queue_labels(job)).collect()),
            annotations: Some(annotations(job, held, failed_before)),
            owner_references: Some(vec![ResourceOwner::of(job).reference()]),
            ..ObjectMeta::default()
        },
        spec: Some(JobSpec {
            suspend: Some(held || queued),
            backoff_limit: Some(retries_left(job, failed_before)),
            active_deadline_seconds: spec.active_deadline_seconds,
            pod_failure_policy: Some(failure_policy()),
            ..JobSpec::default()
        }),
        status: None,
    };
    let mut rendered =
        serde_json::to_value(rendered).map_err(|error| RenderError::Template(error.to_string()))?;
    rendered["spec"]["template"] = template;
    Ok(rendered)
}

/// The retries of a Job that replaces others whose attempts count.
pub fn retries_left(job: &VmafxJob, failed_before: i32) -> i32 {
    job.spec.backoff_limit.saturating_sub(failed_before).max(0)
}

/// Checks the texts of the addresses, as the controller does. A Pod checks again what they lead to.
fn inside_roots(job: &VmafxJob, roots: &ScoringRoots) -> Result<(), RenderError> {
    if roots.is_empty() {
        return Err(RenderError::NoRoots);
    }
    let (spec, namespace) = (&job.spec, job.namespace().unwrap_or_default());
    let clips = [("reference", &spec.reference), ("distorted", &spec.distorted)];
    let report = spec.report_uri.iter().map(|uri| ("reportURI", uri));
    for (field, address) in clips.into_iter().chain(report) {
        let checked = roots.check_address(&namespace, address);
        checked.map_err(|denied| RenderError::OutsideRoots { field, denied })?;
    }
    Ok(())
}

fn annotations(job: &VmafxJob, held: bool, failed_before: i32) -> BTreeMap<String, String> {
    let held = held.then(|| (HELD.to_owned(), "true".to_owned()));
    let source = TemplateSource::of(job, failed_before).annotation();
    held.into_iter().chain([(SOURCE.to_owned(), source)]).collect()
}

/// The Kueue queue that the labels of the resource name.
pub fn queue(job: &VmafxJob) -> Option<&str> {
    job.labels().get(QUEUE).map(String::as_str).filter(|name| !name.is_empty())
}

/// The labels of the resource that Kueue reads on a Job.
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

/// A permanent failure is not retried, and a Pod that Kubernetes disrupted does not count as an attempt.
fn failure_policy() -> PodFailurePolicy {
    let permanent = [RunResult::EXIT_FINAL, RunResult::EXIT_USAGE].map(i32::from);
    PodFailurePolicy {
        rules: vec![
            PodFailurePolicyRule {
                action: "FailJob".to_owned(),
                on_exit_codes: Some(PodFailurePolicyOnExitCodesRequirement {
                    container_name: Some(AGENT_CONTAINER.to_owned()),
                    operator: "In".to_owned(),
                    values: permanent.to_vec(),
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

/// Our template with the user's merged over it. The labels that select its Pods, `restartPolicy: Never`, the missing token
/// for the API server and the scoring roots always stay ours.
fn pod_template(job: &VmafxJob, defaults: &JobDefaults) -> Result<Value, RenderError> {
    let policy = &defaults.templates;
    policy.check(&job.namespace().unwrap_or_default(), PodRole::Job, job.spec.pod_template.as_ref(), None)?;
    let environment = environment(job, defaults);
    let rendered = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels(job)), ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            containers: vec![agent(job, defaults, environment.clone())?],
            service_account_name: Some(policy.account(PodRole::Job).to_owned()),
            // A scoring Pod makes no calls to the API server.
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
            "automountServiceAccountToken": false,
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
    env.extend(defaults.guard.environment());
    let vendor = vendor(job.spec.backend).ok_or(RenderError::Backend(job.spec.backend.name()))?;
    Ok(Container {
        name: AGENT_CONTAINER.to_owned(),
        image: defaults.image.clone(),
        args: Some(args(&job.spec)),
        env: Some(env),
        resources: pod_defaults::with_gpu(None, defaults.gpus.of(vendor)),
        security_context: Some(pod_defaults::container_security()),
        termination_message_path: Some(RESULT_PATH.to_owned()),
        termination_message_policy: Some("File".to_owned()),
        volume_mounts: Some(vec![pod_defaults::scratch_mount()]),
        ..Container::default()
    })
}

fn environment(job: &VmafxJob, defaults: &JobDefaults) -> Vec<EnvVar> {
    let roots = defaults.roots.expand(&job.namespace().unwrap_or_default());
    let roots = roots.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    vec![
        pod_defaults::variable("VMAFX_BACKEND", job.spec.backend.name()),
        pod_defaults::variable("VMAFX_SCORING_ROOTS", escaped(&roots)),
    ]
}

#[cfg(test)]
mod tests;
