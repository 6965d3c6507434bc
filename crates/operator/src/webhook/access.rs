//! Whether the author of a resource may do what the operator does for it: create Pods, and read the Secrets that
//! the spec names.
//!
//! In Kubernetes, whoever may create Pods in a namespace may run them as any of its ServiceAccounts. So no right to an
//! account is asked for. Pods may mount any Secret, too; but unlike a Pod, the resource may be open to people who must not
//! see them, so each Secret is asked for.
//!
//! An update is reviewed if it changes what runs. Then all Secrets are, because another image or command may show what an
//! unchanged reference mounts.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::core::DynamicObject;
use kube::{Api, Client};
use serde_json::Value;
use vmafx_kit::causes::chain;

use super::rules::{FieldPath, ReviewedKind};
use crate::template_policy::{SecretReference, secrets};

/// Less than the API server waits for the webhook.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Secrets that one spec may name.
const MAX_SECRETS: usize = 32;

const MAX_CONCURRENT_REVIEWS: usize = 8;

/// Fields that do not change what runs, only how much of it or when.
const HARMLESS: [&str; 11] = [
    "activeDeadlineSeconds",
    "backoffLimit",
    "cancel",
    "groundTruth",
    "minReadySeconds",
    "minScore",
    "paused",
    "priority",
    "replicas",
    "suspend",
    "ttlSecondsAfterFinished",
];

/// What the author of a resource must be permitted to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeededAccess {
    /// Secrets to read, each with the first field that names it.
    pub secrets: BTreeMap<String, FieldPath>,
}

/// `None` if the change makes nothing run.
pub fn needed(kind: ReviewedKind, old: Option<&DynamicObject>, new: &DynamicObject) -> Option<NeededAccess> {
    let spec = &new.data["spec"];
    kind.pods(spec)?;
    let is_deleted = old.is_some() && new.metadata.deletion_timestamp.is_some();
    let is_same = old.is_some_and(|old| what_runs(&old.data["spec"]) == what_runs(spec));
    if is_deleted || is_same {
        return None;
    }
    let path = FieldPath::spec();
    let template = secrets(&path.field("podTemplate").field("spec"), &spec["podTemplate"]["spec"]);
    let registry = spec["registrySecret"]
        .as_str()
        .map(|name| SecretReference { field: path.field("registrySecret"), name: Some(name.to_owned()) });
    let mut access = NeededAccess::default();
    for SecretReference { field, name } in template.into_iter().chain(registry) {
        if let Some(name) = name {
            access.secrets.entry(name).or_insert(field);
        }
    }
    Some(access)
}

fn what_runs(spec: &Value) -> BTreeMap<&String, &Value> {
    let fields = spec.as_object().into_iter().flatten();
    fields.filter(|(field, _)| !HARMLESS.contains(&field.as_str())).collect()
}

/// The answer to a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessDecision {
    Permitted,
    /// What the author may not do, in a sentence.
    Denied(String),
    /// The API server did not answer; why.
    Unknown(String),
}

/// Asks the API server about permissions.
#[derive(Clone)]
pub struct AccessReviewer(Client);

/// One permission to ask for.
struct Question {
    verb: &'static str,
    resource: &'static str,
    name: Option<String>,
    /// The sentence for the author who lacks it.
    denial: String,
}

impl AccessReviewer {
    /// `client` must not be gated by leadership.
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    pub async fn review(&self, user: &UserInfo, namespace: &str, needed: &NeededAccess) -> AccessDecision {
        let NeededAccess { secrets } = needed;
        if secrets.len() > MAX_SECRETS {
            let count = secrets.len();
            return AccessDecision::Denied(format!(
                "it names {count} Secrets, but at most {MAX_SECRETS} are permitted"
            ));
        }
        let who = user.username.as_deref().unwrap_or("system:anonymous");
        let pods = Question {
            verb: "create",
            resource: "pods",
            name: None,
            denial: format!(
                "the operator runs Pods for it, and {who:?} may not create Pods in the namespace {namespace}: ask for a role \
                 that permits to create pods there"
            ),
        };
        let secrets = secrets.iter().map(|(name, field)| Question {
            verb: "get",
            resource: "secrets",
            name: Some(name.clone()),
            denial: format!(
                "{field} names the Secret {name}, and {who:?} may not get Secrets of that name in the namespace {namespace}: \
                 remove it, or ask for a role that permits to get it"
            ),
        });
        let questions: Vec<_> = std::iter::once(pods).chain(secrets).collect();
        let answers = stream::iter(questions)
            .map(|question| async move {
                let allowed = self.ask(user, namespace, &question).await?;
                Ok::<_, kube::Error>((!allowed).then_some(question.denial))
            })
            .buffered(MAX_CONCURRENT_REVIEWS)
            .try_collect::<Vec<_>>();
        let problem = match tokio::time::timeout(TIMEOUT, answers).await {
            Ok(Ok(denials)) => {
                let denials: Vec<_> = denials.into_iter().flatten().collect();
                return if denials.is_empty() {
                    AccessDecision::Permitted
                } else {
                    AccessDecision::Denied(denials.join("; "))
                };
            }
            Ok(Err(error)) => chain(&error),
            Err(_) => format!("no answer within {TIMEOUT:?}"),
        };
        AccessDecision::Unknown(format!(
            "the operator cannot find out what {who:?} may do in the namespace {namespace}: {problem}"
        ))
    }

    async fn ask(&self, user: &UserInfo, namespace: &str, question: &Question) -> kube::Result<bool> {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username.clone(),
                groups: user.groups.clone(),
                uid: user.uid.clone(),
                extra: user.extra.clone(),
                resource_attributes: Some(ResourceAttributes {
                    namespace: Some(namespace.to_owned()),
                    verb: Some(question.verb.to_owned()),
                    resource: Some(question.resource.to_owned()),
                    version: Some("v1".to_owned()),
                    name: question.name.clone(),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let api: Api<SubjectAccessReview> = Api::all(self.0.clone());
        let answer = api.create(&PostParams::default(), &review).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::webhook::rules::ReviewedKind::{Job, Node, Training};

    fn object(spec: &Value) -> DynamicObject {
        let whole =
            json!({ "apiVersion": "vmafx.dev/v1", "kind": "X", "metadata": { "name": "a" }, "spec": spec });
        serde_json::from_value(whole).unwrap()
    }

    #[rstest]
    #[case::node(Node, json!({ "gpuVendor": "cpu" }), true)]
    #[case::external(Node, json!({ "managementPolicy": "External" }), false)]
    #[case::training(Training, json!({}), true)]
    #[case::queue(Job, json!({ "reference": "s3://a/b" }), false)]
    #[case::pod(Job, json!({ "execution": "Pod" }), true)]
    fn resources_with_pods_are_reviewed(
        #[case] kind: ReviewedKind,
        #[case] spec: Value,
        #[case] reviewed: bool,
    ) {
        assert_eq!(needed(kind, None, &object(&spec)).is_some(), reviewed);
    }

    #[rstest]
    #[case::replicas(json!({ "replicas": 3 }), false)]
    #[case::paused(json!({ "paused": true }), false)]
    #[case::image(json!({ "image": "other:1" }), true)]
    #[case::capacity(json!({ "capacity": 2 }), true)]
    #[case::template(json!({ "podTemplate": { "metadata": {} } }), true)]
    #[case::from_external(json!({ "managementPolicy": "Managed" }), true)]
    fn an_update_is_reviewed_if_it_changes_what_runs(#[case] over: Value, #[case] reviewed: bool) {
        let old = json!({ "gpuVendor": "cpu", "replicas": 1 });
        let mut new = old.clone();
        new.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
        assert_eq!(needed(Node, Some(&object(&old)), &object(&new)).is_some(), reviewed);
    }

    #[test]
    fn a_resource_that_is_being_deleted_is_not_reviewed() {
        let mut new = object(&json!({ "image": "other:1" }));
        new.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert_eq!(needed(Node, Some(&object(&json!({}))), &new), None);
    }

    #[test]
    fn every_secret_is_asked_for_once_with_the_first_field_that_names_it() {
        let spec = json!({ "registrySecret": "registry", "podTemplate": { "spec": {
            "containers": [{ "name": "trainer", "envFrom": [{ "secretRef": { "name": "s3" } }] }],
            "volumes": [{ "name": "v", "secret": { "secretName": "s3" } }],
        } } });
        let access = needed(Training, None, &object(&spec)).unwrap();
        let fields: Vec<_> =
            access.secrets.iter().map(|(name, field)| (name.as_str(), field.to_string())).collect();
        let of_template = "spec.podTemplate.spec.containers[0].envFrom[0].secretRef".to_owned();
        assert_eq!(fields, [("registry", "spec.registrySecret".to_owned()), ("s3", of_template)]);
    }
}
