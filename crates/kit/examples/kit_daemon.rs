//! The smallest complete daemon: health and metrics on one port, one service, one support task.

use std::process::ExitCode;
use std::sync::Arc;

use vmafx_kit::channel::ChannelArgs;
use vmafx_kit::config::{GoDuration, HostPorts, ListenAddr, RenamedVariable};
use vmafx_kit::daemon::{self, DaemonSettings};
use vmafx_kit::health::{self, Readiness};
use vmafx_kit::logs::LogArgs;
use vmafx_kit::metrics::{self, Metrics};
use vmafx_kit::serve::{listen, serve};
use vmafx_kit::tasks::{BoxError, TaskSet};

/// Runs until it is stopped.
#[derive(clap::Parser)]
#[command(version)]
struct Args {
    /// Listen address for health and metrics; 0 disables them.
    #[arg(long, env = "VMAFX_EXAMPLE_ADDR", default_value = "127.0.0.1:0")]
    addr: ListenAddr,

    /// Time that the tasks have to stop.
    #[arg(long, env = "VMAFX_EXAMPLE_GRACEFUL_SHUTDOWN", default_value = "30s")]
    graceful_shutdown: GoDuration,

    /// Address of the controller.
    #[arg(long, env = "VMAFX_CONTROLLER_ADDR", default_value = "localhost:9090")]
    controller_addr: HostPorts,

    #[command(flatten)]
    channel: ChannelArgs,

    #[command(flatten)]
    logs: LogArgs,
}

impl DaemonSettings for Args {
    const RENAMED: &'static [RenamedVariable] =
        &[RenamedVariable::new("VMAFX_EXAMPLE_PORT", "VMAFX_EXAMPLE_ADDR")];

    fn logs(&self) -> LogArgs {
        self.logs.clone()
    }

    fn shutdown_budget(&self) -> GoDuration {
        self.graceful_shutdown
    }
}

async fn start(args: Args, tasks: &mut TaskSet) -> Result<(), BoxError> {
    let _channel = args.channel.open(&args.controller_addr)?;
    let mut registry = Metrics::new(env!("CARGO_PKG_VERSION"));
    let rounds = registry.counter("example_rounds", "Rounds of work started");
    let readiness = Readiness::new(tasks.shutdown());
    let worker = readiness.gate("worker", "not started yet");

    if let Some(listener) = listen("VMAFX_EXAMPLE_ADDR", &args.addr).await? {
        let router = health::router(readiness).merge(metrics::router(Arc::new(registry)));
        tasks.support("http", |shutdown| serve(listener, router, shutdown));
    }
    let shutdown = tasks.shutdown();
    tasks.service("worker", async move {
        rounds.inc();
        worker.open();
        shutdown.begun().await;
        Ok::<_, BoxError>(())
    });
    Ok(())
}

fn main() -> ExitCode {
    daemon::main::<Args, _>(start)
}
