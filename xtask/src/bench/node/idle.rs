//! An idle node.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::{http_client, ports};

use crate::bench::controller;
use crate::bench::figure::Figure;
use crate::bench::process;
use crate::workspace;

const WINDOWS: usize = 3;
const WINDOW: Duration = Duration::from_secs(20);
const TIMEOUT: Duration = Duration::from_mins(1);

/// CPU share and memory.
pub(super) fn measure(runtime: &Runtime, home: &Path) -> Result<[Figure; 2]> {
    let directory = tempfile::tempdir_in(home)?;
    let controller = controller::start(runtime, directory.path())?;
    let http = ports::free_address()?;
    let launch =
        ChildCommand::new("vmafx-node", workspace::release("vmafx-node"), directory.path().join("node.log"))
            .env("VMAFX_CONTROLLER_ADDR", controller.grpc().to_string())
            .env("VMAFX_CONTROLLER_TOKEN", controller::TOKEN)
            .env("VMAFX_HTTP_ADDR", http.to_string())
            .path("--scratch-dir", directory.path().join("scratch"));
    let mut node = ChildProcess::start(&launch).context("cannot start the node")?;
    runtime.block_on(node.ready(TIMEOUT, || http_client::is_ready(http)))?;
    let mut shares = Vec::new();
    for _ in 0..WINDOWS {
        let (started, before) = (Instant::now(), process::cpu_seconds(node.pid())?);
        thread::sleep(WINDOW);
        let used = process::cpu_seconds(node.pid())? - before;
        shares.push(used / started.elapsed().as_secs_f64() * 100.0);
    }
    let resident = vec![process::resident(node.pid())?];
    Ok([
        Figure::at_most("node.idle-cpu", "% of a core", 0.5, shares),
        Figure::at_most("node.idle-memory", "MB", 30.0, resident),
    ])
}
