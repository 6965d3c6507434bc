//! `run-once`: one job from a JSON document, for a Pod of its own.
//!
//! The document is a [`ScoringRequest`]. The result goes to a file as JSON, small enough to be the termination message of a
//! container; the exit code tells a bad input from a broken machine:
//!
//! | exit code | meaning                                                               |
//! |-----------|-----------------------------------------------------------------------|
//! | 0         | scored                                                                |
//! | 2         | the job is at fault: it would fail again (reasons 1 to 19)            |
//! | 3         | the machine or the network is: another attempt may succeed (20 to 39) |
//! | 64        | wrong usage: nothing was tried, and no result is written              |

mod args;
mod request;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream::BoxStream;
use tokio::runtime::{self, Runtime};
use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, FailureReason, RunResult, ScoreResult, ScoringRequest};
use vmafx_kit::tasks::{StopSignal, signals};

pub use args::RunOnceArgs;

use crate::confine;
use crate::launch::{Launcher, Unscored};
use crate::machine::Machine;
use crate::scorer::{JobLimits, Scorer, ScoringContext};

/// Interval between two log lines on progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// Scores the request and writes its result.
pub fn run(args: &RunOnceArgs) -> ExitCode {
    // The handlers come first: the kernel drops a SIGTERM for which the first process of a container has no handler yet,
    // and the Pod would then score until the end of its grace period.
    let handlers = SignalHandlers::install();
    let request = match args.request() {
        Ok(request) => request,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(RunResult::EXIT_USAGE);
        }
    };
    // An error means that logging is set up already, which it is not in this process.
    _ = vmafx_kit::logs::init(&args.logs);
    tracing::debug!(measure = confine::keep_to_itself(), "credentials are kept from the worker");
    let result = RunResult::from(handlers.and_then(|handlers| handlers.score(args, &request)));
    match &result {
        RunResult::Scored(result) => {
            let frames = result.details.as_ref().map(|details| details.frames);
            tracing::info!(score = result.score, frames, "scored");
        }
        RunResult::Failed { reason, message, .. } => tracing::error!(%reason, "not scored: {message}"),
    }
    if let Err(error) = write(&result, &args.result) {
        tracing::error!(%error, file = %args.result.display(), "cannot write the result");
        return ExitCode::from(RunResult::EXIT_RETRYABLE);
    }
    ExitCode::from(result.exit_code())
}

/// Writes in place: the file of a termination message is mounted and cannot be replaced by another.
fn write(result: &RunResult, path: &Path) -> io::Result<()> {
    std::fs::write(path, result.encode_bounded(serde_json::to_vec)?)
}

/// The runtime, and the signals that it has received.
struct SignalHandlers {
    runtime: Runtime,
    signals: BoxStream<'static, StopSignal>,
}

impl SignalHandlers {
    fn install() -> Result<Self, Failure> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| internal("cannot start the async runtime", &error))?;
        let guard = runtime.enter();
        let signals = signals().map_err(|error| internal("cannot handle signals", &error))?.boxed();
        drop(guard);
        Ok(Self { runtime, signals })
    }

    /// Scores the request; SIGTERM and SIGINT cancel it.
    fn score(mut self, args: &RunOnceArgs, request: &ScoringRequest) -> Result<ScoreResult, Failure> {
        self.runtime.block_on(async {
            let cancel = CancellationToken::new();
            let scoring = score(args, request, &cancel);
            tokio::pin!(scoring);
            tokio::select! {
                result = &mut scoring => return result,
                _ = self.signals.next() => {}
            }
            cancel.cancel();
            scoring.await
        })
    }
}

async fn score(
    args: &RunOnceArgs,
    request: &ScoringRequest,
    cancel: &CancellationToken,
) -> Result<ScoreResult, Failure> {
    let program = std::env::current_exe().map_err(|error| internal("cannot find this program", &error))?;
    let limits = JobLimits {
        share: Machine::of_this_process().share(1),
        stall_timeout: args.stall_timeout.0,
        deadline: args.scorer.job_deadline(),
    };
    let scorer = Scorer::open(&args.scorer, limits, Launcher::new(program))
        .map_err(|error| internal("cannot score on this machine", &error))?;
    let context = ScoringContext {
        scoring_roots: &args.scoring_roots,
        report_roots: &args.report_roots,
        cancel,
        // The Kubernetes Job may have started an earlier Pod, which cannot be told here.
        report_is_new: false,
        progress: log_progress(),
    };
    let mut result = scorer.score(request, context).await.map_err(|unscored| match unscored {
        Unscored::Failed(failure) => failure,
        Unscored::Cancelled => Failure::new(
            FailureReason::Internal,
            "the job was interrupted: the process was asked to terminate",
        ),
    })?;
    if let Some(details) = &mut result.details {
        // The reader of the result named the address itself. A long one would take the space of the features, and it may
        // contain a signature.
        details.report_uri.clear();
    }
    Ok(result)
}

fn log_progress() -> impl FnMut(u64, u64) {
    let mut last = Instant::now();
    move |done, total| {
        if last.elapsed() >= PROGRESS_INTERVAL {
            last = Instant::now();
            tracing::info!(done, total, "scoring");
        }
    }
}

fn internal(what: &str, error: &dyn std::error::Error) -> Failure {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Failure::new(FailureReason::Internal, format!("{what}: {error}{cause}"))
}
