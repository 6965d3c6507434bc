//! How fast jobs go through, what each costs, and how soon their status follows.

use anyhow::Result;
use tokio::runtime::Runtime;
use vmafx_testkit::kube::ControlPlaneOptions;
use vmafx_testkit::kube::request_counts::RequestCounts;

use super::load::{figure, run};
use super::scene::Scene;
use crate::bench::figure::{Bar, Figure};
use crate::bench::process;

const JOBS: usize = 1000;
const PACED: usize = 400;
const REPEATS: usize = 3;

/// Takes the figures.
#[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
pub(super) fn measure(runtime: &Runtime, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let scene = Scene::set(runtime, ControlPlaneOptions::default())?;
    // With nothing else at work, as little as that is; the operator then has what was made here to know of.
    let mut bare = Vec::new();
    for _ in 0..REPEATS {
        bare.push(figure(&run(&scene, "bare", JOBS)?, "per_second")?);
    }
    let (operator, _) = scene.operator(runtime, &[])?;
    let counts = || {
        runtime.block_on(async {
            RequestCounts::read(&scene.plane.client()?).await.map_err(anyhow::Error::from)
        })
    };
    let (mut rates, mut over, mut writes, mut cpu) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for bare in &bare {
        let (before, used) = (counts()?, process::cpu_seconds(operator.pid())?);
        let rate = figure(&run(&scene, "jobs", JOBS)?, "per_second")?;
        let used = process::cpu_seconds(operator.pid())? - used;
        let written: u64 = counts()?.writes().since(&before).0.values().sum();
        rates.push(rate);
        over.push(rate / bare);
        // One write of each job is its creation.
        writes.push(written as f64 / JOBS as f64 - 1.0);
        cpu.push(used * 1e3 / JOBS as f64);
    }
    let mut latency = Vec::new();
    for _ in 0..REPEATS {
        latency.push(figure(&run(&scene, "paced", PACED)?, "p99_ms")?);
    }
    let of = |name, unit, bar, limit, samples| Figure { name, unit, bar, limit, samples };
    tell(of("operator.jobs", "jobs/s", Bar::AtLeast, 100.0, rates));
    tell(of("operator.jobs-over-bare-loop", "ratio", Bar::AtLeast, 0.5, over));
    tell(of("operator.writes-per-job", "writes", Bar::AtMost, 3.0, writes));
    tell(of("operator.cpu-per-job", "ms", Bar::AtMost, 1.5, cpu));
    tell(of("operator.change-to-status-p99", "ms", Bar::AtMost, 250.0, latency));
    Ok(())
}
