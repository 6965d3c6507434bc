//! The failure reason of a worker's exit. Pure.
//!
//! | observed                                   | reason             |
//! |--------------------------------------------|--------------------|
//! | the worker reported a result               | that of the result |
//! | no progress, SIGXCPU                       | `WorkerStalled`    |
//! | the time for a job is over                 | `InputTooLarge`    |
//! | "memory allocation failed" and the like    | `OutOfMemory`      |
//! | SIGKILL, and the kernel counted an OOM kill| `OutOfMemory`      |
//! | SIGXFSZ                                    | `ReportNotWritten` |
//! | any other signal or exit code, garbage     | `WorkerCrashed`    |

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use vmafx_job::{Failure, FailureReason, ScoreResult};

use super::Unscored;
use super::watch::WatchEnd;
use crate::task::WorkerLimits;
use crate::text::{self, Tail};
use crate::worker::PathRedactor;

/// Parts of the messages of Rust, C++ and ffmpeg when an allocation fails.
const NO_MEMORY: [&str; 3] = ["memory allocation of ", "std::bad_alloc", "Cannot allocate memory"];

/// Facts about a worker that is gone.
#[derive(Debug)]
pub(super) struct WorkerExit<'a> {
    pub(super) status: Option<ExitStatus>,
    /// Whether the kernel counted an OOM kill since the worker was started; `None`: it does not count them.
    pub(super) oom_killed: Option<bool>,
    pub(super) stderr: &'a Tail,
    pub(super) redactor: &'a PathRedactor,
    pub(super) limits: &'a WorkerLimits,
}

pub(super) fn result(end: WatchEnd, exit: &WorkerExit<'_>) -> Result<ScoreResult, Unscored> {
    let (reason, message) = match end {
        WatchEnd::Done(Ok(score)) => return Ok(*score),
        WatchEnd::Done(Err(failure)) => return Err(failure.into()),
        WatchEnd::Cancelled => return Err(Unscored::Cancelled),
        WatchEnd::Exited => return Err(exited(exit).into()),
        WatchEnd::Stalled(timeout) => (
            FailureReason::WorkerStalled,
            format!("the worker made no progress for {} and was killed", seconds(timeout)),
        ),
        WatchEnd::TimedOut(deadline) => (
            // The worker made progress all the time: the clips are longer than the limit permits, or have no end.
            FailureReason::InputTooLarge,
            format!(
                "the job was not done after {}, the time limit of a job (VMAFX_WORKER_TIMEOUT), and its worker was killed; \
                 score shorter clips, or raise the limit",
                seconds(deadline)
            ),
        ),
        WatchEnd::ProtocolError(error) => (
            FailureReason::WorkerCrashed,
            exit.redactor.redact(&format!("the worker {error}; it was killed")),
        ),
    };
    Err(Failure::new(reason, message).into())
}

/// The failure of a worker that exited without a result.
fn exited(exit: &WorkerExit<'_>) -> Failure {
    let last_line = exit.redactor.redact(&exit.stderr.last_line());
    let signal = exit.status.and_then(|status| status.signal());
    let stderr = exit.stderr.text();
    let (reason, message) = match signal {
        _ if NO_MEMORY.iter().any(|part| stderr.contains(part)) => {
            let megabytes = exit.limits.memory_bytes / 1_000_000;
            let message = format!("the worker needs more than the {megabytes} MB of a job on this node");
            (FailureReason::OutOfMemory, message)
        }
        Some(libc::SIGKILL) if exit.oom_killed == Some(true) => (
            FailureReason::OutOfMemory,
            "the kernel killed the worker because the memory of this node was used up; give the node more memory or \
             fewer slots"
                .to_owned(),
        ),
        Some(libc::SIGXCPU) => (
            FailureReason::WorkerStalled,
            format!("the worker used all of its {} s of CPU time (VMAFX_WORKER_CPU)", exit.limits.cpu_seconds),
        ),
        Some(libc::SIGXFSZ) => (
            FailureReason::ReportNotWritten,
            format!("the report is larger than the maximum of {} MB", exit.limits.file_bytes / 1_000_000),
        ),
        Some(signal) => (
            FailureReason::WorkerCrashed,
            format!("the worker was killed by {}{}", text::signal(signal), quoted(&last_line)),
        ),
        None => {
            let code = exit.status.and_then(|status| status.code());
            let how = code.map_or("in an unknown way".to_owned(), |code| format!("with exit code {code}"));
            let message = format!("the worker exited {how} and reported no result{}", quoted(&last_line));
            (FailureReason::WorkerCrashed, message)
        }
    };
    Failure::new(reason, message)
}

fn quoted(last_line: &str) -> String {
    if last_line.is_empty() { String::new() } else { format!("; its last message: {last_line}") }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests;
