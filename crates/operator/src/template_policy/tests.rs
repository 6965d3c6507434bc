use rstest::rstest;
use serde_json::json;

use super::*;

pub(crate) fn policy(scope: TemplateScope) -> TemplatePolicy {
    TemplatePolicy {
        scope,
        accounts: AccountNames {
            worker: "vmafx-worker".to_owned(),
            trainer: "vmafx-trainer".to_owned(),
            job: "vmafx-job".to_owned(),
        },
        release: ReleaseNames {
            namespace: "vmafx-system".to_owned(),
            accounts: vec!["vmafx-operator".to_owned(), "vmafx-controller".to_owned()],
            secrets: vec!["database".to_owned()],
            claims: vec!["store".to_owned()],
        },
        audience: "vmafx-controller".to_owned(),
    }
}

fn violations(scope: TemplateScope, namespace: &str, spec: &Value) -> Vec<TemplateViolation> {
    let template = json!({ "spec": spec });
    policy(scope).violations(namespace, PodRole::Worker, template.as_object().unwrap())
}

fn env(name: &str) -> Value {
    json!({ "containers": [{ "name": "agent", "env": [{ "name": "X", "valueFrom": { "secretKeyRef": { "name": name } } }] }] })
}

fn volume(source: &Value) -> Value {
    json!({ "volumes": [source] })
}

fn token(audience: Option<&str>) -> Value {
    let source = json!({ "serviceAccountToken": { "path": "t", "audience": audience } });
    volume(&json!({ "name": "v", "projected": { "sources": [source] } }))
}

#[rstest]
#[case::operator(json!({ "serviceAccountName": "vmafx-operator" }), "serviceAccountName", "belongs to the release")]
#[case::controller(json!({ "serviceAccountName": "vmafx-controller" }), "serviceAccountName", "belongs to the release")]
#[case::trainer(json!({ "serviceAccountName": "vmafx-trainer" }), "serviceAccountName", "account of trainers, not of workers")]
#[case::default(json!({ "serviceAccountName": "default" }), "serviceAccountName", "so that they run as vmafx-worker")]
#[case::none(json!({ "serviceAccountName": null }), "serviceAccountName", "is empty")]
#[case::deprecated(json!({ "serviceAccount": "vmafx-operator" }), "serviceAccount", "use serviceAccountName")]
#[case::automount(json!({ "automountServiceAccountToken": true }), "automountServiceAccountToken", "remove it")]
#[case::automount_removed(json!({ "automountServiceAccountToken": null }), "automountServiceAccountToken", "remove it")]
#[case::variable(env("database"), "containers[0].env[0].valueFrom.secretKeyRef", "Secret database belongs")]
#[case::variables(
    json!({ "initContainers": [{ "name": "a", "envFrom": [{ "secretRef": { "name": "database" } }] }] }),
    "initContainers[0].envFrom[0].secretRef",
    "Secret database belongs"
)]
#[case::volume(volume(&json!({ "name": "v", "secret": { "secretName": "database" } })), "volumes[0].secret", "belongs")]
#[case::projected(
    volume(&json!({ "name": "v", "projected": { "sources": [{ "secret": { "name": "database" } }] } })),
    "volumes[0].projected.sources[0].secret",
    "belongs"
)]
#[case::share(volume(&json!({ "name": "v", "azureFile": { "secretName": "database" } })), "volumes[0].azureFile.secretName", "belongs")]
#[case::driver(
    volume(&json!({ "name": "v", "csi": { "nodePublishSecretRef": { "name": "database" } } })),
    "volumes[0].csi.nodePublishSecretRef",
    "belongs"
)]
#[case::pulls(json!({ "imagePullSecrets": [{ "name": "ours" }, { "name": "database" }] }), "imagePullSecrets[1]", "belongs")]
#[case::token_secret(
    env("vmafx-operator-token-x7x2p"),
    "containers[0].env[0].valueFrom.secretKeyRef",
    "belongs"
)]
#[case::claim(
    volume(&json!({ "name": "v", "persistentVolumeClaim": { "claimName": "store" } })),
    "volumes[0].persistentVolumeClaim.claimName",
    "claim store belongs"
)]
#[case::two_names(
    volume(&json!({ "name": "v", "secret": { "secretName": "ours", "name": "database" } })),
    "volumes[0].secret",
    "Secret database belongs"
)]
#[case::token(
    token(Some("vmafx-controller")),
    "volumes[0].projected.sources[0].serviceAccountToken",
    "the operator mounts"
)]
#[case::token_of_the_cluster(
    token(None),
    "volumes[0].projected.sources[0].serviceAccountToken",
    "no token for the API server"
)]
fn what_belongs_to_the_release_is_refused_by_field(
    #[case] spec: Value,
    #[case] field: &str,
    #[case] words: &str,
) {
    let found = violations(TemplateScope::Any, "vmafx-system", &spec);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].field.to_string(), format!("spec.podTemplate.spec.{field}"));
    assert!(found[0].advice.contains(words), "{}", found[0]);
    let restricted = violations(TemplateScope::Restricted, "vmafx-system", &spec);
    assert!(restricted.iter().any(|one| one.field == found[0].field), "{restricted:#?}");
}

#[rstest]
#[case::account(json!({ "serviceAccountName": "ours" }), "serviceAccountName")]
#[case::variable(env("s3"), "containers[0].env[0].valueFrom.secretKeyRef")]
#[case::nameless(json!({ "volumes": [{ "name": "v", "secret": { "items": [] } }] }), "volumes[0].secret")]
#[case::pulls(json!({ "imagePullSecrets": [{ "name": "ours" }] }), "imagePullSecrets[0]")]
#[case::token(token(Some("sts.example")), "volumes[0].projected.sources[0].serviceAccountToken")]
#[case::directory(volume(&json!({ "name": "v", "hostPath": { "path": "/" } })), "volumes[0].hostPath")]
#[case::network(json!({ "hostNetwork": true }), "hostNetwork")]
#[case::privileged(
    json!({ "containers": [{ "name": "agent", "securityContext": { "privileged": true } }] }),
    "containers[0].securityContext.privileged"
)]
#[case::capability(
    json!({ "containers": [{ "name": "agent", "securityContext": { "capabilities": { "add": ["SYS_ADMIN"] } } }] }),
    "containers[0].securityContext.capabilities"
)]
fn what_needs_a_review_is_refused_only_where_there_is_none(#[case] spec: Value, #[case] field: &str) {
    assert_eq!(violations(TemplateScope::Any, "vmafx-system", &spec), []);
    let found = violations(TemplateScope::Restricted, "video", &spec);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].field.to_string(), format!("spec.podTemplate.spec.{field}"));
    assert!(found[0].advice.contains("VMAFX_OPERATOR_POD_TEMPLATES=any"), "{}", found[0]);
}

#[rstest]
#[case::own_account(json!({ "serviceAccountName": "vmafx-worker", "automountServiceAccountToken": false }))]
#[case::volumes(json!({ "volumes": [
    { "name": "a", "persistentVolumeClaim": { "claimName": "clips" } }, { "name": "b", "configMap": { "name": "c" } },
    { "name": "scratch", "emptyDir": null, "ephemeral": {} },
] }))]
#[case::security(json!({ "securityContext": { "supplementalGroups": [44] } }))]
fn a_plain_template_is_permitted_everywhere(#[case] spec: Value) {
    assert_eq!(violations(TemplateScope::Restricted, "vmafx-system", &spec), []);
}

#[test]
fn names_of_the_release_mean_nothing_in_other_namespaces() {
    let spec =
        json!({ "serviceAccountName": "vmafx-operator", "imagePullSecrets": [{ "name": "database" }] });
    assert_eq!(violations(TemplateScope::Any, "video", &spec), []);
}

#[test]
fn a_registry_secret_of_the_release_is_refused() {
    let check = |namespace, name| {
        policy(TemplateScope::Restricted).check(namespace, PodRole::Trainer, None, Some(name))
    };
    let refused = check("vmafx-system", "database").unwrap_err().to_string();
    assert_eq!(
        refused,
        "spec.registrySecret: the Secret database belongs to the release of VMAFX: remove it"
    );
    assert_eq!([check("vmafx-system", "registry"), check("video", "database")], [Ok(()), Ok(())]);
}
