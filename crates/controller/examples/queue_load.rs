//! Loads running controllers over gRPC and prints one JSON object of figures. `make bench ONLY=queue` runs it.
//!
//! ```text
//! queue_load ADDR[,ADDR…] submit JOBS BACKEND   submissions per second, one job per call, 64 in flight
//! queue_load ADDR[,ADDR…] work JOBS             jobs per second that are pulled and reported
//! queue_load ADDR[,ADDR…] cycles JOBS           jobs per second that are submitted, pulled and reported
//! queue_load ADDR[,ADDR…] claims TIMES          microseconds of a pull that finds a job, one after the other
//! queue_load ADDR[,ADDR…] dispatch TIMES        milliseconds from a submission until a waiting node has the job
//! queue_load ADDR[,ADDR…] beat NODES SECONDS    heartbeats of every node each ten seconds; tells when it begins
//! ```
//!
//! `VMAFX_CONTROLLER_TOKEN` is the token of somebody who may do all of this. It shares the machine with what it
//! measures, so it is one thread with few connections.

#[path = "queue_load/caller.rs"]
mod caller;
#[path = "queue_load/latency.rs"]
mod latency;
#[path = "queue_load/nodes.rs"]
mod nodes;
#[path = "queue_load/rate.rs"]
mod rate;
#[path = "queue_load/wire_client.rs"]
mod wire_client;

use anyhow::{Context as _, bail};

use caller::Callers;

/// As in the controller, whose cores this shares.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let token = std::env::var("VMAFX_CONTROLLER_TOKEN").context("VMAFX_CONTROLLER_TOKEN is not set")?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (addresses, load) = words.split_first().context("no address: see the head of this file")?;
    let callers = Callers::new(addresses, &token).await?;
    let figures = match *load {
        ["submit", jobs, backend] => rate::submit(&callers, jobs.parse()?, backend).await?,
        ["work", jobs] => rate::work(&callers, jobs.parse()?).await?,
        ["cycles", jobs] => rate::cycles(&callers, jobs.parse()?).await?,
        ["claims", times] => latency::claims(&callers, times.parse()?).await?,
        ["dispatch", times] => latency::dispatch(&callers, times.parse()?).await?,
        ["beat", nodes, seconds] => nodes::beat(addresses, &token, nodes.parse()?, seconds.parse()?).await?,
        _ => bail!("unknown load: see the head of this file"),
    };
    println!("{figures}");
    Ok(())
}
