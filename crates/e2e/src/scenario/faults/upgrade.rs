//! A release from before TLS and accounts for workers is upgraded to this one, while jobs run and wait.
//!
//! | run       | how                                                                                                |
//! |-----------|----------------------------------------------------------------------------------------------------|
//! | `AtOnce`  | one upgrade with the default values: the old workers are refused until they are replaced           |
//! | `InSteps` | the two upgrades of `docs/upgrades.md`: the old workers are served until they are replaced         |
//!
//! New jobs are created until all workers are replaced, so that jobs run and wait during the whole change.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use tokio::time::sleep;
use vmafx_testkit::wait;

use super::ledger::{JobLedger, JobRequest, ensure_none, long_batch};
use super::logs;
use super::plan::Role;
use super::pods::{ReleasePods, is_ready};
use super::queue::QueueDatabase;
use super::summary::FaultSummary;
use super::verify::{QueuedJob, violations};
use crate::clips::Clips;
use crate::helm::Helm;
use crate::images::{Images, OlderRelease};
use crate::kubectl::Kubectl;
use crate::platform::Platform;
use crate::steps::Steps;
use crate::values::merge_values;

const NAMESPACE: &str = "upgrade";
const RELEASE: &str = "vmafx";
const BATCH_NAME: &str = "upgraded";
const WORKERS: usize = 3;
/// Account of workers in this release; it was `default` before.
const WORKER_ACCOUNT: &str = "vmafx-worker";
/// Set in workers that use TLS.
const TLS_VARIABLE: &str = "VMAFX_CONTROLLER_TLS";

/// Jobs that are created together, and fewer waiting jobs than which cause the next ones.
const CHUNK: usize = 24;
const MAX_JOBS: usize = 40 * CHUNK;
const TOP_UP_INTERVAL: Duration = Duration::from_secs(2);
/// Workers are replaced one after the other, and each may wait for its jobs and for its leases.
const ROLLOUT_TIMEOUT: Duration = Duration::from_mins(10);
const BATCH_TIMEOUT: Duration = Duration::from_mins(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpgradeRun {
    AtOnce,
    InSteps,
}

/// Upgrades the older release under load, and prints what became of the jobs.
pub async fn upgrade(
    platform: &Platform,
    steps: &mut Steps,
    older: &OlderRelease,
    run: UpgradeRun,
) -> Result<()> {
    let set_up = UpgradeFixture::set_up(platform, older);
    let mut fixture =
        steps.step("upgrade: the older release, without TLS, with three workers", set_up).await?;
    let name = match run {
        UpgradeRun::AtOnce => "upgrade: to this release at once, while jobs run and wait",
        UpgradeRun::InSteps => "upgrade: to this release in two steps, while jobs run and wait",
    };
    let summary = steps.step(name, Box::pin(fixture.run(run))).await?;
    println!("        {summary}");
    steps.step("upgrade: uninstall", fixture.tear_down()).await
}

struct UpgradeFixture<'a> {
    release: UpgradedRelease<'a>,
    queue: QueueDatabase,
    ledger: JobLedger,
}

/// What the upgrade changes.
struct UpgradedRelease<'a> {
    platform: &'a Platform,
    kubectl: Kubectl,
    pods: ReleasePods<'a>,
}

impl<'a> UpgradeFixture<'a> {
    async fn set_up(platform: &'a Platform, older: &OlderRelease) -> Result<Self> {
        platform.load(&older.images)?;
        platform.namespace(NAMESPACE).await?;
        let kubectl = platform.kubectl().namespaced(NAMESPACE);
        let external = platform.external_services().await?;
        let for_pods = external.database().await?;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "database" }, "stringData": { "uri": for_pods },
        });
        kubectl.apply(&secret.to_string()).await?;
        let release = UpgradedRelease { platform, kubectl, pods: ReleasePods::new(platform, NAMESPACE) };
        let helm = platform.helm().with_chart(&older.chart);
        helm.install(RELEASE, NAMESPACE, &release.values(&older.images, json!({}))).await?;
        let pool = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
            "spec": { "gpuVendor": "cpu", "capacity": 2, "replicas": WORKERS, "podTemplate": Clips::pod_template() },
        });
        release.kubectl.apply(&pool.to_string()).await?;
        release.kubectl.wait(&format!("jsonpath={{.status.readyReplicas}}={WORKERS}"), "vmnode/pool").await?;
        for pod in release.pods.live(Role::Node).await? {
            ensure!(account(&pod) != Some(WORKER_ACCOUNT), "the older release has accounts for workers");
            ensure!(!uses_tls(&pod), "the older release uses TLS");
        }
        let queue = QueueDatabase::new(external.database_on_host(&for_pods));
        Ok(Self { release, queue, ledger: JobLedger::open(platform.client(), NAMESPACE) })
    }

    async fn run(&mut self, run: UpgradeRun) -> Result<UpgradeSummary> {
        let jobs = long_batch(self.release.platform, BATCH_NAME, MAX_JOBS).await?;
        let mut chunks = jobs.chunks(CHUNK);
        self.create_next(&mut chunks).await?;
        self.create_next(&mut chunks).await?;
        self.ledger.history.until_ended(BATCH_NAME, WORKERS, BATCH_TIMEOUT).await?;
        let before = QueueCounts::of(&self.queue.jobs().await?);
        ensure!(
            before.running > 0 && before.waiting > 0,
            "no jobs run and wait before the upgrade: {before}"
        );

        let started = Instant::now();
        self.upgrade_under_load(run, &mut chunks).await?;
        let (took, upgraded) = (started.elapsed(), Instant::now());
        let after = QueueCounts::of(&self.queue.jobs().await?);
        ensure!(
            after.running + after.waiting > 0,
            "no jobs were left when the upgrade was complete: {after}"
        );

        let ended = self.ledger.until_batch_ended(BATCH_NAME, BATCH_TIMEOUT).await?;
        let recovery = upgraded.elapsed();
        let queue = self.queue.jobs().await?;
        let accepted = logs::accepted_reports(&self.release.pods.logs(Role::Node).await?);
        let JobLedger { requested, history, .. } = &self.ledger;
        let observed = history.jobs();
        let figures = FaultSummary::of(BATCH_NAME, &observed, &queue, recovery);
        let summary = UpgradeSummary { before, after, took, last: QueueCounts::of(&queue), figures };
        let verified = ensure_none(&violations(requested, &observed, &queue, &accepted)).and(ended);
        verified.with_context(|| summary.to_string())?;
        ensure!(summary.figures.scores == requested.len(), "not every job has a score: {summary}");
        Ok(summary)
    }

    /// Upgrades until all workers are replaced, and creates further jobs when few are left.
    async fn upgrade_under_load(
        &mut self,
        run: UpgradeRun,
        chunks: &mut impl Iterator<Item = &[JobRequest]>,
    ) -> Result<()> {
        let Self { release, queue, ledger } = self;
        let mut upgraded = Box::pin(release.upgrade(run));
        loop {
            tokio::select! {
                upgraded = &mut upgraded => return upgraded,
                () = sleep(TOP_UP_INTERVAL) => {}
            }
            // The upgrade goes on while the queue is read, because its commands are processes of their own.
            if QueueCounts::of(&queue.jobs().await?).waiting < CHUNK {
                let chunk = chunks.next().context("the jobs ended faster than the upgrade")?;
                ledger.create(chunk).await?;
            }
        }
    }

    async fn create_next(&mut self, chunks: &mut impl Iterator<Item = &[JobRequest]>) -> Result<()> {
        let chunk = chunks.next().context("there are no further jobs")?;
        self.ledger.create(chunk).await
    }

    async fn tear_down(self) -> Result<()> {
        let UpgradedRelease { platform, kubectl, .. } = self.release;
        kubectl.run(&["delete", "vmafxnodes", "--all", "--timeout=120s"]).await?;
        platform.helm().uninstall(RELEASE, NAMESPACE).await?;
        platform.remove(NAMESPACE).await
    }
}

impl UpgradedRelease<'_> {
    /// The values of a release with these images.
    fn values(&self, images: &Images, more: Value) -> Value {
        let common = json!({
            "operator": { "nodeDrain": "5s", "gracefulShutdown": "5s" },
            "controller": {
                "replicas": 2, "gracefulShutdown": "5s",
                "store": {
                    "backend": "postgres", "postgresql": { "secretName": "database" },
                    "leaseTTL": "15s", "sessionTTL": "1m", "sweepInterval": "1s", "backoffBase": "1s", "backoffMax": "2s",
                },
            },
        });
        self.platform.values_with(images, merge_values(common, more))
    }

    async fn upgrade(&self, run: UpgradeRun) -> Result<()> {
        let (helm, images) = (self.platform.helm(), self.platform.images());
        if run == UpgradeRun::InSteps {
            let role = format!("system:serviceaccount:{NAMESPACE}:default");
            let first = json!({
                "tls": { "acceptPlainText": true },
                "auth": { "subjects": { role: ["vmafx:node"] } },
            });
            self.apply(&helm, &self.values(images, first)).await?;
        }
        self.apply(&helm, &self.values(images, json!({}))).await
    }

    /// Upgrades, and waits until all workers are those of the new release.
    async fn apply(&self, helm: &Helm, values: &Value) -> Result<()> {
        helm.upgrade(RELEASE, NAMESPACE, values).await?;
        let replaced = async || {
            let pods = self.pods.live(Role::Node).await.map_err(|error| format!("{error:#}"))?;
            let new = |pod: &&Pod| account(pod) == Some(WORKER_ACCOUNT) && uses_tls(pod) && is_ready(pod);
            let (all, new) = (pods.len(), pods.iter().filter(new).count());
            if (all, new) == (WORKERS, WORKERS) {
                Ok(())
            } else {
                Err(format!("{new} of {all} are replaced"))
            }
        };
        Ok(wait::until(ROLLOUT_TIMEOUT, "the workers of the new release", replaced).await?)
    }
}

fn account(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.service_account_name.as_deref()
}

fn uses_tls(pod: &Pod) -> bool {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut variables = containers.flat_map(|container| container.env.iter().flatten());
    variables.any(|one| one.name == TLS_VARIABLE && one.value.as_deref() == Some("true"))
}

/// Jobs of the queue by what they do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct QueueCounts {
    waiting: usize,
    running: usize,
    completed: usize,
    /// Failed or cancelled.
    failed: usize,
}

impl QueueCounts {
    fn of(jobs: &[QueuedJob]) -> Self {
        let mut counts = Self::default();
        for job in jobs {
            let count = match job.status.as_str() {
                "pending" => &mut counts.waiting,
                "running" => &mut counts.running,
                "completed" => &mut counts.completed,
                _ => &mut counts.failed,
            };
            *count += 1;
        }
        counts
    }
}

impl fmt::Display for QueueCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiting, running, completed, failed } = self;
        write!(f, "{waiting} waiting, {running} running, {completed} completed, {failed} failed")
    }
}

/// What became of the jobs. The recovery is the time from the last replaced worker to the last job's end.
#[derive(Debug)]
struct UpgradeSummary {
    before: QueueCounts,
    after: QueueCounts,
    last: QueueCounts,
    took: Duration,
    figures: FaultSummary,
}

impl fmt::Display for UpgradeSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after, last, took, figures } = self;
        writeln!(f, "{figures}")?;
        writeln!(f, "        before the upgrade: {before}")?;
        writeln!(f, "        after it, {:.1} s later: {after}", took.as_secs_f64())?;
        write!(f, "        at the end: {last}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_counted_by_what_they_do() {
        let job =
            |status: &str| json!({ "id": "a", "uid": "u", "status": status, "score": null, "attempts": [] });
        let jobs = ["pending", "running", "running", "completed", "failed", "cancelled"].map(job);
        let jobs: Vec<QueuedJob> = serde_json::from_value(json!(jobs)).unwrap();
        assert_eq!(QueueCounts::of(&jobs).to_string(), "1 waiting, 2 running, 1 completed, 2 failed");
    }

    #[test]
    fn a_worker_uses_tls_if_its_environment_says_so() {
        let pod = |env: Value| -> Pod {
            serde_json::from_value(json!({ "spec": { "containers": [{ "name": "agent", "env": env }] } }))
                .unwrap()
        };
        assert!(uses_tls(&pod(json!([{ "name": TLS_VARIABLE, "value": "true" }]))));
        assert!(!uses_tls(&pod(json!([{ "name": TLS_VARIABLE, "value": "false" }]))));
        assert!(!uses_tls(&pod(json!([]))));
    }
}
