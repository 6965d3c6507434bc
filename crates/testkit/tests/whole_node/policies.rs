//! `NetworkPolicies`, enforced for as long as somebody asks for it.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::{DeleteParams, LogParams, PostParams};
use serde_json::json;
use vmafx_testkit::kube::TestNamespace;
use vmafx_testkit::kube::assets::Binary;
use vmafx_testkit::kube::node::{Footprint, PAUSE_IMAGE};
use vmafx_testkit::wait;

use super::{SOON, is_called, pod, reaches, start, turn};

/// Two Pods, and what is between them.
struct Talk {
    pods: Api<Pod>,
    policies: Api<NetworkPolicy>,
    server: String,
    calls: usize,
}

impl Talk {
    async fn set(namespace: &TestNamespace) -> Self {
        let pods = Api::<Pod>::namespaced(namespace.client(), namespace.name());
        let server = pod("server", PAUSE_IMAGE, &["serve", ":8080", "hello"]);
        pods.create(&PostParams::default(), &server).await.unwrap();
        reaches(&pods, "server", "Running").await;
        let address = pods.get("server").await.unwrap().status.unwrap().pod_ip.unwrap();
        let policies = Api::namespaced(namespace.client(), namespace.name());
        Self { pods, policies, server: format!("{address}:8080"), calls: 0 }
    }

    /// What another Pod says of the server: a new one each time, since policies are about new connections.
    async fn call(&mut self) -> String {
        self.calls += 1;
        let name = format!("caller-{}", self.calls);
        let caller = pod(&name, PAUSE_IMAGE, &["dial", &self.server]);
        self.pods.create(&PostParams::default(), &caller).await.unwrap();
        reaches(&self.pods, &name, "Succeeded").await;
        self.pods.logs(&name, &LogParams::default()).await.unwrap()
    }

    async fn until(&mut self, what: &str) {
        let mut said = self.call().await;
        for _ in 0..4 {
            if said.contains(what) {
                return;
            }
            said = self.call().await;
        }
        assert!(said.contains(what), "{said}");
    }

    async fn forbid(&self) {
        let policy = json!({
            "metadata": { "name": "nobody" },
            "spec": { "podSelector": { "matchLabels": { "app": "server" } }, "policyTypes": ["Ingress"] },
        });
        self.policies.create(&PostParams::default(), &serde_json::from_value(policy).unwrap()).await.unwrap();
    }
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn a_policy_keeps_pods_apart_until_it_or_its_enforcement_ends() {
    let Some(_turn) = turn().await else { return };
    let base = tempfile::tempdir().unwrap();
    let node = start(base.path()).await;
    let namespace = node.namespace("policies").await.unwrap();
    let mut talk = Talk::set(&namespace).await;
    talk.forbid().await;
    talk.until(" open").await;

    let enforced = node.enforce_policies().await.unwrap();
    talk.until(" closed: ").await;
    talk.policies.delete("nobody", &DeleteParams::default()).await.unwrap();
    talk.until(" open").await;
    talk.forbid().await;
    talk.until(" closed: ").await;

    drop(enforced);
    talk.until(" open").await;
    let gone = async || {
        let footprint = Footprint::take(node.state()).unwrap();
        !footprint.pids().any(|pid| is_called(pid, Binary::NetworkPolicies.name()))
    };
    wait::until(SOON, "what enforced it to be gone", gone).await.unwrap();
}
