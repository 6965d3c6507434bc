//! Makes jobs in the cluster. What is there already and is the same is left alone.

use futures::{StreamExt as _, TryStreamExt as _};
use indicatif::ProgressBar;
use kube::api::PostParams;
use kube::core::{DynamicObject, Status};
use serde_json::Value;
use vmafx_api::VmafxJobSpec;

use super::plan::{Plan, Planned};
use super::row;
use crate::bars::{ALL, style};
use crate::cluster::kind::Kind;
use crate::cluster::reach::Cluster;
use crate::cluster::trouble::KubeError;
use crate::cluster::{AT_ONCE, FIELD_MANAGER};

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is new.
    Created,
    /// It was there, and is the same.
    Unchanged,
}

/// A job in the cluster.
pub(super) struct Made {
    pub(super) object: DynamicObject,
    pub(super) outcome: Outcome,
}

/// What the API server says to one.
enum Answer {
    Good(Box<Made>),
    /// It will not have it: why, for people.
    Refused(String),
    /// There is another of this name.
    Differs(String),
}

/// Has all of them checked by the API server, as if they were made. The first call that has no answer is an error; what
/// is refused is told together.
pub(super) async fn check(cluster: &Cluster, plan: &Plan) -> Result<Vec<Made>, KubeError> {
    let bar = bar(plan, "checked");
    let answers = futures::stream::iter(&plan.jobs)
        .map(|planned| make(cluster, planned, true))
        .buffered(AT_ONCE)
        .inspect(|_| bar.inc(1))
        .try_collect::<Vec<_>>()
        .await;
    bar.finish_and_clear();
    let (mut made, mut refused, mut differ) = (Vec::new(), Vec::new(), Vec::new());
    for answer in answers? {
        match answer {
            Answer::Good(one) => made.push(*one),
            Answer::Refused(why) => refused.push(why),
            Answer::Differs(how) => differ.push(how),
        }
    }
    match (refused.is_empty(), differ.is_empty()) {
        (false, _) => Err(plan.refused(refused)),
        (true, false) => Err(KubeError::Differ(differ)),
        (true, true) => Ok(made),
    }
}

/// Makes all of them, in order.
pub(super) async fn create(cluster: &Cluster, plan: &Plan) -> Result<Vec<Made>, KubeError> {
    let bar = bar(plan, "made");
    let mut answers =
        futures::stream::iter(&plan.jobs).map(|planned| make(cluster, planned, false)).buffered(AT_ONCE);
    let mut made = Vec::with_capacity(plan.jobs.len());
    loop {
        let error = match answers.try_next().await {
            Ok(None) => {
                bar.finish_and_clear();
                return Ok(made);
            }
            Ok(Some(Answer::Good(one))) => {
                bar.inc(1);
                made.push(*one);
                continue;
            }
            Ok(Some(Answer::Refused(why))) => plan.refused(vec![why]),
            Ok(Some(Answer::Differs(how))) => KubeError::Differ(vec![how]),
            Err(error) => error,
        };
        bar.finish_and_clear();
        return Err(match made.len() {
            0 => error,
            made => KubeError::Half { made, all: plan.jobs.len(), source: Box::new(error) },
        });
    }
}

fn bar(plan: &Plan, what: &'static str) -> ProgressBar {
    ProgressBar::new(plan.jobs.len() as u64).with_style(style(ALL)).with_message(what)
}

async fn make(cluster: &Cluster, planned: &Planned, dry_run: bool) -> Result<Answer, KubeError> {
    let api = cluster.objects(Kind::Job);
    let params = PostParams { dry_run, field_manager: Some(FIELD_MANAGER.to_owned()) };
    let object = object(planned, Some(&cluster.namespace));
    let what = format!("make the job {}", planned.name());
    let refused = async {
        Ok(match api.create(&params, &object).await {
            Ok(object) => Ok(object),
            Err(kube::Error::Api(status)) if is_about_it(&status) => Err(status),
            Err(error) => return Err(error),
        })
    };
    Ok(match cluster.call(&what, refused).await? {
        Ok(object) => Answer::Good(Box::new(Made { object, outcome: Outcome::Created })),
        Err(status) if status.is_already_exists() => {
            let what = format!("read the job {}", planned.name());
            let there = cluster.call(&what, api.get(planned.name())).await?;
            compare(planned, there)
        }
        Err(status) => Answer::Refused(words(planned, &status)),
    })
}

/// Whether the refusal is about the job itself, and not about who asks or where.
fn is_about_it(status: &Status) -> bool {
    let about_it = status.details.as_ref().is_some_and(|about| about.kind != "namespaces");
    status.is_already_exists()
        || (about_it && matches!(status.code, 400 | 422))
        // Of an admission webhook.
        || (status.code == 403 && status.message.starts_with("admission webhook"))
}

/// With the column in place of the field, where there is one.
fn words(planned: &Planned, status: &Status) -> String {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let said: Vec<String> = causes
        .map(|cause| match row::column(&cause.field) {
            Some(column) => format!("{}: {}", planned.place(Some(column)), cause.message),
            None => format!("{}: {} {}", planned.place(None), cause.field, cause.message),
        })
        .collect();
    if said.is_empty() { format!("{}: {}", planned.place(None), status.message) } else { said.join("\n  ") }
}

/// The job as it is sent.
pub(super) fn object(planned: &Planned, namespace: Option<&str>) -> DynamicObject {
    let resource = Kind::Job.resource();
    let spec = serde_json::to_value(&planned.job.spec).unwrap_or_default();
    let mut object = DynamicObject::new(planned.name(), &resource).data(serde_json::json!({ "spec": spec }));
    object.metadata = planned.job.metadata.clone();
    object.metadata.namespace = namespace.map(str::to_owned);
    object
}

fn compare(planned: &Planned, there: DynamicObject) -> Answer {
    let differ = differences(&planned.job.spec, &there.data["spec"]);
    if differ.is_empty() {
        return Answer::Good(Box::new(Made { object: there, outcome: Outcome::Unchanged }));
    }
    Answer::Differs(format!("{}: {} differs in {}", planned.place(None), planned.name(), differ.join(", ")))
}

/// The fields in which a job differs from the one that is there. Whether it was held back or given up since is nobody's
/// difference.
fn differences(wanted: &VmafxJobSpec, there: &Value) -> Vec<String> {
    let Ok(there) = serde_json::from_value::<VmafxJobSpec>(there.clone()) else {
        return vec!["what this command cannot read".to_owned()];
    };
    let wanted = VmafxJobSpec { suspend: there.suspend, cancel: there.cancel, ..wanted.clone() };
    let fields = |spec: &VmafxJobSpec| serde_json::to_value(spec).unwrap_or_default();
    let (wanted, there) = (fields(&wanted), fields(&there));
    let names =
        |spec: &Value| spec.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
    let mut all: Vec<String> = names(&wanted);
    all.extend(names(&there));
    all.sort_unstable();
    all.dedup();
    all.retain(|field| wanted[field] != there[field]);
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_the_same_with_its_defaults_and_after_it_was_held_back() {
        let wanted: VmafxJobSpec =
            serde_json::from_value(json!({ "reference": "s3://b/r", "distorted": "s3://b/d" })).unwrap();
        let there = json!({ "reference": "s3://b/r", "distorted": "s3://b/d", "suspend": true, "cancel": true,
            "backend": "cpu", "backoffLimit": 3, "execution": "Queue", "priority": 0 });
        assert_eq!(differences(&wanted, &there), Vec::<String>::new());
        let mut other = there.clone();
        other["priority"] = json!(4);
        other["minScore"] = json!(90);
        assert_eq!(differences(&wanted, &other), ["minScore", "priority"]);
        other["backend"] = json!("quantum");
        assert_eq!(differences(&wanted, &other), ["what this command cannot read"]);
    }
}
