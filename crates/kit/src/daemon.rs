//! From `main` to exit code.
//!
//! ```no_run
//! # use std::process::ExitCode;
//! # use vmafx_kit::{config::GoDuration, daemon::{self, Settings}, logs::LogArgs, tasks::{BoxError, TaskSet}};
//! #[derive(clap::Parser)]
//! #[command(version)]
//! struct Args {
//!     #[arg(long, env = "VMAFX_OPERATOR_GRACEFUL_SHUTDOWN", default_value = "30s")]
//!     graceful_shutdown: GoDuration,
//!     #[command(flatten)]
//!     logs: LogArgs,
//! }
//!
//! impl Settings for Args {
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
//! | 2         | the settings cannot be used                                  |

mod report;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::Stream;
use tokio::runtime::Runtime;

use crate::config::{Environment, GoDuration, Renamed, Stop, parse, styled};
use crate::logs::{self, LogArgs};
use crate::tasks::{BoxError, Signal, TaskSet, signals};
use crate::tls;

/// What the life of a daemon needs to know of its settings.
pub trait Settings {
    /// Variables of older releases, refused with a word on what to set instead.
    const RENAMED: &'static [Renamed] = &[];

    /// How to log.
    fn logs(&self) -> LogArgs;

    /// How long tasks may take to stop.
    fn shutdown_budget(&self) -> GoDuration;
}

/// Reads the settings, starts the logs, lets `start` open what it needs and add its tasks, and watches those
/// until the end. Errors go to standard error, cause by cause.
pub fn main<S, E>(start: impl AsyncFnOnce(S, &mut TaskSet) -> Result<(), E>) -> ExitCode
where
    S: Settings + clap::Parser,
    E: Into<BoxError>,
{
    let settings = match parse::<S>(std::env::args_os(), &Environment::of_process(), S::RENAMED) {
        Ok(settings) => settings,
        Err(Stop::Answer(text)) => {
            // Whoever pipes the help into `head` closes the pipe early, and that is no failure.
            let _ = std::io::stdout().write_all(styled(&text).as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(Stop::Refused(refusal)) => return report::failure(&refusal),
    };
    match run(settings, start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report::failure(error.as_ref()),
    }
}

/// The same with settings that somebody else has read, for a command that is a daemon only sometimes.
pub fn run<S, E>(
    settings: S,
    start: impl AsyncFnOnce(S, &mut TaskSet) -> Result<(), E>,
) -> Result<(), BoxError>
where
    S: Settings,
    E: Into<BoxError>,
{
    logs::init(&settings.logs())?;
    tls::choose_provider();
    let runtime = Runtime::new()?;
    let ended = runtime.block_on(async {
        let budget = settings.shutdown_budget();
        live(budget, signals()?, async |tasks| start(settings, tasks).await.map_err(Into::into)).await
    });
    // A blocking call cannot be aborted; it must not keep a process alive that has nothing left to do.
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended
}

/// Starts and watches. A signal cuts a start short too: it may be waiting for a server that never comes.
async fn live(
    budget: GoDuration,
    mut signals: impl Stream<Item = Signal> + Unpin,
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
        tracing::error!(error = error as &dyn std::error::Error, "and then");
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
        let signals = stream::iter([Signal::Terminate]).chain(stream::pending());
        let ended = live(BUDGET, signals, async |_| std::future::pending().await);
        tokio::time::timeout(Duration::from_hours(1), ended).await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_start_stops_what_it_had_started() {
        let stopped = Arc::new(AtomicBool::new(false));
        let seen = stopped.clone();
        let ended = live(BUDGET, stream::pending(), async move |tasks| {
            let shutdown = tasks.shutdown();
            tasks.service("first", async move {
                shutdown.begun().await;
                seen.store(true, Ordering::SeqCst);
                Ok::<_, Infallible>(())
            });
            Err("the store is locked".into())
        });
        let ended = tokio::time::timeout(Duration::from_hours(1), ended).await.unwrap();
        assert_eq!(ended.unwrap_err().to_string(), "the store is locked");
        assert!(stopped.load(Ordering::SeqCst));
    }
}
