//! Heartbeats of agents in the status of a VmafxNode, on a real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

#[path = "support/clock.rs"]
mod clock;

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use vmafx_api::VmafxNode;
use vmafx_controller::node_status::NodeStatusWriter;
use vmafx_job::{FailureReason, ScoreResult, ScoringRequest};
use vmafx_kit::metrics::Metrics;
use vmafx_queue::job::Origin;
use vmafx_queue::node::{Capability, Credentials, Heartbeat, NewNode, Report};
use vmafx_queue::policy::Policy;
use vmafx_queue::sqlite::{Options, SqliteStore};
use vmafx_queue::store::{Claim, Reported};
use vmafx_queue::{NewJob, Store, TenantId};
use vmafx_testkit::kube::{ControlPlane, TestNamespace, install_crds};

use self::clock::TestClock;

/// A VmafxNode whose status was written by the operator, and a queue for its agents.
struct Harness {
    namespace: TestNamespace,
    api: Api<VmafxNode>,
    store: Arc<dyn Store>,
    clock: TestClock,
    tenant: TenantId,
    _directory: tempfile::TempDir,
}

impl Harness {
    async fn start() -> Self {
        let cluster = ControlPlane::shared().await.unwrap();
        install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        let namespace = cluster.namespace("node-status").await.unwrap();
        let api: Api<VmafxNode> = Api::namespaced(namespace.client(), namespace.name());
        let pool = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
            "spec": { "gpuVendor": "cpu" },
        });
        api.create(&PostParams::default(), &serde_json::from_value(pool).unwrap()).await.unwrap();
        let status = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode",
            "status": { "healthy": true, "replicas": 2, "currentImage": "vmafx-node:1" },
        });
        let operator = PatchParams::apply("vmafx-operator");
        api.patch_status("pool", &operator, &Patch::Apply(status)).await.unwrap();

        let directory = tempfile::tempdir().unwrap();
        let clock = TestClock::at(1_760_000_000);
        let store = SqliteStore::open(Options {
            path: directory.path().join("queue.db"),
            policy: Policy::default(),
            clock: Arc::new(clock.clone()),
            reserve: 64 << 10,
        });
        Self {
            namespace,
            api,
            store: Arc::new(store.unwrap()),
            clock,
            tenant: TenantId::new("t").unwrap(),
            _directory: directory,
        }
    }

    fn client(&self) -> Client {
        self.namespace.client()
    }

    fn writer(&self) -> NodeStatusWriter {
        NodeStatusWriter::new(self.store.clone(), self.client(), "here", &mut Metrics::new("test"))
    }

    async fn agent(&self, name: &str, cluster: &str, uid: &str) -> Credentials {
        let node = NewNode {
            name: name.into(),
            capability: Capability { slots: 4, device: "EPYC".into(), ..Capability::default() },
            resource: Some(
                Origin {
                    cluster: cluster.into(),
                    namespace: self.namespace.name().into(),
                    name: "pool".into(),
                    uid: uid.into(),
                }
                .into(),
            ),
        };
        self.store.register(&self.tenant, node, &vmafx_job::TenantLimits::default()).await.unwrap()
    }

    async fn give_work(&self, agent: &Credentials) {
        let scoring =
            ScoringRequest { reference: "/a".into(), distorted: "/b".into(), ..ScoringRequest::default() };
        self.store
            .submit(
                &self.tenant,
                NewJob { scoring, ..NewJob::default() },
                &vmafx_job::TenantLimits::default(),
            )
            .await
            .unwrap();
        self.store.claim(&self.tenant, agent, &[], None, &vmafx_job::TenantLimits::default()).await.unwrap();
    }

    /// Gives the agent a job and reports its end.
    async fn report(&self, agent: &Credentials, result: Result<ScoreResult, (FailureReason, String)>) {
        let scoring =
            ScoringRequest { reference: "/a".into(), distorted: "/b".into(), ..ScoringRequest::default() };
        self.store
            .submit(
                &self.tenant,
                NewJob { scoring, ..NewJob::default() },
                &vmafx_job::TenantLimits::default(),
            )
            .await
            .unwrap();
        let claim = self
            .store
            .claim(&self.tenant, agent, &[], None, &vmafx_job::TenantLimits::default())
            .await
            .unwrap();
        let Claim::Job(job) = claim else { panic!("{claim:?}") };
        let report = Report { job: job.id, attempt: Some(job.attempt), result };
        let reported = self.store.report(&self.tenant, agent, report).await.unwrap();
        assert!(matches!(reported, Reported::Moved { .. }), "{reported:?}");
    }

    async fn beat(&self, agent: &Credentials, after: Duration) {
        self.clock.advance(after);
        self.store.heartbeat(&self.tenant, agent, Heartbeat::default()).await.unwrap().unwrap();
    }

    async fn pool(&self) -> VmafxNode {
        self.api.get("pool").await.unwrap()
    }

    async fn status(&self) -> Value {
        serde_json::to_value(self.pool().await.status).unwrap()
    }
}

#[tokio::test]
async fn the_fields_of_the_agents_are_written_and_no_other_is_touched() {
    let harness = Harness::start().await;
    let uid = harness.pool().await.uid().unwrap();
    let agent = harness.agent("pool-0", "here", &uid).await;
    harness.give_work(&agent).await;
    harness.writer().round().await;
    assert_eq!(
        harness.status().await,
        json!({
            "lastHeartbeat": "2025-10-09T08:53:20Z", "assignedJobs": 1, "detectedDevice": "EPYC",
            "healthy": true, "replicas": 2, "currentImage": "vmafx-node:1",
        })
    );
    let owners: Vec<_> =
        harness.pool().await.managed_fields().iter().map(|f| f.manager.clone().unwrap()).collect();
    assert!(
        owners.contains(&"vmafx-controller".into()) && owners.contains(&"vmafx-operator".into()),
        "{owners:?}"
    );
}

#[tokio::test]
async fn a_quarantine_is_shown_with_its_last_error_and_removed_with_it() {
    let harness = Harness::start().await;
    let agent = harness.agent("pool-0", "here", "").await;
    // A fresh writer each time: the interval between two writes of one is real time.
    harness.writer().round().await;
    for _ in 0..3 {
        harness.report(&agent, Err((FailureReason::ScratchFull, "no space".to_owned()))).await;
    }
    harness.writer().round().await;
    assert_eq!(
        harness.status().await["quarantine"],
        json!({ "workers": 1, "connected": 1, "reason": "ScratchFull", "message": "pool-0: no space" })
    );
    harness.clock.advance(Duration::from_secs(5));
    let score = ScoreResult { score: 90.0, ..ScoreResult::default() };
    harness.report(&agent, Ok(score)).await;
    harness.writer().round().await;
    assert_eq!(harness.status().await["quarantine"], Value::Null);
}

#[tokio::test]
async fn there_is_one_write_in_twenty_seconds_by_all_controllers_together() {
    let harness = Harness::start().await;
    let agent = harness.agent("pool-0", "here", "").await;
    let (mut one, mut other) = (harness.writer(), harness.writer());
    one.round().await;
    let first = harness.pool().await.resource_version();
    harness.beat(&agent, Duration::from_secs(19)).await;
    one.round().await;
    other.round().await;
    assert_eq!(harness.pool().await.resource_version(), first);
    harness.beat(&agent, Duration::from_secs(1)).await;
    other.round().await;
    let second = harness.pool().await.resource_version();
    assert_ne!(second, first);
    one.round().await;
    other.round().await;
    assert_eq!(harness.pool().await.resource_version(), second);
}

#[tokio::test]
async fn agents_of_another_cluster_or_of_an_earlier_resource_are_not_shown() {
    let harness = Harness::start().await;
    harness.agent("pool-0", "there", "").await;
    harness.agent("pool-1", "here", "00000000-0000-0000-0000-000000000000").await;
    harness.writer().round().await;
    assert_eq!(harness.status().await["lastHeartbeat"], Value::Null);
}
