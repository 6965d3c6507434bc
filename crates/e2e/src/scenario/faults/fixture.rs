//! The release under test, its jobs, and the verification of everything that was requested so far.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::ledger::{JobLedger, JobRequest, ScoredPairs, ensure_none, long_batch};
use super::logs;
use super::plan::Role;
use super::pods::ReleasePods;
use super::queue::QueueDatabase;
use super::scratch::{BUCKET, ROOT};
use super::summary::FaultSummary;
use super::verify::{ExpectedEnd, violations};
use crate::clips::Clips;
use crate::kubectl::Kubectl;
use crate::platform::Platform;
use crate::values::merge_values;

pub(super) const NAMESPACE: &str = "faults";
const RELEASE: &str = "vmafx";
/// Time for a whole batch of jobs to end in spite of the faults.
pub(super) const BATCH_TIMEOUT: Duration = Duration::from_mins(4);

pub(super) struct FaultFixture<'a> {
    pub(super) platform: &'a Platform,
    pub(super) kubectl: Kubectl,
    pub(super) pods: ReleasePods<'a>,
    pub(super) queue: QueueDatabase,
    pub(super) ledger: JobLedger,
    pairs: ScoredPairs,
}

impl<'a> FaultFixture<'a> {
    /// Installs the release and waits for its nodes.
    pub(super) async fn set_up(platform: &'a Platform) -> Result<Self> {
        platform.namespace(NAMESPACE).await?;
        let kubectl = platform.kubectl().namespaced(NAMESPACE);
        let external = platform.external_services().await?;
        let for_pods = external.database().await?;
        let secret = |name: &str, data: &Value| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": data });
        kubectl.apply(&secret("database", &json!({ "uri": for_pods })).to_string()).await?;
        let variables = external.s3().variables().into_iter();
        let store: serde_json::Map<_, _> = variables.map(|(name, value)| (name, value.into())).collect();
        kubectl.apply(&secret("store", &Value::Object(store)).to_string()).await?;
        let (pairs, release) = tokio::join!(ScoredPairs::score(platform), install(platform, &kubectl));
        release?;
        Ok(Self {
            platform,
            pods: ReleasePods::new(platform, NAMESPACE),
            queue: QueueDatabase::new(external.database_on_host(&for_pods)),
            ledger: JobLedger::open(platform.client(), NAMESPACE),
            pairs: pairs?,
            kubectl,
        })
    }

    /// A batch of jobs that uses the pairs in turn. Nothing is created yet.
    pub(super) fn batch(&self, batch: &str, count: usize) -> Vec<JobRequest> {
        self.pairs.batch(batch, count)
    }

    /// A batch of jobs that take seconds each. Nothing is created yet.
    pub(super) async fn long_batch(&self, batch: &str, count: usize) -> Result<Vec<JobRequest>> {
        long_batch(self.platform, batch, count).await
    }

    /// A batch whose clips are in the object store, each job with objects of its own, because nodes share the downloads of
    /// an object. Nothing is created yet.
    pub(super) async fn stored_batch(&self, batch: &str, count: usize) -> Result<Vec<JobRequest>> {
        let bucket = self.platform.external_services().await?.s3();
        let score = self.platform.clips().score(Clips::GOLDEN).await?;
        let mut jobs = self.batch(batch, count);
        for (name, spec, end) in &mut jobs {
            for (field, clip) in ["reference", "distorted"].into_iter().zip(Clips::GOLDEN) {
                let content = std::fs::read(self.platform.clips().host_path(clip))
                    .with_context(|| format!("cannot read the clip {clip}"))?;
                let key = format!("{name}/{clip}");
                bucket.put(BUCKET, &key, &content)?;
                spec[field] = json!(format!("{ROOT}{key}"));
            }
            *end = ExpectedEnd::Score(score);
        }
        Ok(jobs)
    }

    /// Records the requests; awaiting the result creates the jobs.
    pub(super) fn create(&mut self, batch: &[JobRequest]) -> impl Future<Output = Result<()>> + use<> {
        self.ledger.create(batch)
    }

    pub(super) async fn submit(&mut self, batch: &str, count: usize) -> Result<()> {
        let jobs = self.batch(batch, count);
        self.create(&jobs).await
    }

    /// Waits until a batch has ended, and verifies all jobs that were requested so far.
    pub(super) async fn verify_batch(&mut self, batch: &str) -> Result<()> {
        let ended = self.ledger.until_batch_ended(batch, BATCH_TIMEOUT).await?;
        let accepted = logs::accepted_reports(&self.pods.logs(Role::Node).await?);
        let JobLedger { requested, history, .. } = &self.ledger;
        ensure_none(&violations(requested, &history.jobs(), &self.queue.jobs().await?, &accepted))?;
        ended
    }

    pub(super) async fn until_all_ready(&self) -> Result<()> {
        for (role, count) in [(Role::Operator, 2), (Role::Controller, 2), (Role::Node, 3)] {
            self.pods.until_ready(role, count).await?;
        }
        Ok(())
    }

    /// Changes the number of workers of the pool, and waits until they are ready or gone.
    pub(super) async fn scale_pool(&self, replicas: usize) -> Result<()> {
        self.kubectl.run(&["scale", "vmnode/pool", &format!("--replicas={replicas}")]).await?;
        self.pods.until_ready(Role::Node, replicas).await
    }

    /// Changes the number of controllers, and waits until they are ready or gone.
    pub(super) async fn scale_controllers(&self, replicas: usize) -> Result<()> {
        let deployment = format!("deployment/{RELEASE}-controller");
        self.kubectl.run(&["scale", &deployment, &format!("--replicas={replicas}")]).await?;
        self.pods.until_ready(Role::Controller, replicas).await
    }

    pub(super) async fn summary(&self, batch: &str, recovery: Duration) -> Result<FaultSummary> {
        Ok(FaultSummary::of(batch, &self.ledger.history.jobs(), &self.queue.jobs().await?, recovery))
    }

    /// Workers with the clips, credentials for the object store and a small scratch volume.
    pub(super) fn node(name: &str, replicas: usize) -> Value {
        let mut template = Clips::pod_template();
        if let Some(volumes) = template["spec"]["volumes"].as_array_mut() {
            volumes.push(json!({ "name": "scratch", "emptyDir": { "sizeLimit": super::scratch::VOLUME } }));
        }
        let agent = &mut template["spec"]["containers"][0];
        agent["envFrom"] = json!([{ "secretRef": { "name": "store" } }]);
        // An unanswered call times out before the lease that it concerns expires.
        agent["env"] = json!([{ "name": "VMAFX_CONTROLLER_RPC_TIMEOUT", "value": "2s" }]);
        json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": name },
            "spec": { "gpuVendor": "cpu", "capacity": 2, "replicas": replicas, "podTemplate": template },
        })
    }

    /// Removes the release and its namespace.
    pub(super) async fn tear_down(self) -> Result<()> {
        self.kubectl.run(&["delete", "vmafxnodes", "--all", "--timeout=120s"]).await?;
        self.platform.helm().uninstall(RELEASE, NAMESPACE).await?;
        self.platform.remove(NAMESPACE).await
    }
}

/// Values of `controller.store` with which lost attempts are repeated soon.
pub(super) fn short_leases() -> Value {
    // Sessions outlive leases, so late reports are rejected for their attempt, not for their session.
    json!({ "leaseTTL": "5s", "sessionTTL": "1m", "sweepInterval": "1s", "backoffBase": "1s", "backoffMax": "2s" })
}

async fn install(platform: &Platform, kubectl: &Kubectl) -> Result<()> {
    let values = platform.values(json!({
        "operator": { "podTemplates": "any", "replicaCount": 2, "nodeDrain": "5s", "gracefulShutdown": "5s" },
        "controller": {
            "replicas": 2, "gracefulShutdown": "5s", "scoringRoots": [Clips::ROOT, ROOT],
            "store": merge_values(short_leases(), json!({
                "backend": "postgres", "postgresql": { "secretName": "database" },
            })),
        },
        "podDisruptionBudget": { "enabled": true },
    }));
    platform.helm().install(RELEASE, NAMESPACE, &values).await?;
    kubectl.apply(&FaultFixture::node("pool", 3).to_string()).await?;
    kubectl.wait("jsonpath={.status.readyReplicas}=3", "vmnode/pool").await
}

/// Keeps a fault for as long as the scenario demands.
pub(super) async fn hold(what: &str, duration: Duration) {
    println!("        {what} for {} s", duration.as_secs());
    tokio::time::sleep(duration).await;
}
