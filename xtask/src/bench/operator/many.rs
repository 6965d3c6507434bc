//! The start of an operator in a cluster with many jobs.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Runtime;
use vmafx_testkit::kube::ControlPlaneOptions;

use super::cluster::BenchCluster;
use super::load::run;
use crate::bench::figure::Figure;
use crate::bench::process;

const FINISHED: usize = 9_000;
const WAITING: usize = 1_000;
const REPEATS: usize = 3;

/// Interval of etcd's compaction, which drops older versions; five minutes in a real cluster.
const COMPACTION: Duration = Duration::from_secs(10);

pub(super) fn measure(runtime: &Runtime, report: &mut dyn FnMut(Figure)) -> Result<()> {
    let compaction = format!("--etcd-compaction-interval={}s", COMPACTION.as_secs());
    let options = ControlPlaneOptions { api_server_args: vec![compaction], ..ControlPlaneOptions::default() };
    let cluster = BenchCluster::start(runtime, options)?;
    run(&cluster, "finished", FINISHED)?;
    run(&cluster, "waiting", WAITING)?;
    // An idle cluster, whose API server no longer has earlier versions.
    sleep(3 * COMPACTION);
    let (mut ready, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let (operator, took) = cluster.operator(runtime, &[])?;
        ready.push(took.as_secs_f64());
        // Memory is measured after all resources were reconciled.
        sleep(Duration::from_secs(10));
        memory.push(process::resident(operator.pid())?);
    }
    report(Figure::at_most("operator.ready-with-10000-jobs", "s", 2.0, ready));
    report(Figure::at_most("operator.memory-with-10000-jobs", "MB", 100.0, memory));
    Ok(())
}
