//! Two controllers on one Postgres database.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use serde_json::json;
use tokio::task::JoinSet;
use vmafx_job::TenantLimits;
use vmafx_queue::node::Credentials;
use vmafx_queue::postgres::{Options, PostgresStore};
use vmafx_queue::{JobId, Store, TenantId};
use vmafx_testkit::postgres::PostgresServer;

use crate::measure::{self, Bench};

/// Concurrent callers of each controller, each of which repeatedly submits, claims and reports a job.
const CALLERS: usize = 32;

/// Measures the given database, or one on its own server.
pub(crate) async fn run(dsn: Option<&str>, backlog: usize) -> anyhow::Result<()> {
    let server = if dsn.is_none() { Some(PostgresServer::start().await?) } else { None };
    let dsn = match (dsn, &server) {
        (Some(dsn), _) => dsn.to_owned(),
        (None, Some(server)) => server.database().await?.dsn().to_owned(),
        (None, None) => bail!("no server"),
    };
    let stores = [open(&dsn).await?, open(&dsn).await?];
    let count = backlog / 4;
    let empty = cycles(&stores, count).await?;
    let bench = Bench::new(stores[0].clone(), 2 * CALLERS).await?;
    let one_by_one = bench.claim_latency(500).await?;
    let submit = bench.submit(backlog, "cuda").await?;
    let behind = bench.claim_latency(500).await?;
    let full = cycles(&stores, count).await?;
    let heartbeats = bench.heartbeats(count).await?;
    for store in &stores {
        store.close().await;
    }
    let figures = json!({
        "store": "postgres, its own settings, fsync on, two controllers",
        "callers": 2 * CALLERS,
        "backlog": backlog,
        "cycles_per_second": empty,
        "cycles_per_second_behind_a_backlog_nobody_serves": full,
        "submit_per_second": submit,
        "heartbeats_per_second": heartbeats,
        "cycle_microseconds_on_an_empty_queue": one_by_one,
        "cycle_microseconds_behind_a_backlog_nobody_serves": behind,
        "unserved_backlog_ratio": behind / one_by_one,
        "resident_bytes": measure::resident_bytes(),
    });
    println!("{}", serde_json::to_string_pretty(&figures)?);
    Ok(())
}

async fn open(dsn: &str) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Arc::new(PostgresStore::connect(Options::new(dsn)).await.context("the database cannot be used")?))
}

/// Jobs per second that callers of both controllers submit, claim and report. Fails if a job is claimed twice.
async fn cycles(stores: &[Arc<dyn Store>], count: usize) -> anyhow::Result<f64> {
    let tenant = TenantId::new("cycles")?;
    let started = Arc::new(AtomicUsize::new(0));
    let mut nodes = Vec::new();
    for number in 0..CALLERS * stores.len() {
        let store = stores[number % stores.len()].clone();
        let node = store.register(&tenant, measure::node(number), &TenantLimits::default()).await?;
        nodes.push((store, node));
    }
    let begin = Instant::now();
    let mut callers = JoinSet::new();
    for (store, node) in nodes {
        callers.spawn(caller(store, tenant.clone(), node, started.clone(), count));
    }
    let mut taken = HashSet::new();
    while let Some(ended) = callers.join_next().await {
        for id in ended?? {
            ensure!(taken.insert(id), "{id} was taken twice");
        }
    }
    ensure!(taken.len() == count, "{} of {count} jobs were taken", taken.len());
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    let count = count as f64;
    Ok(count / begin.elapsed().as_secs_f64())
}

async fn caller(
    store: Arc<dyn Store>,
    tenant: TenantId,
    node: Credentials,
    started: Arc<AtomicUsize>,
    count: usize,
) -> anyhow::Result<Vec<JobId>> {
    let mut taken = Vec::new();
    while started.fetch_add(1, Ordering::Relaxed) < count {
        store.submit(&tenant, measure::job("cpu"), &TenantLimits::default()).await?;
        taken.push(measure::cycle(&*store, &tenant, &node).await?);
    }
    Ok(taken)
}
