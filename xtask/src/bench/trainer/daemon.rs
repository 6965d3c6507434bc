//! Duration of a checkpoint and resident memory of the daemon while its replay buffer is full.

use std::net::SocketAddr;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::runtime::Runtime;
use vmafx_testkit::controller::ControllerServer;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::registry::{RegistryAuth, RegistryServer};
use vmafx_testkit::{http_client, ports};

use crate::bench::controller::{self, TOKEN};
use crate::bench::process::resident;
use crate::workspace;

/// Samples before the measurement. Seven in eight enter the replay buffer, which holds ten thousand.
const WARM_UP_SAMPLES: u32 = 12_000;
const SAMPLES_PER_CHECKPOINT: u32 = 500;
const CHECKPOINTS: usize = 5;
const TIMEOUT: Duration = Duration::from_mins(2);
const SECONDS: &str = "vmafx_trainer_checkpoint_push_seconds_";

/// For each checkpoint: its seconds from the snapshot to the registry's last response, and the daemon's megabytes.
pub(super) fn measure() -> Result<(Vec<f64>, Vec<f64>)> {
    let runtime = Runtime::new()?;
    let registry = runtime.block_on(RegistryServer::start(RegistryAuth::Open))?;
    let directory = tempfile::tempdir()?;
    let controller = controller::start(&runtime, directory.path())?;
    let address = ports::free_address()?;
    let launch =
        ChildCommand::new("vmafx-trainer", workspace::release("vmafx-trainer"), directory.path().join("log"))
            .env("VMAFX_TRAINER_NAME", "bench")
            .env("VMAFX_TRAINER_OUTPUT_REGISTRY", format!("{}/models", registry.address()))
            .env("VMAFX_TRAINER_CHECKPOINT_INTERVAL", "0s")
            .env("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", SAMPLES_PER_CHECKPOINT.to_string())
            .env("VMAFX_TRAINER_STATUS_ADDR", address.to_string())
            .env("VMAFX_CONTROLLER_ADDR", controller.grpc().to_string())
            .env("VMAFX_CONTROLLER_TOKEN", TOKEN);
    let mut process = ChildProcess::start(&launch)?;
    runtime.block_on(process.ready(TIMEOUT, || http_client::is_ready(address)))?;
    label_clips(&controller, WARM_UP_SAMPLES)?;
    until("the first checkpoints", || {
        let learned = metric(&runtime, address, "vmafx_trainer_samples_total")?;
        let pending = metric(&runtime, address, "vmafx_trainer_samples_pending")?;
        Ok(learned >= WARM_UP_SAMPLES.into() && pending < SAMPLES_PER_CHECKPOINT.into())
    })?;
    let (mut seconds, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..CHECKPOINTS {
        let pushes = || {
            Ok::<_, anyhow::Error>((pushes(&runtime, address, "count")?, pushes(&runtime, address, "sum")?))
        };
        let (count, sum) = pushes()?;
        label_clips(&controller, SAMPLES_PER_CHECKPOINT)?;
        until("a checkpoint", || Ok(pushes()?.0 > count))?;
        let (new_count, new_sum) = pushes()?;
        seconds.push((new_sum - sum) / (new_count - count));
        memory.push(resident(process.pid())?);
    }
    Ok((seconds, memory))
}

/// Gives the controller so many new samples.
fn label_clips(controller: &ControllerServer, count: u32) -> Result<()> {
    let mut command = Command::new(workspace::release("examples/label_clips"));
    command.args([controller.grpc().to_string(), count.to_string()]).env("VMAFX_CONTROLLER_TOKEN", TOKEN);
    let status = command.status().context("run label_clips")?;
    ensure!(status.success(), "label_clips: {status}");
    Ok(())
}

fn pushes(runtime: &Runtime, address: SocketAddr, part: &str) -> Result<f64> {
    metric(runtime, address, &format!("{SECONDS}{part}"))
}

fn metric(runtime: &Runtime, address: SocketAddr, name: &str) -> Result<f64> {
    let page = runtime.block_on(http_client::get(address, "/metrics"))?;
    page.metric(name).with_context(|| format!("the trainer has no metric {name}"))
}

fn until(what: &str, is: impl Fn() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    while !is()? {
        if Instant::now() > deadline {
            bail!("waited {TIMEOUT:?} for {what}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
