//! Loads a cluster with `VmafxJob`s and plays the nodes that score them at once; prints one JSON object of figures.
//! `make bench ONLY=operator` runs it.
//!
//! ```text
//! operator_load ADDR jobs NUMBER      VmafxJobs per second from creation to Succeeded, all created as fast as it goes
//! operator_load ADDR paced NUMBER     milliseconds from the controller's answer to a report until the status says so,
//!                                     with 20 jobs a second
//! operator_load ADDR bare NUMBER      the same cluster without an operator: create and two status patches, per second
//! operator_load ADDR finished NUMBER  makes VmafxJobs that have their last status already
//! operator_load ADDR waiting NUMBER   makes VmafxJobs of a backend that nobody serves
//! ```
//!
//! ADDR is the controller; `VMAFX_CONTROLLER_TOKEN` is the token of somebody who may work for it, and `KUBECONFIG` leads
//! to the cluster. It shares the machine with what it measures, so it is one thread with few connections.

#[path = "operator_load/agents.rs"]
mod agents;
#[path = "operator_load/cluster.rs"]
mod cluster;
#[path = "operator_load/loads.rs"]
mod loads;

use agents::Agents;
use cluster::Cluster;

type Problem = Box<dyn std::error::Error + Send + Sync>;

/// As in the operator, whose cores this shares.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Problem> {
    vmafx_kit::tls::install_crypto_provider();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, load, number] = arguments.as_slice() else {
        return Err("see the head of this file".into());
    };
    let (number, cluster) = (number.parse()?, Cluster::connect().await?);
    let token = std::env::var("VMAFX_CONTROLLER_TOKEN").unwrap_or_default();
    let agents = || Agents::register(address, &token);
    let figures = match load.as_str() {
        "jobs" => loads::jobs(&cluster, agents().await?, number).await?,
        "paced" => loads::paced(&cluster, agents().await?, number).await?,
        "bare" => loads::bare(&cluster, number).await?,
        "finished" => loads::finished(&cluster, number).await?,
        "waiting" => loads::waiting(&cluster, number).await?,
        _ => return Err("unknown load: see the head of this file".into()),
    };
    println!("{figures}");
    Ok(())
}
