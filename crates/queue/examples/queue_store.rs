//! Measures a store: `queue_store sqlite PATH`, where PATH is a file that does not exist yet, or `queue_store
//! postgres [DSN]`, which starts its own server unless it is given a database.
//!
//! Prints one JSON object. Every rate counts durable operations. For comparison it contains the rate of synced 1
//! KiB appends in the same directory. `VMAFX_BENCH_JOBS` sets the length of the backlog.

#[path = "queue_store/measure.rs"]
mod measure;
#[path = "queue_store/postgres.rs"]
mod postgres;
#[path = "queue_store/raw.rs"]
mod raw;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use serde_json::json;
use vmafx_job::TenantLimits;
use vmafx_queue::Store;
use vmafx_queue::clock::SteadyClock;
use vmafx_queue::policy::Policy;
use vmafx_queue::sqlite::{Options, SqliteStore};

use measure::Bench;

/// Number of concurrent calls.
const IN_FLIGHT: usize = 64;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let backlog = match std::env::var("VMAFX_BENCH_JOBS") {
        Ok(text) => text.parse().context("VMAFX_BENCH_JOBS is not a number")?,
        Err(_) => 100_000,
    };
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["sqlite", path] => sqlite(&PathBuf::from(path), backlog).await,
        ["postgres"] => postgres::run(None, backlog).await,
        ["postgres", dsn] => postgres::run(Some(dsn), backlog).await,
        _ => bail!("usage: queue_store sqlite PATH | postgres [DSN]"),
    }
}

async fn sqlite(path: &Path, backlog: usize) -> anyhow::Result<()> {
    ensure!(!path.exists(), "{} exists: figures of a used file cannot be compared", path.display());
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let raw_before = raw::synced_appends(directory)?;
    let clock = Arc::new(SteadyClock::start());
    let options = Options { path: path.to_owned(), policy: Policy::default(), clock, reserve: 0 };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(options)?);
    let mut figures = figures(store.clone(), backlog).await?;
    store.close().await;
    let raw_after = raw::synced_appends(directory)?;
    figures["store"] = json!("sqlite, WAL, synchronous=FULL");
    figures["raw_synced_appends_per_second"] = json!([raw_before, raw_after]);
    figures["file_bytes"] = json!(std::fs::metadata(path)?.len());
    println!("{}", serde_json::to_string_pretty(&figures)?);
    Ok(())
}

async fn figures(store: Arc<dyn Store>, backlog: usize) -> anyhow::Result<serde_json::Value> {
    let bench = Bench::new(store, IN_FLIGHT).await?;
    let empty = bench.claim_latency(backlog / 50).await?;
    let submit = bench.submit(backlog, "cuda", &TenantLimits::default()).await?;
    let unserved = bench.claim_latency(backlog / 50).await?;
    bench.submit(backlog, "", &TenantLimits::default()).await?;
    let cycle = bench.cycle(backlog / 2).await?;
    let resident = measure::resident_bytes();
    let heartbeats = bench.heartbeats(backlog).await?;
    Ok(json!({
        "in_flight": IN_FLIGHT,
        "backlog": backlog,
        "submit_per_second": submit,
        "claim_and_report_per_second": cycle,
        "heartbeats_per_second": heartbeats,
        "cycle_microseconds_on_an_empty_queue": empty,
        "cycle_microseconds_behind_a_backlog_nobody_serves": unserved,
        "unserved_backlog_ratio": unserved / empty,
        "resident_bytes": resident,
    }))
}
