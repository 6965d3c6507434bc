//! One controller, its queue in a file.

use std::path::Path;
use std::slice;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::runtime::Runtime;

use super::load::{self, Running};
use super::raw;
use crate::bench::controller::Controller;
use crate::bench::figure::{Bar, Figure};
use crate::bench::process;

const BACKLOG: usize = 100_000;
/// Parts in which the backlog is made, each a sample.
const PARTS: usize = 5;
const NODES: &str = "1000";
const WINDOWS: usize = 3;
const WINDOW: Duration = Duration::from_secs(10);

/// Takes the figures.
pub(super) fn measure(runtime: &Runtime, home: &Path, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    println!("queue: sqlite in WAL mode, synchronous=FULL: every answered call is on the disk");
    backlog(runtime, home, tell)?;
    tell(dispatch(runtime, home)?);
    tell(heartbeats(runtime, home)?);
    Ok(())
}

/// Everything that has to do with a hundred thousand jobs.
fn backlog(runtime: &Runtime, home: &Path, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let directory = tempfile::tempdir_in(home)?;
    let controller = Controller::start(runtime, directory.path(), &[])?;
    let (one, pid) = (slice::from_ref(&controller), controller.pid());
    let part = (BACKLOG / PARTS).to_string();
    let claim = || load::run(one, &["claims", "1000"], "median_us");
    let mut empty = Vec::new();
    for _ in 0..3 {
        empty.push(claim()?);
    }

    let mut submits = Vec::new();
    let mut over_raw = Vec::new();
    for _ in 0..PARTS {
        let raw = raw::synced_appends(directory.path())?;
        submits.push(load::run(one, &["submit", &part, "cuda"], "per_second")?);
        over_raw.push(submits[submits.len() - 1] / raw);
    }
    let resident = process::resident(pid)?;
    let mut behind = Vec::new();
    for before in &empty {
        behind.push(claim()? / before);
    }
    for _ in 0..PARTS {
        submits.push(load::run(one, &["submit", &part, "any"], "per_second")?);
    }
    let mut work = Vec::new();
    for _ in 0..PARTS {
        work.push(load::run(one, &["work", &part], "per_second")?);
    }
    let figure = |name, unit, bar, limit, samples| Figure { name, unit, bar, limit, samples };
    tell(figure("queue.sqlite.submits", "jobs/s", Bar::AtLeast, 5000.0, submits));
    tell(figure("queue.sqlite.submits-over-raw-fdatasync", "ratio", Bar::AtLeast, 1.0, over_raw));
    tell(figure("queue.sqlite.claim-and-report", "jobs/s", Bar::AtLeast, 5000.0, work));
    tell(figure("queue.sqlite.claim-behind-unserved-backlog", "ratio", Bar::AtMost, 1.5, behind));
    tell(figure("queue.sqlite.memory-with-100000-pending", "MB", Bar::AtMost, 150.0, vec![resident]));
    Ok(())
}

fn dispatch(runtime: &Runtime, home: &Path) -> Result<Figure> {
    let directory = tempfile::tempdir_in(home)?;
    let controller = Controller::start(runtime, directory.path(), &[])?;
    let mut samples = Vec::new();
    for _ in 0..3 {
        samples.push(load::run(slice::from_ref(&controller), &["dispatch", "500"], "p99_ms")?);
    }
    Ok(Figure { name: "queue.dispatch-p99", unit: "ms", bar: Bar::AtMost, limit: 20.0, samples })
}

fn heartbeats(runtime: &Runtime, home: &Path) -> Result<Figure> {
    let directory = tempfile::tempdir_in(home)?;
    let controller = Controller::start(runtime, directory.path(), &[])?;
    let _load = Running::start(slice::from_ref(&controller), &["beat", NODES, "600"])?;
    let mut samples = Vec::new();
    for _ in 0..WINDOWS {
        let (begun, before) = (Instant::now(), process::cpu_seconds(controller.pid())?);
        thread::sleep(WINDOW);
        let used = process::cpu_seconds(controller.pid())? - before;
        samples.push(used / begun.elapsed().as_secs_f64() * 100.0);
    }
    Ok(Figure { name: "queue.cpu-of-1000-nodes", unit: "% of a core", bar: Bar::AtMost, limit: 3.0, samples })
}
