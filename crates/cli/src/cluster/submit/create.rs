//! Creates jobs in the cluster. A job that exists and is the same is left alone.

use futures::{StreamExt as _, TryStreamExt as _};
use indicatif::ProgressBar;
use kube::api::PostParams;
use kube::core::{DynamicObject, Status};
use serde_json::Value;
use vmafx_api::VmafxJobSpec;

use super::plan::{PlannedJob, SubmissionPlan};
use crate::bars::{ALL, style};
use crate::cluster::connection::Cluster;
use crate::cluster::error::KubeError;
use crate::cluster::kind::ResourceKind;
use crate::cluster::{FIELD_MANAGER, MAX_CONCURRENT_CALLS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmitOutcome {
    Created,
    /// The same job existed before.
    Unchanged,
}

pub(super) struct SubmittedResource {
    pub(super) object: DynamicObject,
    pub(super) outcome: SubmitOutcome,
}

enum CreateResponse {
    Submitted(Box<SubmittedResource>),
    /// The API server rejected the job, with the message for the user.
    Rejected(String),
    /// Another job has this name, with the message for the user.
    Conflict(String),
}

/// Has the API server check all jobs in a dry run. All jobs that it rejects are reported together.
pub(super) async fn check(
    cluster: &Cluster,
    plan: &SubmissionPlan,
) -> Result<Vec<SubmittedResource>, KubeError> {
    let bar = bar(plan, "checked");
    let responses = futures::stream::iter(&plan.jobs)
        .map(|planned| create_one(cluster, planned, true))
        .buffered(MAX_CONCURRENT_CALLS)
        .inspect(|_| bar.inc(1))
        .try_collect::<Vec<_>>()
        .await;
    bar.finish_and_clear();
    let (mut submitted, mut rejected, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    for response in responses? {
        match response {
            CreateResponse::Submitted(job) => submitted.push(*job),
            CreateResponse::Rejected(message) => rejected.push(message),
            CreateResponse::Conflict(message) => conflicts.push(message),
        }
    }
    match (rejected.is_empty(), conflicts.is_empty()) {
        (false, _) => Err(plan.invalid(rejected)),
        (true, false) => Err(KubeError::Conflict(conflicts)),
        (true, true) => Ok(submitted),
    }
}

/// Creates all jobs, in order.
pub(super) async fn create(
    cluster: &Cluster,
    plan: &SubmissionPlan,
) -> Result<Vec<SubmittedResource>, KubeError> {
    let bar = bar(plan, "created");
    let mut responses = futures::stream::iter(&plan.jobs)
        .map(|planned| create_one(cluster, planned, false))
        .buffered(MAX_CONCURRENT_CALLS);
    let mut submitted = Vec::with_capacity(plan.jobs.len());
    loop {
        let error = match responses.try_next().await {
            Ok(None) => {
                bar.finish_and_clear();
                return Ok(submitted);
            }
            Ok(Some(CreateResponse::Submitted(job))) => {
                bar.inc(1);
                submitted.push(*job);
                continue;
            }
            Ok(Some(CreateResponse::Rejected(message))) => plan.invalid(vec![message]),
            Ok(Some(CreateResponse::Conflict(message))) => KubeError::Conflict(vec![message]),
            Err(error) => error,
        };
        bar.finish_and_clear();
        return Err(match submitted.len() {
            0 => error,
            created => KubeError::PartlySubmitted { created, all: plan.jobs.len(), source: Box::new(error) },
        });
    }
}

fn bar(plan: &SubmissionPlan, what: &'static str) -> ProgressBar {
    ProgressBar::new(plan.jobs.len() as u64).with_style(style(ALL)).with_message(what)
}

async fn create_one(
    cluster: &Cluster,
    planned: &PlannedJob,
    dry_run: bool,
) -> Result<CreateResponse, KubeError> {
    let api = cluster.objects(ResourceKind::Job);
    let params = PostParams { dry_run, field_manager: Some(FIELD_MANAGER.to_owned()) };
    let object = object(planned, Some(&cluster.namespace));
    let what = format!("create the job {}", planned.name());
    let request = async {
        Ok(match api.create(&params, &object).await {
            Ok(object) => Ok(object),
            Err(kube::Error::Api(status)) if concerns_job(&status) => Err(status),
            Err(error) => return Err(error),
        })
    };
    Ok(match cluster.call(&what, request).await? {
        Ok(object) => {
            CreateResponse::Submitted(Box::new(SubmittedResource { object, outcome: SubmitOutcome::Created }))
        }
        Err(status) if status.is_already_exists() => {
            let what = format!("read the job {}", planned.name());
            let existing = cluster.call(&what, api.get(planned.name())).await?;
            compare(planned, existing)
        }
        Err(status) => CreateResponse::Rejected(rejection(planned, &status)),
    })
}

/// Whether the API server rejected the job itself, rather than the user or the namespace.
fn concerns_job(status: &Status) -> bool {
    let not_namespace = status.details.as_ref().is_some_and(|details| details.kind != "namespaces");
    status.is_already_exists()
        || (not_namespace && matches!(status.code, 400 | 422))
        || (status.code == 403 && status.message.starts_with("admission webhook"))
}

/// The message of the API server, with the CSV column in place of the field.
fn rejection(planned: &PlannedJob, status: &Status) -> String {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let messages: Vec<String> = causes
        .map(|cause| match column_of(&cause.field) {
            Some(column) => format!("{}: {}", planned.location(Some(column)), cause.message),
            None => format!("{}: {} {}", planned.location(None), cause.field, cause.message),
        })
        .collect();
    if messages.is_empty() {
        format!("{}: {}", planned.location(None), status.message)
    } else {
        messages.join("\n  ")
    }
}

/// The CSV column of a field of the resource.
fn column_of(field: &str) -> Option<&'static str> {
    Some(match field {
        "spec.reference" => "reference",
        "spec.distorted" => "distorted",
        "spec.model" => "model",
        "spec.backend" => "backend",
        "spec.priority" => "priority",
        "spec.minScore" => "min_score",
        "spec.groundTruth" => "label",
        "spec.reportURI" => "report",
        "metadata.name" => "name",
        _ => return None,
    })
}

pub(super) fn object(planned: &PlannedJob, namespace: Option<&str>) -> DynamicObject {
    let resource = ResourceKind::Job.resource();
    let spec = serde_json::to_value(&planned.job.spec).unwrap_or_default();
    let mut object = DynamicObject::new(planned.name(), &resource).data(serde_json::json!({ "spec": spec }));
    object.metadata = planned.job.metadata.clone();
    object.metadata.namespace = namespace.map(str::to_owned);
    object
}

fn compare(planned: &PlannedJob, existing: DynamicObject) -> CreateResponse {
    let fields = differences(&planned.job.spec, &existing.data["spec"]);
    if fields.is_empty() {
        let outcome = SubmitOutcome::Unchanged;
        return CreateResponse::Submitted(Box::new(SubmittedResource { object: existing, outcome }));
    }
    let fields = fields.join(", ");
    CreateResponse::Conflict(format!("{}: {} differs in {fields}", planned.location(None), planned.name()))
}

/// The fields in which the desired job differs from the existing one. `suspend` and `cancel` do not count: the existing job
/// may have been suspended or cancelled since it was submitted.
fn differences(desired: &VmafxJobSpec, existing: &Value) -> Vec<String> {
    let Ok(existing) = serde_json::from_value::<VmafxJobSpec>(existing.clone()) else {
        return vec!["fields that this release does not know".to_owned()];
    };
    let desired = VmafxJobSpec { suspend: existing.suspend, cancel: existing.cancel, ..desired.clone() };
    let fields = |spec: &VmafxJobSpec| serde_json::to_value(spec).unwrap_or_default();
    let (desired, existing) = (fields(&desired), fields(&existing));
    let names =
        |spec: &Value| spec.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
    let mut all: Vec<String> = names(&desired);
    all.extend(names(&existing));
    all.sort_unstable();
    all.dedup();
    all.retain(|field| desired[field] != existing[field]);
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_and_a_later_suspension_are_not_differences() {
        let desired: VmafxJobSpec =
            serde_json::from_value(json!({ "reference": "s3://b/r", "distorted": "s3://b/d" })).unwrap();
        let existing = json!({ "reference": "s3://b/r", "distorted": "s3://b/d", "suspend": true, "cancel": true,
            "backend": "cpu", "backoffLimit": 3, "execution": "Queue", "priority": 0 });
        assert_eq!(differences(&desired, &existing), Vec::<String>::new());
        let mut other = existing.clone();
        other["priority"] = json!(4);
        other["minScore"] = json!(90);
        assert_eq!(differences(&desired, &other), ["minScore", "priority"]);
        other["backend"] = json!("quantum");
        assert_eq!(differences(&desired, &other), ["fields that this release does not know"]);
    }
}
