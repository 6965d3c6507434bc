//! `run-once`: one job from arguments, for a Pod of its own.
//!
//! The result goes to a file as JSON, small enough to be the termination message of a container; the exit code tells a
//! bad input from a broken machine:
//!
//! | exit code | meaning                                                              |
//! |-----------|----------------------------------------------------------------------|
//! | 0         | scored                                                               |
//! | 2         | the job is at fault: it would fail again (reasons 1 to 19)           |
//! | 3         | the machine or the network is: another attempt may succeed (20 to 39)|
//! | 64        | wrong usage: nothing was tried                                       |

mod args;
mod job;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub use args::RunOnceArgs;
use vmafx_proto::run_once::RunResult;

use crate::confine;
use crate::failure::{Failure, Reason};

/// Exit code of wrong usage.
pub const USAGE: u8 = RunResult::USAGE;

/// Does the job and writes its result.
pub fn run(args: &RunOnceArgs) -> ExitCode {
    // Nobody else in this process logs yet.
    _ = vmafx_kit::logs::init(&args.logs);
    tracing::debug!(how = confine::keep_to_itself(), "credentials are kept from the worker");
    let result = match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(interruptible(args)),
        Err(error) => Err(Failure::new(Reason::Internal, format!("no runtime can be made: {error}"))),
    };
    let result = RunResult::of(result.map_err(|Failure { reason, message }| (reason, message)));
    match &result {
        RunResult::Scored(score) => tracing::info!(score = score.score, frames = score.frames, "scored"),
        RunResult::Failed { reason, message, .. } => tracing::error!(?reason, "not scored: {message}"),
    }
    if let Err(error) = write(&result, &args.result) {
        tracing::error!(%error, file = %args.result.display(), "the result cannot be written");
        return ExitCode::from(RunResult::MACHINE);
    }
    ExitCode::from(result.exit_code())
}

/// In place: a container's termination message is a file that is mounted and cannot be replaced by another.
fn write(result: &RunResult, path: &Path) -> io::Result<()> {
    std::fs::write(path, result.to_json()?)
}

/// A request to end ends the job.
async fn interruptible(args: &RunOnceArgs) -> Result<crate::task::Score, Failure> {
    let unwatched = |error| Failure::new(Reason::Internal, format!("signals cannot be handled: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(unwatched)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unwatched)?;
    let cancel = CancellationToken::new();
    let job = job::score(args, &cancel);
    tokio::pin!(job);
    tokio::select! {
        result = &mut job => return result,
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    cancel.cancel();
    // Whatever it says: it was interrupted, unless it was just done.
    job.await
        .map_err(|_| Failure::new(Reason::Internal, "the job was interrupted: the process was asked to end"))
}
