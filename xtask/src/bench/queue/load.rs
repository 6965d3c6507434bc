//! The load generator `queue_load`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use vmafx_testkit::controller::ControllerServer;

use crate::bench::controller::TOKEN;
use crate::workspace;

fn command(controllers: &[ControllerServer], load: &[&str]) -> Command {
    let addresses: Vec<String> = controllers.iter().map(|controller| controller.grpc().to_string()).collect();
    let mut command = Command::new(workspace::release("examples/queue_load"));
    command.arg(addresses.join(",")).args(load).env("VMAFX_CONTROLLER_TOKEN", TOKEN);
    command
}

/// Runs a load and returns one of its figures.
pub(super) fn run(controllers: &[ControllerServer], load: &[&str], figure: &str) -> Result<f64> {
    let output =
        command(controllers, load).stderr(Stdio::inherit()).output().context("cannot run queue_load")?;
    if !output.status.success() {
        bail!("queue_load {}: {}", load.join(" "), output.status);
    }
    let output = String::from_utf8(output.stdout)?;
    let figures: Value = serde_json::from_str(output.lines().last().unwrap_or_default())?;
    figures[figure].as_f64().with_context(|| format!("no {figure} in {output}"))
}

/// A load that runs while something else is measured. Stopped on drop.
pub(super) struct Running(Child);

impl Running {
    /// Starts the load, and waits until it reports a steady state.
    pub(super) fn start(controllers: &[ControllerServer], load: &[&str]) -> Result<Self> {
        let mut child =
            command(controllers, load).stdout(Stdio::piped()).spawn().context("cannot run queue_load")?;
        let stdout = child.stdout.take().context("queue_load has no output")?;
        let steady = BufReader::new(stdout).lines().map_while(Result::ok).any(|line| line == "steady");
        let running = Self(child);
        if steady { Ok(running) } else { bail!("queue_load {} exited early", load.join(" ")) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
