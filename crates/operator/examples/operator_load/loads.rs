//! The loads, each of which returns its figures.

use std::collections::HashSet;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::Problem;
use crate::agents::Agents;
use crate::cluster::Cluster;

/// 20 jobs per second.
const CREATE_INTERVAL: Duration = Duration::from_millis(50);

/// A name prefix that is unique to this run, so that a cluster can be loaded again.
fn prefix(load: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{load}-{}", now.as_millis())
}

/// Jobs per second, from creation to Succeeded.
pub(crate) async fn jobs(cluster: &Cluster, agents: Agents, number: usize) -> Result<Value, Problem> {
    let prefix = prefix("job");
    let succeeded = cluster.succeeded().await?;
    let begun = Instant::now();
    let done = async {
        let mut left = number;
        let mut succeeded = pin!(succeeded);
        let mut seen = HashSet::new();
        while left > 0 {
            let name = succeeded.next().await.ok_or("the watch ended")??;
            if name.starts_with(&prefix) && seen.insert(name) {
                left -= 1;
            }
        }
        Ok::<_, Problem>(begun.elapsed())
    };
    let work = async { agents.work().await.map(|()| Duration::ZERO) };
    let all = async { tokio::try_join!(cluster.create(&prefix, number, "cpu"), done).map(|((), took)| took) };
    let took = tokio::select! {
        took = all => took?,
        ended = work => ended?,
    };
    Ok(json!({ "per_second": per_second(number, took) }))
}

/// Latency from the controller's response to a report until the status is written.
pub(crate) async fn paced(cluster: &Cluster, agents: Agents, number: usize) -> Result<Value, Problem> {
    let prefix = prefix("paced");
    let creating = async {
        let mut ticks = tokio::time::interval(CREATE_INTERVAL);
        for index in 0..number {
            ticks.tick().await;
            cluster.create_one(&format!("{prefix}-{index}"), "cpu").await?;
        }
        Ok::<_, Problem>(())
    };
    let succeeded = cluster.succeeded().await?;
    let watching = async {
        let mut took = Vec::new();
        let mut succeeded = pin!(succeeded);
        let mut seen = HashSet::new();
        while took.len() < number {
            let name = succeeded.next().await.ok_or("the watch ended")??;
            if name.starts_with(&prefix) && seen.insert(name.clone()) {
                // The status may arrive before the response to the report.
                took.push(agents.reported(&name).map_or(Duration::ZERO, |at| at.elapsed()));
            }
        }
        Ok::<_, Problem>(took)
    };
    let all = async { tokio::try_join!(creating, watching).map(|((), took)| took) };
    let mut took = tokio::select! {
        took = all => took?,
        ended = agents.work() => ended.map(|()| Vec::new())?,
    };
    took.sort_unstable();
    let at = |share: usize| took.get(took.len() * share / 100).map_or(0.0, |time| time.as_secs_f64() * 1e3);
    Ok(json!({ "p50_ms": at(50), "p99_ms": at(99) }))
}

/// The cost of the same writes without an operator.
pub(crate) async fn bare(cluster: &Cluster, number: usize) -> Result<Value, Problem> {
    let prefix = prefix("bare");
    let begun = Instant::now();
    cluster
        .each(number, |index| {
            let name = format!("{prefix}-{index}");
            async move {
                // No node serves this backend, so that no one else writes the status.
                cluster.create_one(&name, "metal").await?;
                cluster.write(&name, &running()).await?;
                cluster.write(&name, &finished_status()).await
            }
        })
        .await?;
    Ok(json!({ "per_second": per_second(number, begun.elapsed()) }))
}

/// Creates jobs that already have their final status.
pub(crate) async fn finished(cluster: &Cluster, number: usize) -> Result<Value, Problem> {
    bare(cluster, number).await
}

/// Creates jobs that wait for a backend that no node serves.
pub(crate) async fn waiting(cluster: &Cluster, number: usize) -> Result<Value, Problem> {
    cluster.create(&prefix("waiting"), number, "cuda").await?;
    Ok(json!({}))
}

fn per_second(number: usize, took: Duration) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX)) / took.as_secs_f64()
}

fn running() -> Value {
    json!({ "phase": "Running", "assignedNode": "bench", "conditions": conditions("Running", "Scoring") })
}

fn finished_status() -> Value {
    json!({
        "phase": "Succeeded", "score": 93.25, "finishedAt": "2026-01-01T00:00:00Z",
        "conditions": conditions("Complete", "Scored"),
    })
}

/// The same conditions that the operator writes.
fn conditions(holds: &str, reason: &str) -> Value {
    let all = ["Accepted", "Running", "Complete", "Failed", "Suspended"];
    let condition = |type_: &str| {
        json!({
            "type": type_, "status": if type_ == holds { "True" } else { "False" }, "reason": reason,
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
        })
    };
    all.into_iter().map(condition).collect()
}
