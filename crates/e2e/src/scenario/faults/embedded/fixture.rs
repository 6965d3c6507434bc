//! A release with the embedded store, whose controller reads the wall clock through libfaketime.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use vmafx_api::job::Phase;
use vmafx_testkit::wait;

use super::super::ledger::{JobLedger, JobRequest, ensure_none, long_batch};
use super::super::logs;
use super::super::plan::Role;
use super::super::pods::ReleasePods;
use super::super::summary::FaultSummary;
use super::super::verify::violations;
use super::store::SqliteQueue;
use crate::clips::Clips;
use crate::kubectl::Kubectl;
use crate::platform::{Platform, STEP_TIMEOUT};
use crate::values::merge_values;
use crate::volume::Volume;

const NAMESPACE: &str = "embedded";
const RELEASE: &str = "vmafx";
/// Mount path of the controller's volume.
pub(super) const STORE: &str = "/var/lib/vmafx";
pub(super) const DEPLOYMENT: &str = "deployment/vmafx-controller";
const DATABASE: &str = "vmafx-controller.db";
const LIBRARY: &str = "libfaketime.so.1";
/// Holds the offset of the clock, and is read at every look at it.
const OFFSET: &str = "clock-offset";
pub(super) const WORKERS: usize = 2;

pub(super) struct EmbeddedFixture<'a> {
    pub(super) platform: &'a Platform,
    pub(super) kubectl: Kubectl,
    pub(super) pods: ReleasePods<'a>,
    pub(super) ledger: JobLedger,
    pub(super) queue: SqliteQueue,
    /// Number of the next backup, because a backup replaces no file.
    pub(super) backups: usize,
    store: Volume,
}

impl<'a> EmbeddedFixture<'a> {
    /// Installs the release with these values of `controller.store`, and waits for its nodes.
    pub(super) async fn set_up(platform: &'a Platform, store: &Value) -> Result<Self> {
        platform.namespace(NAMESPACE).await?;
        let volume = platform.volume(NAMESPACE, &format!("{RELEASE}-controller")).await?;
        let library = libfaketime()?;
        fs::copy(&library, volume.host_path.join(LIBRARY))
            .with_context(|| format!("cannot copy {}", library.display()))?;
        let fixture = Self {
            platform,
            kubectl: platform.kubectl().namespaced(NAMESPACE),
            pods: ReleasePods::new(platform, NAMESPACE),
            ledger: JobLedger::open(platform.client(), NAMESPACE),
            queue: SqliteQueue::new(volume.host_path.join(DATABASE)),
            backups: 0,
            store: volume,
        };
        fixture.set_clock(0)?;
        let file = |name: &str| format!("{STORE}/{name}");
        let values = platform.values(json!({
            "operator": { "nodeDrain": "5s", "gracefulShutdown": "5s" },
            "controller": {
                "gracefulShutdown": "5s", "store": store,
                "extraEnv": [
                    { "name": "LD_PRELOAD", "value": file(LIBRARY) },
                    { "name": "FAKETIME_TIMESTAMP_FILE", "value": file(OFFSET) },
                    { "name": "FAKETIME_NO_CACHE", "value": "1" },
                    // Only the wall clock is stepped, as by NTP or an administrator.
                    { "name": "FAKETIME_DONT_FAKE_MONOTONIC", "value": "1" },
                ],
            },
        }));
        platform.helm().install(RELEASE, NAMESPACE, &values).await?;
        let node = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
            "spec": { "gpuVendor": "cpu", "capacity": 1, "replicas": WORKERS, "podTemplate": Clips::pod_template() },
        });
        fixture.kubectl.apply(&node.to_string()).await?;
        let ready = format!("jsonpath={{.status.readyReplicas}}={WORKERS}");
        fixture.kubectl.wait(&ready, "vmnode/pool").await?;
        Ok(fixture)
    }

    /// Steps the controller's wall clock to this many seconds from the real time.
    pub(super) fn set_clock(&self, offset: i64) -> Result<()> {
        let path = self.store.host_path.join(OFFSET);
        // The file is replaced, because the controller must never read half an offset.
        let new = path.with_extension("new");
        fs::write(&new, format!("{offset:+}\n"))?;
        fs::rename(&new, &path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Creates jobs that take seconds each; `extra` extends their spec by their number.
    pub(super) async fn submit(
        &mut self,
        batch: &str,
        count: usize,
        extra: impl Fn(usize) -> Value,
    ) -> Result<()> {
        let mut jobs = long_batch(self.platform, batch, count).await?;
        for (number, (_, spec, _)) in jobs.iter_mut().enumerate() {
            *spec = merge_values(spec.take(), extra(number));
        }
        self.create(&jobs).await
    }

    /// Records the requests; awaiting the result creates the jobs.
    pub(super) fn create(&mut self, batch: &[JobRequest]) -> impl Future<Output = Result<()>> + use<> {
        self.ledger.create(batch)
    }

    /// Waits until the first job of a batch is in a phase.
    pub(super) async fn until_phase(&self, batch: &str, phase: Phase) -> Result<()> {
        let name = format!("{batch}-000");
        let reached = async || {
            let job = self.ledger.jobs.get(&name).await.map_err(|error| error.to_string())?;
            let status = job.status.unwrap_or_default();
            if status.phase == Some(phase) { Ok(()) } else { Err(format!("{status:?}")) }
        };
        Ok(wait::until(STEP_TIMEOUT, &format!("{name} to be {phase:?}"), reached).await?)
    }

    /// Waits until a batch has ended, and verifies all jobs that were requested so far.
    pub(super) async fn verify_batch(&mut self, batch: &str) -> Result<()> {
        let ended = self.ledger.until_batch_ended(batch, STEP_TIMEOUT).await?;
        let accepted = logs::accepted_reports(&self.pods.logs(Role::Node).await?);
        let JobLedger { requested, history, .. } = &self.ledger;
        ensure_none(&violations(requested, &history.jobs(), &self.queue.jobs().await?, &accepted))?;
        ended
    }

    /// The figures of a batch; the empty name stands for all jobs.
    pub(super) async fn summary(&self, batch: &str, recovery: Duration) -> Result<FaultSummary> {
        Ok(FaultSummary::of(batch, &self.ledger.history.jobs(), &self.queue.jobs().await?, recovery))
    }

    /// Changes the number of controllers, and waits until they are ready or gone.
    pub(super) async fn scale_controller(&self, replicas: usize) -> Result<()> {
        self.kubectl.run(&["scale", DEPLOYMENT, &format!("--replicas={replicas}")]).await?;
        if replicas == 0 {
            return self.pods.until_gone(Role::Controller).await;
        }
        self.pods.until_ready(Role::Controller, replicas).await
    }

    pub(super) async fn until_all_ready(&self) -> Result<()> {
        for (role, count) in [(Role::Operator, 1), (Role::Controller, 1), (Role::Node, WORKERS)] {
            self.pods.until_ready(role, count).await?;
        }
        Ok(())
    }

    pub(super) async fn tear_down(self) -> Result<()> {
        self.kubectl.run(&["delete", "vmafxnodes", "--all", "--timeout=120s"]).await?;
        self.platform.helm().uninstall(RELEASE, NAMESPACE).await?;
        self.platform.remove(NAMESPACE).await?;
        // A later scenario on this cluster must not find the jobs of this one.
        let store = &self.store.host_path;
        fs::remove_dir_all(store).with_context(|| format!("cannot remove {}", store.display()))
    }
}

/// The library as Debian installs it; `make setup` installs it.
fn libfaketime() -> Result<PathBuf> {
    let found = fs::read_dir("/usr/lib")?
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("faketime").join(LIBRARY))
        .find(|path| path.is_file());
    found.context("libfaketime is not installed: run make setup")
}
