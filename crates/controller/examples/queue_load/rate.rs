//! How much in a second.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::task::LocalSet;

use crate::caller::{self, Callers, LoadNode, job};

/// Calls that wait at the same time.
const IN_FLIGHT: usize = 64;

/// Tickets for so much work.
#[derive(Clone)]
struct Tickets(Rc<Cell<usize>>);

impl Tickets {
    fn new(count: usize) -> Self {
        Self(Rc::new(Cell::new(count)))
    }

    fn take(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left > 0
    }
}

/// Lets 64 callers do their part at the same time, and tells how many jobs a second that makes. `part` answers with
/// the jobs that it was given; none may come twice.
async fn load<F>(jobs: usize, part: impl Fn(usize, Tickets) -> F) -> anyhow::Result<Value>
where
    F: Future<Output = anyhow::Result<Vec<String>>> + 'static,
{
    let tickets = Tickets::new(jobs);
    let local = LocalSet::new();
    let begun = Instant::now();
    let parts: Vec<_> =
        (0..IN_FLIGHT).map(|number| local.spawn_local(part(number, tickets.clone()))).collect();
    let mut ids = HashSet::with_capacity(jobs);
    local
        .run_until(async {
            for part in parts {
                for id in part.await?? {
                    ensure!(ids.insert(id), "a job was handed out twice");
                }
            }
            Ok(())
        })
        .await?;
    let seconds = begun.elapsed().as_secs_f64();
    ensure!(ids.len() == jobs, "{} of {jobs} jobs", ids.len());
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    let rate = jobs as f64 / seconds;
    Ok(json!({ "jobs": jobs, "in_flight": IN_FLIGHT, "per_second": rate }))
}

/// Submissions, one job per call.
pub(crate) async fn submit(callers: &Callers, jobs: usize, backend: &str) -> anyhow::Result<Value> {
    let backend = if backend == "any" { "" } else { backend };
    load(jobs, |number, tickets| {
        let (mut client, request) = (callers.get(number), job(backend));
        async move {
            let mut ids = Vec::new();
            while tickets.take() {
                ids.push(caller::submit(&mut client, &request).await?);
            }
            Ok(ids)
        }
    })
    .await
}

/// Pulls and reports of jobs that are there.
pub(crate) async fn work(callers: &Callers, jobs: usize) -> anyhow::Result<Value> {
    let nodes = nodes(callers).await?;
    load(jobs, |number, tickets| {
        let mut node = nodes[number].clone();
        async move {
            let mut ids = Vec::new();
            while tickets.take() {
                let job = node.pull(0).await?.context("no job")?;
                node.report(&job).await?;
                ids.push(job.id);
            }
            Ok(ids)
        }
    })
    .await
}

/// Whole lives: everybody submits one, then does the next that is there.
pub(crate) async fn cycles(callers: &Callers, jobs: usize) -> anyhow::Result<Value> {
    let nodes = nodes(callers).await?;
    load(jobs, |number, tickets| {
        let (mut client, mut node, request) = (callers.get(number), nodes[number].clone(), job("cpu"));
        async move {
            let mut ids = Vec::new();
            while tickets.take() {
                caller::submit(&mut client, &request).await?;
                // Somebody else may hold it already; then theirs comes.
                let job = node.pull(10_000).await?.context("no job")?;
                node.report(&job).await?;
                ids.push(job.id);
            }
            Ok(ids)
        }
    })
    .await
}

async fn nodes(callers: &Callers) -> anyhow::Result<Vec<LoadNode>> {
    let mut nodes = Vec::new();
    for number in 0..IN_FLIGHT {
        nodes.push(LoadNode::register(callers.get(number), number).await?);
    }
    Ok(nodes)
}
