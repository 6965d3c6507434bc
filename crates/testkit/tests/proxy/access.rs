//! Accounts with roles, the audit log, and the API server's request counts.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ListParams;
use kube::{Api, Client, Config};
use vmafx_testkit::kube::account::{Grant, TestServiceAccount};
use vmafx_testkit::kube::audit::{AuditLog, never_used};
use vmafx_testkit::kube::proxy::ApiProxy;
use vmafx_testkit::kube::request_counts::RequestCounts;
use vmafx_testkit::kube::{AuditLevel, ControlPlane, ControlPlaneOptions, TestCluster, TestNamespace};

use crate::{code, create};

const ROLES: &str = "
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: testkit-reader}
rules:
- {apiGroups: [''], resources: [configmaps], verbs: [get, list]}
- {nonResourceURLs: [/metrics], verbs: [get]}
---
kind: Role
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: testkit-writer}
rules:
- {apiGroups: [''], resources: [configmaps], verbs: [create, delete]}
";

async fn client(account: &TestServiceAccount, server: &str) -> Client {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    account.write_kubeconfig(&path, server).unwrap();
    TestCluster::from_kubeconfig(&path).await.unwrap().client().unwrap()
}

async fn account(namespace: &TestNamespace) -> TestServiceAccount {
    let grants = Grant::from_yaml(ROLES).unwrap();
    TestServiceAccount::create(namespace.cluster(), namespace.name(), "worker", &grants).await.unwrap()
}

fn url(config: &Config) -> String {
    config.cluster_url.to_string()
}

#[tokio::test]
async fn an_account_may_do_what_its_roles_say_and_nothing_else_also_through_a_proxy() {
    let cluster = ControlPlane::shared().await.unwrap();
    let (mine, other) = (cluster.namespace("mine").await.unwrap(), cluster.namespace("other").await.unwrap());
    let account = account(&mine).await;
    let proxy = ApiProxy::start(cluster).await.unwrap();
    for server in [url(cluster.config()), proxy.url()] {
        let client = client(&account, &server).await;
        let maps = Api::<ConfigMap>::namespaced(client.clone(), mine.name());
        create(&maps, &format!("a{}", server.len())).await.unwrap();
        let elsewhere = Api::<ConfigMap>::namespaced(client.clone(), other.name());
        elsewhere.list(&ListParams::default()).await.unwrap();
        assert_eq!(code(create(&elsewhere, "a").await), 403);
        assert_eq!(code(Api::<Secret>::all(client).list(&ListParams::default()).await), 403);
    }
    assert_eq!(proxy.records().len(), 4);
}

#[tokio::test]
async fn the_audit_log_tells_what_was_denied_and_what_was_never_used() {
    let options = ControlPlaneOptions { audit: AuditLevel::Metadata, ..ControlPlaneOptions::default() };
    let plane = ControlPlane::start(options).await.unwrap();
    let namespace = plane.namespace("audited").await.unwrap();
    let account = account(&namespace).await;
    let client = client(&account, &url(plane.config())).await;
    let maps = Api::<ConfigMap>::namespaced(client.clone(), namespace.name());
    create(&maps, "a").await.unwrap();
    maps.get("a").await.unwrap();
    Api::<Secret>::namespaced(client, namespace.name()).get_opt("s").await.unwrap_err();

    let log = AuditLog::of(&plane).unwrap().by(&account.user());
    let requests: Vec<_> =
        log.0.iter().map(|event| (event.verb.as_str(), event.name.as_str(), event.code)).collect();
    assert_eq!(requests, [("create", "a", 201), ("get", "a", 200), ("get", "s", 403)]);
    assert!(log.0.iter().all(|event| event.namespace == namespace.name() && event.group.is_empty()));
    let denied: Vec<_> = log.denied().iter().map(|event| event.resource.as_str()).collect();
    assert_eq!(denied, ["secrets"]);
    let rules: Vec<_> =
        Grant::from_yaml(ROLES).unwrap().iter().flat_map(|grant| grant.rules().to_vec()).collect();
    let unused: Vec<_> = never_used(&rules, &log.0).iter().map(ToString::to_string).collect();
    assert_eq!(unused, ["delete configmaps", "list configmaps", "get /metrics"]);
}

#[tokio::test]
async fn the_api_server_counts_writes_and_nothing_else_changes_the_count() {
    let plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
    let namespace = plane.namespace("counted").await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(namespace.client(), namespace.name());
    let counts = async || {
        let mut counts = RequestCounts::read(&namespace.client()).await.unwrap().writes();
        counts.0.retain(|kind, _| kind.resource == "configmaps");
        counts
    };
    let before = counts().await;
    create(&maps, "a").await.unwrap();
    create(&maps, "b").await.unwrap();
    let between = counts().await;
    maps.list(&ListParams::default()).await.unwrap();
    assert!(counts().await.since(&between).0.is_empty());
    let made = between.since(&before);
    let made: Vec<_> = made.0.iter().map(|(kind, count)| (kind.verb.as_str(), *count)).collect();
    assert_eq!(made, [("POST", 2)]);
}
