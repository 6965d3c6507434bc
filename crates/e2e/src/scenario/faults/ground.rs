//! The release that is struck, jobs for it, and the account.

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

use super::account::{End, findings};
use super::chance::Role;
use super::diary::Diary;
use super::logs;
use super::queue::Queue;
use crate::clips::Clips;
use crate::kubectl::Kubectl;
use crate::platform::{PATIENCE, Platform};

pub(super) const NAMESPACE: &str = "faults";
const RELEASE: &str = "vmafx";
/// Pairs of clips, each with another score.
const PAIRS: usize = 20;
/// Requests to the API server at a time.
const AT_ONCE: usize = 16;
/// For a whole batch of jobs to end, whatever happens to it.
pub(super) const BATCH: Duration = Duration::from_mins(4);

/// A job to be made: its name, what it says, and how it must end.
pub(super) type Asked = (String, Value, End);

/// Everything that the faults need.
pub(super) struct Ground<'a> {
    pub(super) platform: &'a Platform,
    pub(super) kubectl: Kubectl,
    pub(super) pods: Api<Pod>,
    pub(super) queue: Queue,
    pub(super) diary: Diary,
    jobs: Api<VmafxJob>,
    pairs: Vec<([String; 2], f64)>,
    asked: BTreeMap<String, End>,
}

impl<'a> Ground<'a> {
    /// Installs the release and waits for its nodes.
    pub(super) async fn lay(platform: &'a Platform) -> Result<Self> {
        platform.namespace(NAMESPACE).await?;
        let kubectl = platform.kubectl().namespaced(NAMESPACE);
        let outside = platform.outside().await?;
        let for_pods = outside.database().await?;
        let secret = |name: &str, data: &Value| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": data });
        kubectl.apply(&secret("database", &json!({ "uri": for_pods })).to_string()).await?;
        let variables = outside.s3().variables().into_iter();
        let store: serde_json::Map<_, _> = variables.map(|(name, value)| (name, value.into())).collect();
        kubectl.apply(&secret("store", &Value::Object(store)).to_string()).await?;
        let (pairs, release) = tokio::join!(pairs(platform), install(platform, &kubectl));
        release?;
        let jobs: Api<VmafxJob> = Api::namespaced(platform.client(), NAMESPACE);
        Ok(Self {
            platform,
            pods: Api::namespaced(platform.client(), NAMESPACE),
            queue: Queue::new(outside.database_here(&for_pods)),
            diary: Diary::open(jobs.clone()),
            jobs,
            pairs: pairs?,
            asked: BTreeMap::new(),
            kubectl,
        })
    }

    /// A batch of jobs, the pairs in turn. They are not made yet.
    pub(super) fn batch(&self, batch: &str, count: usize) -> Vec<Asked> {
        let pairs = self.pairs.iter().cycle().take(count).enumerate();
        pairs
            .map(|(number, ([reference, distorted], score))| {
                (format!("{batch}-{number:03}"), Clips::job([reference, distorted]), End::Score(*score))
            })
            .collect()
    }

    /// Notes that jobs are asked for; making them is the caller's.
    pub(super) fn ask(&mut self, batch: &[Asked]) -> impl Future<Output = Result<()>> + use<> {
        self.asked.extend(batch.iter().map(|(name, _, end)| (name.clone(), end.clone())));
        make(self.jobs.clone(), batch.to_vec())
    }

    /// Makes a batch and forgets nothing of it.
    pub(super) async fn submit(&mut self, batch: &str, count: usize) -> Result<()> {
        let jobs = self.batch(batch, count);
        self.ask(&jobs).await
    }

    /// Waits until a batch is over and takes account of everything that was ever asked for.
    pub(super) async fn settle(&mut self, batch: &str) -> Result<()> {
        let wanted = self.asked.keys().filter(|name| name.starts_with(batch)).count();
        let over = self.diary.until_over(batch, wanted, BATCH).await;
        // What was last seen may not be what is; the account says more than that something is late.
        for job in self.jobs.list(&ListParams::default()).await?.items {
            self.diary.see(&job);
        }
        let mut thanks = Vec::new();
        for pod in self.alive(Role::Node).await? {
            // A container that is about to start has no log.
            let log = self.pods.logs(&pod.name_any(), &kube::api::LogParams::default()).await;
            thanks.extend(logs::thanks(&log.unwrap_or_default()));
        }
        let found = findings(&self.asked, &self.diary.jobs(), &self.queue.jobs().await?, &thanks);
        if !found.is_empty() {
            let lines: Vec<_> = found.iter().take(40).map(|finding| format!("  {finding}")).collect();
            bail!("{} findings:\n{}", found.len(), lines.join("\n"));
        }
        over
    }

    /// Pods of a role that nobody has deleted, by name.
    pub(super) async fn alive(&self, role: Role) -> Result<Vec<Pod>> {
        let labels =
            format!("app.kubernetes.io/part-of=vmafx,app.kubernetes.io/component={}", role.component());
        let mut pods = self.pods.list(&ListParams::default().labels(&labels)).await?.items;
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        pods.sort_by_key(kube::ResourceExt::name_any);
        Ok(pods)
    }

    /// Waits until so many Pods of each role are ready.
    pub(super) async fn until_whole(&self) -> Result<()> {
        for (role, wanted) in [(Role::Operator, 2), (Role::Controller, 2), (Role::Node, 3)] {
            let whole = async || {
                let pods = self.alive(role).await.map_err(|error| format!("{error:#}"))?;
                let ready = pods.iter().filter(|pod| is_ready(pod)).count();
                if ready == wanted { Ok(()) } else { Err(format!("{ready}")) }
            };
            let what = format!("{wanted} Pods to be ready: {}", role.component());
            wait::until(PATIENCE, &what, whole).await?;
        }
        Ok(())
    }

    /// Removes the release and its namespace.
    pub(super) async fn clear(self) -> Result<()> {
        self.kubectl.run(&["delete", "vmafxnodes", "--all", "--timeout=120s"]).await?;
        self.platform.helm().uninstall(RELEASE, NAMESPACE).await?;
        self.platform.remove(NAMESPACE).await
    }
}

/// Whether a Pod is ready.
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
                // A session outlives its leases: what comes late is then refused because it is late.
                "leaseTTL": "5s", "sessionTTL": "1m", "sweepInterval": "1s", "backoffBase": "1s", "backoffMax": "2s",
            },
        },
        "podDisruptionBudget": { "enabled": true },
    }));
    platform.helm().install(RELEASE, NAMESPACE, &values).await?;
    kubectl.apply(&pool().to_string()).await?;
    kubectl.wait("jsonpath={.status.readyReplicas}=3", "vmnode/pool").await
}

/// Three workers with the clips, the store outside and little room.
fn pool() -> Value {
    let mut template = Clips::pod_template();
    if let Some(volumes) = template["spec"]["volumes"].as_array_mut() {
        volumes.push(json!({ "name": "scratch", "emptyDir": { "sizeLimit": super::scratch::VOLUME } }));
    }
    let agent = &mut template["spec"]["containers"][0];
    agent["envFrom"] = json!([{ "secretRef": { "name": "store" } }]);
    // A call that nobody answers is given up before the lease that it speaks of is over.
    agent["env"] = json!([{ "name": "VMAFX_CONTROLLER_RPC_TIMEOUT", "value": "2s" }]);
    json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
        "spec": { "gpuVendor": "cpu", "capacity": 2, "replicas": 3, "podTemplate": template },
    })
}

/// Pairs that differ in their scores, and the scores.
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
    // A score that went to another job must show.
    anyhow::ensure!(scores.len() > pairs.len() / 2, "the pairs are too much alike: {pairs:?}");
    Ok(pairs)
}

async fn make(jobs: Api<VmafxJob>, batch: Vec<Asked>) -> Result<()> {
    let made = stream::iter(batch).map(|(name, spec, _)| {
        let jobs = jobs.clone();
        async move {
            let object = json!({
                "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name }, "spec": spec,
            });
            let object = serde_json::from_value(object).context("a VmafxJob")?;
            jobs.create(&PostParams::default(), &object).await.context("making a VmafxJob")?;
            anyhow::Ok(())
        }
    });
    made.buffer_unordered(AT_ONCE).try_collect().await
}
