//! `VmafxJob`: one pair of clips to score.

mod status;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vmafx_job::InvalidRequest;
use vmafx_job::limits::DEFAULT_BACKOFF_LIMIT;
pub use vmafx_job::{
    Backend, BitDepth, Feature, LengthMismatch, ModelUsed, PixelFormat, PooledScores, RawVideo, ScaleTo,
    ScoringOptions, ScoringRequest,
};

pub use self::status::{Phase, VmafxJobStatus};
use crate::pod_template::PartialPodTemplate;
use crate::rules;

const NEW_JOB: &str = "create a new VmafxJob instead";

/// What to score and how.
#[derive(Clone, Debug, PartialEq, CustomResource, KubeSchema, Serialize, Deserialize)]
#[kube(
    group = "vmafx.dev",
    version = "v1",
    kind = "VmafxJob",
    plural = "vmafxjobs",
    namespaced,
    shortname = "vmjob",
    category = "vmafx",
    status = "VmafxJobStatus",
    derive = "PartialEq",
    doc = "One reference clip and one distorted clip to be compared; the VMAF score is written to status.score.",
    selectable = ".spec.backend",
    selectable = ".status.phase",
    selectable = ".status.assignedNode",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Score", type_ = "number", json_path = ".status.score"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.assignedNode"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Passed", type_ = "boolean", json_path = ".status.passed", priority = "1"),
    printcolumn(name = "Model", type_ = "string", json_path = ".status.model.name", priority = "1"),
    printcolumn(name = "Backend", type_ = "string", json_path = ".spec.backend", priority = "1"),
    printcolumn(name = "Priority", type_ = "integer", json_path = ".spec.priority", priority = "1"),
    printcolumn(name = "Attempts", type_ = "integer", json_path = ".status.attempts", priority = "1"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = "1")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = rules::immutable("reference", NEW_JOB),
    validation = rules::immutable("distorted", NEW_JOB),
    validation = rules::immutable("model", NEW_JOB),
    validation = rules::immutable("backend", NEW_JOB),
    validation = rules::immutable("execution", NEW_JOB),
    validation = Rule::new("!has(self.podTemplate) || self.execution == 'Pod'")
        .message("is only used with execution: Pod; remove it or set execution to Pod")
        .field_path(".podTemplate")
        .reason(Reason::FieldValueForbidden),
)]
pub struct VmafxJobSpec {
    /// URI of the reference clip, the one that counts as perfect: file://, http(s)://, s3://, gs://, azure://, or any
    /// other scheme that rclone knows. It must be inside the scoring roots of the controller.
    #[schemars(length(min = 1, max = 4096))]
    #[x_kube(validation = rules::uri())]
    pub reference: String,

    /// URI of the distorted clip, the one that is scored against the reference.
    #[schemars(length(min = 1, max = 4096))]
    #[x_kube(validation = rules::uri())]
    pub distorted: String,

    /// VMAF model: the name of a built-in one such as vmaf_v0.6.1, a file in the node's model directory, or
    /// oci://registry/repository:tag (or @sha256:…) as the trainer pushes them. `auto` picks by picture height and
    /// frame rate. Left out, the node's default is used; status.model says which one that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub model: Option<String>,

    /// Compute backend that the scoring node must offer.
    #[serde(default)]
    pub backend: Backend,

    /// Each step of priority is a head start of a minute: a job goes before one of the next lower priority that was submitted up
    /// to a minute earlier, and after older ones.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub priority: i32,

    /// Suspend the job. A waiting job leaves the queue, and a running one is stopped and frees its node. Set to false, the
    /// job starts again from the first frame.
    #[serde(default)]
    pub suspend: bool,

    /// Cancel the job. The resource and its history stay. This cannot be undone.
    #[serde(default)]
    #[x_kube(validation = Rule::new("self || !oldSelf")
        .message("a cancelled job cannot be revived: create a new VmafxJob instead")
        .reason(Reason::FieldValueForbidden))]
    pub cancel: bool,

    /// Where the scoring runs: Queue submits the job to the vmafx-controller and its nodes; Pod runs it in a Kubernetes
    /// Job of its own.
    #[serde(default)]
    pub execution: Execution,

    /// How often the job is retried after an attempt was lost with its node, or failed through no fault of the job. 0 =
    /// never.
    #[serde(default = "defaults::backoff_limit")]
    #[schemars(range(min = 0, max = 100))]
    pub backoff_limit: i32,

    /// Seconds that the job may take, waiting included, counted from its acceptance; then it fails with reason
    /// DeadlineExceeded. Suspending stops the clock and resuming starts it anew, as with Kubernetes Jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub active_deadline_seconds: Option<i64>,

    /// Seconds after the end of the job until the resource is deleted, counted by the operator's clock from when it recorded
    /// the end. 0 = at once; left out = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,

    /// Geometry of headerless YUV files; ignored for files with a header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RawVideo>,

    /// How frames are chosen, paired and compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scoring: Option<ScoringOptions>,

    /// The lowest score with which the clip passes: status.passed says whether status.score reached it. For use as a
    /// quality gate in a pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub min_score: Option<f64>,

    /// The quality that viewers gave the distorted clip, from 0 (unwatchable) to 100 (as good as the reference).
    /// A job that has a score and a ground truth becomes a training sample of the VmafxModelTraining resources. A mean
    /// opinion score from 1 to 5 is written as (MOS − 1) · 25. It may be set or changed at any time, also after the job
    /// has succeeded: each value makes a sample, of which the last one counts. Removing the value removes no sample.
    /// Jobs with execution: Pod do not become samples, because they do not pass through the controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub ground_truth: Option<f64>,

    /// URI to which the per-frame report is written, in the format of its extension: .json, .csv, .html or .xml; JSON
    /// without an extension.
    #[serde(rename = "reportURI", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    #[x_kube(validation = rules::uri())]
    pub report_uri: Option<String>,

    /// Whether the report may overwrite what is at reportURI. By default a job whose report exists already fails, before it
    /// is scored where that can be told; a report with the same bytes is left as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite_report: bool,

    /// Parts of a Pod template, merged by name over the one that runs the job; only with execution: Pod. For volumes,
    /// credentials from Secrets, node selectors, sidecars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template: Option<PartialPodTemplate>,
}

mod defaults {
    use super::DEFAULT_BACKOFF_LIMIT;

    pub(super) fn backoff_limit() -> i32 {
        DEFAULT_BACKOFF_LIMIT.cast_signed()
    }
}

impl VmafxJobSpec {
    /// The scoring request, for both values of `execution`.
    pub fn scoring_request(&self) -> ScoringRequest {
        ScoringRequest {
            reference: self.reference.clone(),
            distorted: self.distorted.clone(),
            model: self.model.clone().filter(|model| !model.is_empty()),
            backend: Some(self.backend),
            input: self.input,
            options: self.scoring.clone().unwrap_or_default(),
            report_uri: self.report_uri.clone(),
            overwrite_report: self.overwrite_report,
        }
    }

    /// Checks what the schema does not, such as the format of the report. An error names the field of this spec.
    pub fn check_request(&self) -> Result<(), InvalidRequest> {
        self.scoring_request().check().map_err(|error| match error.field.as_str() {
            "report_uri" => InvalidRequest::new("reportURI", error.problem),
            "features" => InvalidRequest::new("scoring.features", error.problem),
            _ => error,
        })
    }
}

/// Where a job runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub enum Execution {
    /// On a node of the controller's registry, by priority.
    #[default]
    Queue,
    /// In a Kubernetes Job of its own.
    Pod,
}
