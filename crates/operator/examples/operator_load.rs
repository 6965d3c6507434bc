//! Loads a cluster with `VmafxJob`s and acts as the nodes that report their scores at once; prints its figures as JSON.
//! `make bench ONLY=operator` runs it.
//!
//! ```text
//! operator_load ADDR jobs NUMBER      VmafxJobs per second from creation to Succeeded, all created as fast as possible
//! operator_load ADDR paced NUMBER     milliseconds from the controller's response to a report until the status is
//!                                     Succeeded, with 20 jobs per second
//! operator_load ADDR bare NUMBER      the same cluster without an operator: create and two status patches, per second
//! operator_load ADDR finished NUMBER  creates VmafxJobs that already have their final status
//! operator_load ADDR waiting NUMBER   creates VmafxJobs of a backend that no node serves
//! ```
//!
//! ADDR is the controller, `VMAFX_CONTROLLER_TOKEN` a token with the role of a node, and `KUBECONFIG` the cluster. The
//! program shares the machine with what it measures, so it uses one thread and few connections.

#[path = "operator_load/agents.rs"]
mod agents;
#[path = "operator_load/cluster.rs"]
mod cluster;
#[path = "operator_load/loads.rs"]
mod loads;

use agents::Agents;
use cluster::Cluster;

type Problem = Box<dyn std::error::Error + Send + Sync>;

/// The operator's allocator, because both share the same cores.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Problem> {
    vmafx_kit::tls::install_crypto_provider();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, load, number] = arguments.as_slice() else {
        return Err("usage: operator_load ADDR jobs|paced|bare|finished|waiting NUMBER".into());
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
        _ => return Err("unknown load: use jobs, paced, bare, finished or waiting".into()),
    };
    println!("{figures}");
    Ok(())
}
