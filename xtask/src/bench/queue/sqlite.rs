//! One controller with SQLite.

use std::path::Path;
use std::slice;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::runtime::Runtime;

use super::load::{self, Running};
use super::raw;
use crate::bench::controller;
use crate::bench::figure::Figure;
use crate::bench::process;

const BACKLOG: usize = 100_000;
/// Parts in which the backlog is submitted, each a sample.
const PARTS: usize = 5;
const NODES: &str = "1000";
const WINDOWS: usize = 3;
const WINDOW: Duration = Duration::from_secs(10);

pub(super) fn measure(runtime: &Runtime, home: &Path, report: &mut dyn FnMut(Figure)) -> Result<()> {
    println!("queue: sqlite in WAL mode, synchronous=FULL: every acknowledged call is on disk");
    backlog(runtime, home, report)?;
    report(dispatch(runtime, home)?);
    report(heartbeats(runtime, home)?);
    Ok(())
}

/// Figures with a backlog of a hundred thousand jobs.
fn backlog(runtime: &Runtime, home: &Path, report: &mut dyn FnMut(Figure)) -> Result<()> {
    let controller = controller::start(runtime, home)?;
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
        let raw = raw::synced_appends(controller.directory())?;
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
    report(Figure::at_least("queue.sqlite.submits", "jobs/s", 5000.0, submits));
    report(Figure::at_least("queue.sqlite.submits-over-raw-fdatasync", "ratio", 1.0, over_raw));
    report(Figure::at_least("queue.sqlite.claim-and-report", "jobs/s", 5000.0, work));
    report(Figure::at_most("queue.sqlite.claim-behind-unserved-backlog", "ratio", 1.5, behind));
    report(Figure::at_most("queue.sqlite.memory-with-100000-pending", "MB", 150.0, vec![resident]));
    Ok(())
}

fn dispatch(runtime: &Runtime, home: &Path) -> Result<Figure> {
    let controller = controller::start(runtime, home)?;
    let mut samples = Vec::new();
    for _ in 0..3 {
        samples.push(load::run(slice::from_ref(&controller), &["dispatch", "500"], "p99_ms")?);
    }
    Ok(Figure::at_most("queue.dispatch-p99", "ms", 20.0, samples))
}

fn heartbeats(runtime: &Runtime, home: &Path) -> Result<Figure> {
    let controller = controller::start(runtime, home)?;
    let _load = Running::start(slice::from_ref(&controller), &["beat", NODES, "600"])?;
    let mut samples = Vec::new();
    for _ in 0..WINDOWS {
        let (started, before) = (Instant::now(), process::cpu_seconds(controller.pid())?);
        thread::sleep(WINDOW);
        let used = process::cpu_seconds(controller.pid())? - before;
        samples.push(used / started.elapsed().as_secs_f64() * 100.0);
    }
    Ok(Figure::at_most("queue.cpu-of-1000-nodes", "% of a core", 3.0, samples))
}
