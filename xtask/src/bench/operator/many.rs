//! A cluster that has many jobs already.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Runtime;
use vmafx_testkit::kube::ControlPlaneOptions;

use super::load::run;
use super::scene::Scene;
use crate::bench::figure::{Bar, Figure};
use crate::bench::process;

const FINISHED: usize = 9_000;
const WAITING: usize = 1_000;
const REPEATS: usize = 3;

/// Between two compactions of etcd, which forget what was before the one before; five minutes in a real cluster.
const COMPACTION: Duration = Duration::from_secs(10);

/// Takes the figures.
pub(super) fn measure(runtime: &Runtime, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let compaction = format!("--etcd-compaction-interval={}s", COMPACTION.as_secs());
    let options = ControlPlaneOptions { api_server_args: vec![compaction], ..ControlPlaneOptions::default() };
    let scene = Scene::set(runtime, options)?;
    run(&scene, "finished", FINISHED)?;
    run(&scene, "waiting", WAITING)?;
    // A cluster in which nothing has happened for a while: its server remembers no earlier versions.
    sleep(3 * COMPACTION);
    let (mut ready, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let (operator, took) = scene.operator(runtime, &[])?;
        ready.push(took.as_secs_f64());
        // The rest of the figures is about what it is like once everything was looked at.
        sleep(Duration::from_secs(10));
        memory.push(process::resident(operator.pid())?);
    }
    tell(Figure {
        name: "operator.ready-with-10000-jobs",
        unit: "s",
        bar: Bar::AtMost,
        limit: 2.0,
        samples: ready,
    });
    tell(Figure {
        name: "operator.memory-with-10000-jobs",
        unit: "MB",
        bar: Bar::AtMost,
        limit: 100.0,
        samples: memory,
    });
    Ok(())
}
