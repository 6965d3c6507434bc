//! Writes the reports of agents to the status of their VmafxNode: `lastHeartbeat`, `assignedJobs`, `detectedDevice` and
//! `quarantine`.
//!
//! The controller owns these fields and the operator all others. Each side writes by server-side apply under its
//! own field manager, so neither can change the other's fields.
//!
//! A resource is written at most once in [`plan::MIN_WRITE_INTERVAL`], however many controllers run: a write carries the
//! resource version of the read that found it due. If two controllers find the same write due, one gets a conflict, and
//! its next read finds nothing due.

mod apply;
mod plan;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use kube::Client;
use tokio::time::{Instant, MissedTickBehavior};
use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, LabelSet, Metrics};
use vmafx_kit::tasks::Shutdown;
use vmafx_queue::Store;

use self::apply::apply;
use self::plan::{AgentSummary, MIN_WRITE_INTERVAL, Resource, summarize};

/// Owner of what the controller writes to resources.
pub(crate) const FIELD_MANAGER: &str = "vmafx-controller";

const POLL_INTERVAL: Duration = Duration::from_secs(5);

const MAX_CONCURRENT_WRITES: usize = 8;

closed_label! {
    pub enum StatusOutcome: "outcome" {
        Written = "written",
        /// The status is current, or another controller wrote it first.
        NotDue = "not_due",
        /// The resource no longer exists.
        Gone = "gone",
        /// The API server refused the write or did not answer.
        Failed = "failed",
    }
}

pub struct NodeStatusWriter {
    store: Arc<dyn Store>,
    client: Client,
    cluster: String,
    outcomes: CounterBy<(StatusOutcome,)>,
    written: BTreeMap<Resource, WrittenStatus>,
}

#[derive(Clone, Debug)]
struct WrittenStatus {
    summary: AgentSummary,
    at: Instant,
}

impl NodeStatusWriter {
    /// `cluster` is the name that agents of this cluster report; agents of other clusters are ignored.
    pub fn new(
        store: Arc<dyn Store>,
        client: Client,
        cluster: impl Into<String>,
        metrics: &mut Metrics,
    ) -> Self {
        let outcomes = metrics
            .counter_by("controller_node_status_looks", "Checks of the status of a VmafxNode by outcome");
        Self { store, client, cluster: cluster.into(), outcomes, written: BTreeMap::new() }
    }

    /// Runs until shutdown. After a failed request the next round tries again.
    pub async fn run(mut self, shutdown: Shutdown) -> Result<(), Infallible> {
        let mut rounds = tokio::time::interval(POLL_INTERVAL);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while shutdown.run_until_begun(rounds.tick()).await.is_some() {
            if shutdown.run_until_begun(self.round()).await.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Checks every resource that has or had agents and was not written within the minimum interval.
    pub async fn round(&mut self) {
        let nodes = match self.store.nodes_with_resource().await {
            Ok(nodes) => nodes,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot read the nodes from the store"
                );
                return;
            }
        };
        let mut summaries = summarize(&nodes, &self.cluster);
        for (resource, written) in &self.written {
            summaries.entry(resource.clone()).or_insert_with(|| written.summary.without_agents());
        }
        let now = Instant::now();
        let interval_passed = |resource: &Resource| {
            self.written
                .get(resource)
                .is_none_or(|written| now.duration_since(written.at) >= MIN_WRITE_INTERVAL)
        };
        let due: Vec<_> = summaries.into_iter().filter(|(resource, _)| interval_passed(resource)).collect();
        let client = &self.client;
        let checks = stream::iter(due).map(|(resource, summary)| async move {
            let outcome = apply(client, &resource, &summary).await;
            (resource, summary, outcome)
        });
        let done: Vec<_> = checks.buffer_unordered(MAX_CONCURRENT_WRITES).collect().await;
        for (resource, summary, outcome) in done {
            self.outcomes.get_or_create(&LabelSet((outcome,))).inc();
            match outcome {
                StatusOutcome::Written if summary.agents > 0 => {
                    self.written.insert(resource, WrittenStatus { summary, at: now });
                }
                // A resource without agents whose status has no jobs needs no further check.
                StatusOutcome::Written | StatusOutcome::Gone => drop(self.written.remove(&resource)),
                StatusOutcome::NotDue if summary.agents == 0 => drop(self.written.remove(&resource)),
                StatusOutcome::NotDue | StatusOutcome::Failed => {}
            }
        }
    }
}
