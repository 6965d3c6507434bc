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
use super::scratch::{BUCKET, ROOT};
use super::summary::FaultSummary;
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

    /// A batch of jobs that take seconds each. Nothing is created yet.
    pub(super) async fn long_batch(&self, batch: &str, count: usize) -> Result<Vec<JobRequest>> {
        let score = self.platform.clips().score([Clips::LONG; 2]).await?;
        let job = |number| {
            (format!("{batch}-{number:03}"), Clips::job([Clips::LONG; 2]), ExpectedEnd::Score(score))
        };
        Ok((0..count).map(job).collect())
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
            self.until_ready(role, count).await?;
        }
        Ok(())
    }

    pub(super) async fn until_ready(&self, role: Role, count: usize) -> Result<()> {
        let all_ready = async || {
            let pods = self.live_pods(role).await.map_err(|error| format!("{error:#}"))?;
            let ready = pods.iter().filter(|pod| is_ready(pod)).count();
            if ready == count { Ok(()) } else { Err(format!("{ready} are ready")) }
        };
        let what = format!("{count} Pods of role {} to be ready", role.component());
        Ok(wait::until(STEP_TIMEOUT, &what, all_ready).await?)
    }

    /// Changes the number of workers of the pool, and waits until they are ready or gone.
    pub(super) async fn scale_pool(&self, replicas: usize) -> Result<()> {
        self.kubectl.run(&["scale", "vmnode/pool", &format!("--replicas={replicas}")]).await?;
        self.until_ready(Role::Node, replicas).await
    }

    /// Changes the number of controllers, and waits until they are ready or gone.
    pub(super) async fn scale_controllers(&self, replicas: usize) -> Result<()> {
        let deployment = format!("deployment/{RELEASE}-controller");
        self.kubectl.run(&["scale", &deployment, &format!("--replicas={replicas}")]).await?;
        self.until_ready(Role::Controller, replicas).await
    }

    /// The address of a Pod of a role; `which` is taken modulo their number.
    pub(super) async fn pod_address(&self, role: Role, which: usize) -> Result<String> {
        let pods = self.live_pods(role).await?;
        let addresses: Vec<_> = pods.iter().filter_map(|pod| pod.status.as_ref()?.pod_ip.clone()).collect();
        let chosen = which.checked_rem(addresses.len()).and_then(|index| addresses.get(index));
        chosen
            .cloned()
            .with_context(|| format!("there is no Pod of role {} with an address", role.component()))
    }

    /// Keeps a fault for as long as the scenario demands.
    pub(super) async fn hold(&self, what: &str, duration: Duration) {
        println!("        {what} for {} s", duration.as_secs());
        tokio::time::sleep(duration).await;
    }

    pub(super) async fn summary(&self, batch: &str, recovery: Duration) -> Result<FaultSummary> {
        Ok(FaultSummary::of(batch, &self.history.jobs(), &self.queue.jobs().await?, recovery))
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

pub(super) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

async fn install(platform: &Platform, kubectl: &Kubectl) -> Result<()> {
    let values = platform.values(json!({
        "operator": { "replicaCount": 2, "nodeDrain": "5s", "gracefulShutdown": "5s" },
        "controller": {
            "replicas": 2, "gracefulShutdown": "5s", "scoringRoots": [Clips::ROOT, ROOT],
            "store": {
                "backend": "postgres", "postgresql": { "secretName": "database" },
                // Sessions outlive leases, so late reports are rejected for their attempt, not for their session.
                "leaseTTL": "5s", "sessionTTL": "1m", "sweepInterval": "1s", "backoffBase": "1s", "backoffMax": "2s",
            },
        },
        "podDisruptionBudget": { "enabled": true },
    }));
    platform.helm().install(RELEASE, NAMESPACE, &values).await?;
    kubectl.apply(&FaultFixture::node("pool", 3).to_string()).await?;
    kubectl.wait("jsonpath={.status.readyReplicas}=3", "vmnode/pool").await
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
