//! A daemon whose only service panics: it logs the location, prints an error that names the task, and exits with
//! code 1.

use std::process::ExitCode;

use vmafx_kit::config::GoDuration;
use vmafx_kit::daemon::{self, DaemonSettings};
use vmafx_kit::logs::LogArgs;
use vmafx_kit::tasks::{BoxError, TaskSet};

#[derive(clap::Parser)]
struct Args {
    #[command(flatten)]
    logs: LogArgs,
}

impl DaemonSettings for Args {
    fn logs(&self) -> LogArgs {
        self.logs.clone()
    }

    fn shutdown_budget(&self) -> GoDuration {
        GoDuration::default()
    }
}

async fn start(_: Args, tasks: &mut TaskSet) -> Result<(), BoxError> {
    tasks.service("worker", async {
        let queue: [u32; 0] = [];
        let next = std::hint::black_box(7);
        tracing::info!("took {}", queue[next]);
        Ok::<_, BoxError>(())
    });
    Ok(())
}

fn main() -> ExitCode {
    daemon::main::<Args, _>(start)
}
