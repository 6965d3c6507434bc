//! The release under test, its jobs, and the verification of everything that was requested so far.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use vmafx_api::VmafxJob;
use vmafx_testkit::wait;

use super::history::PhaseHistory;
use super::logs;
use super::plan::Role;
use super::queue::QueueDatabase;
use super::verify::{ExpectedEnd, violations};
use crate::clips::Clips;
use crate::kubectl::Kubectl;
use crate::platform::{Platform, STEP_TIMEOUT};

pub(super) const NAMESPACE: &str = "faults";
const RELEASE: &str = "vmafx";
/// Pairs of clips with different scores.
const PAIRS: usize = 20;
const CONCURRENT_REQUESTS: usize = 16;
/// Time for a whole batch of jobs to end in spite of the faults.
pub(super) const BATCH_TIMEOUT: Duration = Duration::from_mins(4);

/// Name and spec of a job, and the end that it must have.
pub(super) type JobRequest = (String, Value, ExpectedEnd);

pub(super) struct FaultFixture<'a> {
    pub(super) platform: &'a Platform,
    pub(super) kubectl: Kubectl,
    pub(super) pods: Api<Pod>,
    pub(super) queue: QueueDatabase,
    pub(super) history: PhaseHistory,
    jobs: Api<VmafxJob>,
    pairs: Vec<([String; 2], f64)>,
    requested: BTreeMap<String, ExpectedEnd>,
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
        let (pairs, release) = tokio::join!(pairs(platform), install(platform, &kubectl));
        release?;
        let jobs: Api<VmafxJob> = Api::namespaced(platform.client(), NAMESPACE);
        Ok(Self {
            platform,
            pods: Api::namespaced(platform.client(), NAMESPACE),
            queue: QueueDatabase::new(external.database_on_host(&for_pods)),
            history: PhaseHistory::open(jobs.clone()),
            jobs,
            pairs: pairs?,
            requested: BTreeMap::new(),
            kubectl,
        })
    }

    /// A batch of jobs that uses the pairs in turn. Nothing is created yet.
    pub(super) fn batch(&self, batch: &str, count: usize) -> Vec<JobRequest> {
        let pairs = self.pairs.iter().cycle().take(count).enumerate();
        pairs
            .map(|(number, ([reference, distorted], score))| {
                (
                    format!("{batch}-{number:03}"),
                    Clips::job([reference, distorted]),
                    ExpectedEnd::Score(*score),
                )
            })
            .collect()
    }

    /// Records the requests; awaiting the result creates the jobs.
    pub(super) fn create(&mut self, batch: &[JobRequest]) -> impl Future<Output = Result<()>> + use<> {
        self.requested.extend(batch.iter().map(|(name, _, end)| (name.clone(), end.clone())));
        create_all(self.jobs.clone(), batch.to_vec())
    }

    pub(super) async fn submit(&mut self, batch: &str, count: usize) -> Result<()> {
        let jobs = self.batch(batch, count);
        self.create(&jobs).await
    }

    /// Waits until a batch has ended, and verifies all jobs that were requested so far.
    pub(super) async fn verify_batch(&mut self, batch: &str) -> Result<()> {
        let count = self.requested.keys().filter(|name| name.starts_with(batch)).count();
        let ended = self.history.until_ended(batch, count, BATCH_TIMEOUT).await;
        // Even after a timeout the violations are reported first, because they say more. The list covers missed events.
        for job in self.jobs.list(&ListParams::default()).await?.items {
            self.history.record(&job);
        }
        let mut accepted = Vec::new();
        for pod in self.live_pods(Role::Node).await? {
            // A container that has not started has no log.
            let log = self.pods.logs(&pod.name_any(), &kube::api::LogParams::default()).await;
            accepted.extend(logs::accepted_reports(&log.unwrap_or_default()));
        }
        let found = violations(&self.requested, &self.history.jobs(), &self.queue.jobs().await?, &accepted);
        if !found.is_empty() {
            let lines: Vec<_> = found.iter().take(40).map(|finding| format!("  {finding}")).collect();
            bail!("{} violations:\n{}", found.len(), lines.join("\n"));
        }
        ended
    }

    /// Pods of a role that are not being deleted, sorted by name.
    pub(super) async fn live_pods(&self, role: Role) -> Result<Vec<Pod>> {
        let labels =
            format!("app.kubernetes.io/part-of=vmafx,app.kubernetes.io/component={}", role.component());
        let mut pods = self.pods.list(&ListParams::default().labels(&labels)).await?.items;
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        pods.sort_by_key(kube::ResourceExt::name_any);
        Ok(pods)
    }

    pub(super) async fn until_all_ready(&self) -> Result<()> {
        for (role, count) in [(Role::Operator, 2), (Role::Controller, 2), (Role::Node, 3)] {
            let all_ready = async || {
                let pods = self.live_pods(role).await.map_err(|error| format!("{error:#}"))?;
                let ready = pods.iter().filter(|pod| is_ready(pod)).count();
                if ready == count { Ok(()) } else { Err(format!("{ready} are ready")) }
            };
            let what = format!("{count} Pods of role {} to be ready", role.component());
            wait::until(STEP_TIMEOUT, &what, all_ready).await?;
        }
        Ok(())
    }

    /// Removes the release and its namespace.
    pub(super) async fn tear_down(self) -> Result<()> {
        self.kubectl.run(&["delete", "vmafxnodes", "--all", "--timeout=120s"]).await?;
        self.platform.helm().uninstall(RELEASE, NAMESPACE).await?;
        self.platform.remove(NAMESPACE).await
    }
}

pub(super) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

async fn install(platform: &Platform, kubectl: &Kubectl) -> Result<()> {
    let values = platform.values(json!({
        "operator": { "replicaCount": 2, "nodeDrain": "5s", "gracefulShutdown": "5s" },
        "controller": {
            "replicas": 2, "gracefulShutdown": "5s", "scoringRoots": [Clips::ROOT, super::scratch::ROOT],
            "store": {
                "backend": "postgres", "postgresql": { "secretName": "database" },
                // Sessions outlive leases, so late reports are rejected for their attempt, not for their session.
                "leaseTTL": "5s", "sessionTTL": "1m", "sweepInterval": "1s", "backoffBase": "1s", "backoffMax": "2s",
            },
        },
        "podDisruptionBudget": { "enabled": true },
    }));
    platform.helm().install(RELEASE, NAMESPACE, &values).await?;
    kubectl.apply(&pool().to_string()).await?;
    kubectl.wait("jsonpath={.status.readyReplicas}=3", "vmnode/pool").await
}

/// Three workers with the clips, credentials for the object store and a small scratch volume.
fn pool() -> Value {
    let mut template = Clips::pod_template();
    if let Some(volumes) = template["spec"]["volumes"].as_array_mut() {
        volumes.push(json!({ "name": "scratch", "emptyDir": { "sizeLimit": super::scratch::VOLUME } }));
    }
    let agent = &mut template["spec"]["containers"][0];
    agent["envFrom"] = json!([{ "secretRef": { "name": "store" } }]);
    // An unanswered call times out before the lease that it concerns expires.
    agent["env"] = json!([{ "name": "VMAFX_CONTROLLER_RPC_TIMEOUT", "value": "2s" }]);
    json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
        "spec": { "gpuVendor": "cpu", "capacity": 2, "replicas": 3, "podTemplate": template },
    })
}

/// Pairs with their scores.
async fn pairs(platform: &Platform) -> Result<Vec<([String; 2], f64)>> {
    let mut pairs = Vec::new();
    for number in (0..Clips::PAIRS).step_by(Clips::PAIRS / PAIRS) {
        let pair = Clips::pair(number);
        let score = platform.clips().score([&pair[0], &pair[1]]).await?;
        pairs.push((pair, score));
    }
    let mut scores: Vec<_> = pairs.iter().map(|(_, score)| score.to_bits()).collect();
    scores.sort_unstable();
    scores.dedup();
    // A score that was assigned to the wrong job must be noticed.
    anyhow::ensure!(scores.len() > pairs.len() / 2, "too many pairs have the same score: {pairs:?}");
    Ok(pairs)
}

async fn create_all(jobs: Api<VmafxJob>, batch: Vec<JobRequest>) -> Result<()> {
    let created = stream::iter(batch).map(|(name, spec, _)| {
        let jobs = jobs.clone();
        async move {
            let object = json!({
                "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name }, "spec": spec,
            });
            let object = serde_json::from_value(object).context("invalid VmafxJob")?;
            jobs.create(&PostParams::default(), &object).await.context("cannot create a VmafxJob")?;
            anyhow::Ok(())
        }
    });
    created.buffer_unordered(CONCURRENT_REQUESTS).try_collect().await
}
