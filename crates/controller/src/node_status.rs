//! Shows on each VmafxNode what its agents tell by heartbeat: `lastHeartbeat`, `assignedJobs`, `detectedDevice`.
//!
//! These three fields are the controller's; all others are the operator's. Each side writes by server-side apply under
//! its own field manager, so that neither can touch what the other owns.
//!
//! At most one write per resource in [`plan::SPACING`], however many controllers run: a write carries the resource
//! version of the read that found it due, so that of two controllers that found the same thing one is refused, and
//! the other's next read finds nothing due.

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
use self::plan::{Resource, SPACING, Seen, gather};

/// How often the registry is looked at.
const ROUND: Duration = Duration::from_secs(5);

/// Writes at the same time.
const AT_ONCE: usize = 8;

closed_label! {
    /// What became of a look at a resource.
    pub enum Outcome: "outcome" {
        /// Its status was written.
        Written = "written",
        /// It was right, or somebody wrote just before.
        NotDue = "not_due",
        /// There is no such resource any more.
        Gone = "gone",
        /// The API server refused or did not answer.
        Failed = "failed",
    }
}

/// Keeps the status of nodes up to date.
pub struct NodeStatusWriter {
    store: Arc<dyn Store>,
    client: Client,
    cluster: String,
    outcomes: CounterBy<(Outcome,)>,
    shown: BTreeMap<Resource, Shown>,
}

/// What was last looked at, and when.
#[derive(Clone, Debug)]
struct Shown {
    seen: Seen,
    at: Instant,
}

impl NodeStatusWriter {
    /// `cluster` is the name by which agents of this cluster call it; agents of others are left to their own.
    pub fn new(
        store: Arc<dyn Store>,
        client: Client,
        cluster: impl Into<String>,
        metrics: &mut Metrics,
    ) -> Self {
        let outcomes = metrics.counter_by(
            "controller_node_status_looks",
            "Looks at the status of a VmafxNode, by what became of it",
        );
        Self { store, client, cluster: cluster.into(), outcomes, shown: BTreeMap::new() }
    }

    /// Works until shutdown. An API server that does not answer stops nothing: the next round tries again.
    pub async fn run(mut self, shutdown: Shutdown) -> Result<(), Infallible> {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while shutdown.run_until_begun(rounds.tick()).await.is_some() {
            if shutdown.run_until_begun(self.round()).await.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Looks at every resource that has agents, or had some, and was not looked at lately.
    pub async fn round(&mut self) {
        let nodes = match self.store.nodes_with_resource().await {
            Ok(nodes) => nodes,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot read the nodes");
                return;
            }
        };
        let mut wanted = gather(&nodes, &self.cluster);
        for (resource, shown) in &self.shown {
            wanted.entry(resource.clone()).or_insert_with(|| shown.seen.without_agents());
        }
        let now = Instant::now();
        let rested = |resource: &Resource| {
            self.shown.get(resource).is_none_or(|shown| now.duration_since(shown.at) >= SPACING)
        };
        let due: Vec<_> = wanted.into_iter().filter(|(resource, _)| rested(resource)).collect();
        let client = &self.client;
        let looks = stream::iter(due).map(|(resource, seen)| async move {
            let outcome = apply(client, &resource, &seen).await;
            (resource, seen, outcome)
        });
        let done: Vec<_> = looks.buffer_unordered(AT_ONCE).collect().await;
        for (resource, seen, outcome) in done {
            self.outcomes.get_or_create(&LabelSet((outcome,))).inc();
            match outcome {
                Outcome::Written if seen.agents > 0 => {
                    self.shown.insert(resource, Shown { seen, at: now });
                }
                // A resource without agents that shows no jobs needs no further look.
                Outcome::Written | Outcome::Gone => drop(self.shown.remove(&resource)),
                Outcome::NotDue if seen.agents == 0 => drop(self.shown.remove(&resource)),
                Outcome::NotDue | Outcome::Failed => {}
            }
        }
    }
}
