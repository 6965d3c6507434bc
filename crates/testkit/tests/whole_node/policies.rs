//! Enforcement of `NetworkPolicies`.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::{DeleteParams, LogParams, PostParams};
use serde_json::json;
use vmafx_testkit::kube::TestNamespace;
use vmafx_testkit::kube::assets::Binary;
use vmafx_testkit::kube::node::{Footprint, PAUSE_IMAGE};
use vmafx_testkit::wait;

use super::{SOON, exclusive, is_called, pod, start, wait_for_phase};

/// A server Pod, and Pods that connect to it.
struct PolicyFixture {
    pods: Api<Pod>,
    policies: Api<NetworkPolicy>,
    server: String,
    dials: usize,
}

impl PolicyFixture {
    async fn start(namespace: &TestNamespace) -> Self {
        let pods = Api::<Pod>::namespaced(namespace.client(), namespace.name());
        let server = pod("server", PAUSE_IMAGE, &["serve", ":8080", "hello"]);
        pods.create(&PostParams::default(), &server).await.unwrap();
        wait_for_phase(&pods, "server", "Running").await;
        let address = pods.get("server").await.unwrap().status.unwrap().pod_ip.unwrap();
        let policies = Api::namespaced(namespace.client(), namespace.name());
        Self { pods, policies, server: format!("{address}:8080"), dials: 0 }
    }

    /// The output of a new Pod that connects to the server; policies apply to new connections only.
    async fn dial(&mut self) -> String {
        self.dials += 1;
        let name = format!("caller-{}", self.dials);
        let caller = pod(&name, PAUSE_IMAGE, &["dial", &self.server]);
        self.pods.create(&PostParams::default(), &caller).await.unwrap();
        wait_for_phase(&self.pods, &name, "Succeeded").await;
        self.pods.logs(&name, &LogParams::default()).await.unwrap()
    }

    async fn wait_for(&mut self, expected: &str) {
        let mut output = self.dial().await;
        for _ in 0..4 {
            if output.contains(expected) {
                return;
            }
            output = self.dial().await;
        }
        assert!(output.contains(expected), "{output}");
    }

    async fn deny_ingress(&self) {
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
    let Some(_lock) = exclusive().await else { return };
    let base = tempfile::tempdir().unwrap();
    let node = start(base.path()).await;
    let namespace = node.namespace("policies").await.unwrap();
    let mut fixture = PolicyFixture::start(&namespace).await;
    fixture.deny_ingress().await;
    fixture.wait_for(" open").await;

    let enforced = node.enforce_policies().await.unwrap();
    fixture.wait_for(" closed: ").await;
    fixture.policies.delete("nobody", &DeleteParams::default()).await.unwrap();
    fixture.wait_for(" open").await;
    fixture.deny_ingress().await;
    fixture.wait_for(" closed: ").await;

    drop(enforced);
    fixture.wait_for(" open").await;
    let gone = async || {
        let footprint = Footprint::record(node.state()).unwrap();
        !footprint.pids().any(|pid| is_called(pid, Binary::NetworkPolicies.name()))
    };
    wait::until(SOON, "the enforcing process to be gone", gone).await.unwrap();
}
