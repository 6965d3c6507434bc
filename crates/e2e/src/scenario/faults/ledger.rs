//! The jobs that a run requested, and what became of them in Kubernetes.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use vmafx_api::VmafxJob;

use super::history::PhaseHistory;
use super::verify::{ExpectedEnd, Violation};
use crate::clips::Clips;
use crate::platform::Platform;

/// Number of pairs of clips with different scores.
const PAIRS: usize = 20;
const CONCURRENT_REQUESTS: usize = 16;
/// Violations that an error lists.
const LISTED: usize = 40;

/// Name and spec of a job, and the end that it must have.
pub(super) type JobRequest = (String, Value, ExpectedEnd);

/// The requested jobs of one namespace and their phases.
pub(super) struct JobLedger {
    pub(super) jobs: Api<VmafxJob>,
    pub(super) history: PhaseHistory,
    pub(super) requested: BTreeMap<String, ExpectedEnd>,
}

impl JobLedger {
    pub(super) fn open(client: Client, namespace: &str) -> Self {
        let jobs: Api<VmafxJob> = Api::namespaced(client, namespace);
        Self { history: PhaseHistory::open(jobs.clone()), jobs, requested: BTreeMap::new() }
    }

    /// Records the requests; awaiting the result creates the jobs.
    pub(super) fn create(&mut self, batch: &[JobRequest]) -> impl Future<Output = Result<()>> + use<> {
        self.requested.extend(batch.iter().map(|(name, _, end)| (name.clone(), end.clone())));
        create_all(self.jobs.clone(), batch.to_vec())
    }

    /// Waits until all requested jobs of a batch have ended. The inner result is a timeout, after which the caller still
    /// verifies the jobs, because violations say more.
    pub(super) async fn until_batch_ended(&mut self, batch: &str, timeout: Duration) -> Result<Result<()>> {
        let count = self.requested.keys().filter(|name| name.starts_with(batch)).count();
        let ended = self.history.until_ended(batch, count, timeout).await;
        // The list covers events that the watch has missed.
        for job in self.list().await? {
            self.history.record(&job);
        }
        Ok(ended)
    }

    /// The jobs as they are now. The history does not record them, because it still gets the events until now from its watch.
    pub(super) async fn list(&self) -> Result<Vec<VmafxJob>> {
        Ok(self.jobs.list(&ListParams::default()).await?.items)
    }
}

/// Fails with the violations, if there are any.
pub(super) fn ensure_none(found: &[Violation]) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = found.iter().take(LISTED).map(|finding| format!("  {finding}")).collect();
    bail!("{} violations:\n{}", found.len(), lines.join("\n"))
}

/// Pairs of clips with their scores.
pub(super) struct ScoredPairs(Vec<([String; 2], f64)>);

impl ScoredPairs {
    pub(super) async fn score(platform: &Platform) -> Result<Self> {
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
        Ok(Self(pairs))
    }

    /// A batch of jobs that uses the pairs in turn. Nothing is created yet.
    pub(super) fn batch(&self, batch: &str, count: usize) -> Vec<JobRequest> {
        let pairs = self.0.iter().cycle().take(count).enumerate();
        let request = |(number, ([reference, distorted], score)): (usize, &([String; 2], f64))| {
            (format!("{batch}-{number:03}"), Clips::job([reference, distorted]), ExpectedEnd::Score(*score))
        };
        pairs.map(request).collect()
    }
}

/// A batch of jobs that take seconds each. Nothing is created yet.
pub(super) async fn long_batch(platform: &Platform, batch: &str, count: usize) -> Result<Vec<JobRequest>> {
    let score = platform.clips().score([Clips::LONG; 2]).await?;
    let job =
        |number| (format!("{batch}-{number:03}"), Clips::job([Clips::LONG; 2]), ExpectedEnd::Score(score));
    Ok((0..count).map(job).collect())
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
