//! A release with the embedded store, whose controller reads the wall clock through libfaketime.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use vmafx_api::VmafxJob;
use vmafx_api::job::{Phase, VmafxJobStatus};
use vmafx_testkit::wait;

use crate::clips::Clips;
use crate::kubectl::Kubectl;
use crate::platform::{Platform, STEP_TIMEOUT};
use crate::values::merge_values;
use crate::volume::Volume;

const NAMESPACE: &str = "embedded";
const RELEASE: &str = "vmafx";
/// Mount path of the controller's volume.
pub(super) const STORE: &str = "/var/lib/vmafx";
const LIBRARY: &str = "libfaketime.so.1";
/// Holds the offset of the clock, and is read at every look at it.
const OFFSET: &str = "clock-offset";

pub(super) struct EmbeddedFixture<'a> {
    pub(super) kubectl: Kubectl,
    platform: &'a Platform,
    jobs: Api<VmafxJob>,
    store: Volume,
    score: f64,
}

impl<'a> EmbeddedFixture<'a> {
    pub(super) async fn set_up(platform: &'a Platform) -> Result<Self> {
        platform.namespace(NAMESPACE).await?;
        let store = platform.volume(NAMESPACE, &format!("{RELEASE}-controller")).await?;
        let library = libfaketime()?;
        fs::copy(&library, store.host_path.join(LIBRARY))
            .with_context(|| format!("cannot copy {}", library.display()))?;
        let fixture = Self {
            kubectl: platform.kubectl().namespaced(NAMESPACE),
            jobs: Api::namespaced(platform.client(), NAMESPACE),
            score: platform.clips().score([Clips::LONG; 2]).await?,
            platform,
            store,
        };
        fixture.set_clock(0)?;
        let file = |name: &str| format!("{STORE}/{name}");
        let values = platform.values(json!({
            "operator": { "nodeDrain": "5s", "gracefulShutdown": "5s" },
            "controller": {
                "gracefulShutdown": "5s",
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
            "spec": { "gpuVendor": "cpu", "capacity": 1, "replicas": 2, "podTemplate": Clips::pod_template() },
        });
        fixture.kubectl.apply(&node.to_string()).await?;
        fixture.kubectl.wait("jsonpath={.status.readyReplicas}=2", "vmnode/pool").await?;
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

    /// Creates jobs that take seconds each.
    pub(super) async fn submit(&self, batch: &str, count: usize, extra: &Value) -> Result<()> {
        for number in 0..count {
            let job = json!({
                "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
                "metadata": { "name": format!("{batch}-{number}") },
                "spec": merge_values(Clips::job([Clips::LONG; 2]), extra.clone()),
            });
            let created = self.jobs.create(&PostParams::default(), &serde_json::from_value(job)?).await;
            created.with_context(|| format!("cannot create a job of {batch}"))?;
        }
        Ok(())
    }

    /// Waits until a job of a batch is in a phase.
    pub(super) async fn until_phase(&self, batch: &str, phase: Phase) -> Result<()> {
        let name = format!("{batch}-0");
        let reached = async || {
            let job = self.jobs.get(&name).await.map_err(|error| error.to_string())?;
            let status = job.status.unwrap_or_default();
            if status.phase == Some(phase) { Ok(()) } else { Err(format!("{status:?}")) }
        };
        Ok(wait::until(STEP_TIMEOUT, &format!("{name} to be {phase:?}"), reached).await?)
    }

    /// Waits until every job of a batch has its score, and checks that each took one attempt.
    pub(super) async fn verify(&self, batch: &str, count: usize) -> Result<()> {
        for (name, status) in self.verify_scores(batch, count).await? {
            ensure!(status.attempts == Some(1), "{name} took several attempts: {status:?}");
        }
        Ok(())
    }

    /// Waits until every job of a batch has its score.
    pub(super) async fn verify_scores(
        &self,
        batch: &str,
        count: usize,
    ) -> Result<BTreeMap<String, VmafxJobStatus>> {
        let mut statuses = BTreeMap::new();
        for number in 0..count {
            let name = format!("{batch}-{number}");
            let ended = async || {
                let job = self.jobs.get(&name).await.map_err(|error| error.to_string())?;
                let status = job.status.unwrap_or_default();
                if status.phase.is_some_and(Phase::is_last) { Ok(status) } else { Err(format!("{status:?}")) }
            };
            let status = wait::until(STEP_TIMEOUT, &format!("{name} to end"), ended).await?;
            ensure!(status.score == Some(self.score), "{name} has not the score of its clips: {status:?}");
            statuses.insert(name, status);
        }
        Ok(statuses)
    }

    pub(super) async fn tear_down(self) -> Result<()> {
        self.kubectl.run(&["delete", "vmafxnodes", "--all", "--timeout=120s"]).await?;
        self.platform.helm().uninstall(RELEASE, NAMESPACE).await?;
        self.platform.remove(NAMESPACE).await
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
