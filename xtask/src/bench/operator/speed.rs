//! Throughput, cost per job, and latency of the status.

use anyhow::Result;
use tokio::runtime::Runtime;
use vmafx_testkit::kube::ControlPlaneOptions;
use vmafx_testkit::kube::request_counts::RequestCounts;

use super::cluster::BenchCluster;
use super::load::{figure, run};
use crate::bench::figure::Figure;
use crate::bench::process;

const JOBS: usize = 1000;
const PACED: usize = 400;
const REPEATS: usize = 3;

#[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
pub(super) fn measure(runtime: &Runtime, report: &mut dyn FnMut(Figure)) -> Result<()> {
    let cluster = BenchCluster::start(runtime, ControlPlaneOptions::default())?;
    // The comparison runs before the operator starts, so that nothing else uses the cluster.
    let mut bare = Vec::new();
    for _ in 0..REPEATS {
        bare.push(figure(&run(&cluster, "bare", JOBS)?, "per_second")?);
    }
    let (operator, _) = cluster.operator(runtime, &[])?;
    let counts = || {
        runtime.block_on(async {
            RequestCounts::read(&cluster.plane.client()?).await.map_err(anyhow::Error::from)
        })
    };
    let (mut rates, mut over, mut writes, mut cpu) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for bare in &bare {
        let (before, used) = (counts()?, process::cpu_seconds(operator.pid())?);
        let rate = figure(&run(&cluster, "jobs", JOBS)?, "per_second")?;
        let used = process::cpu_seconds(operator.pid())? - used;
        let written: u64 = counts()?.writes().since(&before).0.values().sum();
        rates.push(rate);
        over.push(rate / bare);
        // The creation of each job is not counted.
        writes.push(written as f64 / JOBS as f64 - 1.0);
        cpu.push(used * 1e3 / JOBS as f64);
    }
    let mut latency = Vec::new();
    for _ in 0..REPEATS {
        latency.push(figure(&run(&cluster, "paced", PACED)?, "p99_ms")?);
    }
    report(Figure::at_least("operator.jobs", "jobs/s", 100.0, rates));
    report(Figure::at_least("operator.jobs-over-bare-loop", "ratio", 0.5, over));
    report(Figure::at_most("operator.writes-per-job", "writes", 3.0, writes));
    report(Figure::at_most("operator.cpu-per-job", "ms", 1.5, cpu));
    report(Figure::at_most("operator.change-to-status-p99", "ms", 250.0, latency));
    Ok(())
}
