//! The `main` of a daemon, from settings to exit code.
//!
//! ```no_run
//! # use std::process::ExitCode;
//! # use vmafx_kit::{config::GoDuration, daemon::{self, DaemonSettings}, logs::LogArgs, tasks::{BoxError, TaskSet}};
//! #[derive(clap::Parser)]
//! #[command(version)]
//! struct Args {
//!     #[arg(long, env = "VMAFX_OPERATOR_GRACEFUL_SHUTDOWN", default_value = "30s")]
//!     graceful_shutdown: GoDuration,
//!     #[command(flatten)]
//!     logs: LogArgs,
//! }
//!
//! impl DaemonSettings for Args {
//!     fn logs(&self) -> LogArgs { self.logs.clone() }
//!     fn shutdown_budget(&self) -> GoDuration { self.graceful_shutdown }
//! }
//!
//! async fn start(args: Args, tasks: &mut TaskSet) -> Result<(), BoxError> {
//!     let shutdown = tasks.shutdown();
//!     tasks.service("work", async move { shutdown.begun().await; Ok::<_, BoxError>(()) });
//!     Ok(())
//! }
//!
//! fn main() -> ExitCode {
//!     daemon::main::<Args, _>(start)
//! }
//! ```
//!
//! | exit code | meaning                                                      |
//! |-----------|--------------------------------------------------------------|
//! | 0         | stopped as asked, or `--help` and `--version`                |
//! | 1         | could not start, or a task failed, or shutdown took too long |
//! | 2         | the settings are invalid                                     |

mod report;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::Stream;
use tokio::runtime::Runtime;

use crate::config::{Environment, GoDuration, ParseExit, RenamedVariable, parse, styled};
use crate::logs::{self, LogArgs};
use crate::tasks::{BoxError, StopSignal, TaskSet, signals};
use crate::tls;

/// The settings that [`main`] itself needs.
pub trait DaemonSettings {
    /// Variables of older releases. A daemon that finds one set refuses to start and says what to set instead.
    const RENAMED: &'static [RenamedVariable] = &[];

    fn logs(&self) -> LogArgs;

    /// The time that all tasks together have to stop once shutdown begins.
    fn shutdown_budget(&self) -> GoDuration;
}

/// Parses the settings, starts logging, calls `start` to open listeners and add tasks, and supervises the tasks
/// until all have ended. Errors are printed to standard error, one cause per line.
pub fn main<S, E>(start: impl AsyncFnOnce(S, &mut TaskSet) -> Result<(), E>) -> ExitCode
where
    S: DaemonSettings + clap::Parser,
    E: Into<BoxError>,
{
    let settings = match parse::<S>(std::env::args_os(), &Environment::of_process(), S::RENAMED) {
        Ok(settings) => settings,
        Err(ParseExit::HelpOrVersion(text)) => {
            // `--help | head` closes the pipe early; that is not a failure.
            let _ = std::io::stdout().write_all(styled(&text).as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(ParseExit::Invalid(error)) => return report::failure(&error),
    };
    match run(settings, start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report::failure(error.as_ref()),
    }
}

/// Like [`main`], with settings that the caller has parsed: for a command that is a daemon only in some modes.
pub fn run<S, E>(
    settings: S,
    start: impl AsyncFnOnce(S, &mut TaskSet) -> Result<(), E>,
) -> Result<(), BoxError>
where
    S: DaemonSettings,
    E: Into<BoxError>,
{
    logs::init(&settings.logs())?;
    tls::install_crypto_provider();
    let runtime = Runtime::new()?;
    let ended = runtime.block_on(async {
        let budget = settings.shutdown_budget();
        supervise(budget, signals()?, async |tasks| start(settings, tasks).await.map_err(Into::into)).await
    });
    // A blocking call cannot be aborted; it must not keep a process alive that has nothing left to do.
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended
}

/// Starts and supervises the tasks. A signal also interrupts `start`, which may be waiting for a server that never
/// comes up.
async fn supervise(
    budget: GoDuration,
    mut signals: impl Stream<Item = StopSignal> + Unpin,
    start: impl AsyncFnOnce(&mut TaskSet) -> Result<(), BoxError>,
) -> Result<(), BoxError> {
    let mut tasks = TaskSet::default();
    let started = tokio::select! {
        biased;
        Some(signal) = signals.next() => {
            tracing::info!(?signal, "signal received while starting");
            tasks.shutdown().begin();
            Ok(())
        }
        started = start(&mut tasks) => started,
    };
    if started.is_err() {
        tasks.shutdown().begin();
    }
    let ended = tasks.run(signals, budget).await;
    if let (Err(_), Err(error)) = (&started, &ended) {
        tracing::error!(
            error = error as &dyn std::error::Error,
            "a task failed while shutting down after the failed start"
        );
    }
    started?;
    Ok(ended?)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures::stream;

    use super::*;

    const BUDGET: GoDuration = GoDuration(Duration::from_secs(30));

    #[tokio::test(start_paused = true)]
    async fn a_signal_ends_a_start_that_waits_for_ever() {
        let signals = stream::iter([StopSignal::Terminate]).chain(stream::pending());
        let ended = supervise(BUDGET, signals, async |_| std::future::pending().await);
        tokio::time::timeout(Duration::from_hours(1), ended).await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_start_stops_what_it_had_started() {
        let stopped = Arc::new(AtomicBool::new(false));
        let stop_observed = stopped.clone();
        let ended = supervise(BUDGET, stream::pending(), async move |tasks| {
            let shutdown = tasks.shutdown();
            tasks.service("first", async move {
                shutdown.begun().await;
                stop_observed.store(true, Ordering::SeqCst);
                Ok::<_, Infallible>(())
            });
            Err("the store is locked".into())
        });
        let ended = tokio::time::timeout(Duration::from_hours(1), ended).await.unwrap();
        assert_eq!(ended.unwrap_err().to_string(), "the store is locked");
        assert!(stopped.load(Ordering::SeqCst));
    }
}
