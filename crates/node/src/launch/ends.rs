//! What the end of a process means. Pure.
//!
//! | seen                                     | reason            |
//! |------------------------------------------|-------------------|
//! | the worker's own word                    | its own           |
//! | no progress, past the deadline, SIGXCPU  | `WorkerStalled`   |
//! | "memory allocation failed" and the like  | `OutOfMemory`     |
//! | SIGKILL, and the kernel counted a kill   | `OutOfMemory`     |
//! | SIGXFSZ                                  | `ReportNotWritten`|
//! | any other signal or exit code, nonsense  | `WorkerCrashed`   |

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use super::Unscored;
use super::watch::Seen;
use crate::failure::{Failure, Reason};
use crate::task::{Limits, Score};
use crate::text::{self, Tail};
use crate::worker::Names;

/// What Rust and C++ say before they give up.
const NO_MEMORY: [&str; 3] = ["memory allocation of ", "std::bad_alloc", "Cannot allocate memory"];

/// What is known about the end of a worker.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    pub(super) status: Option<ExitStatus>,
    /// Whether the kernel has killed for memory since the worker was started; nothing if it does not say.
    pub(super) out_of_memory: Option<bool>,
    pub(super) said: &'a Tail,
    pub(super) names: &'a Names,
    pub(super) limits: &'a Limits,
}

pub(super) fn judge(seen: Seen, evidence: &Evidence<'_>) -> Result<Score, Unscored> {
    let failed = |reason, message: String| Err(Unscored::Failed(Failure::new(reason, message)));
    match seen {
        Seen::Done(Ok(score)) => Ok(*score),
        Seen::Done(Err(failure)) => Err(Unscored::Failed(failure)),
        Seen::Cancelled => Err(Unscored::Cancelled),
        Seen::Stalled(time) => failed(
            Reason::WorkerStalled,
            format!("the worker made no progress for {} and was ended", seconds(time)),
        ),
        Seen::Late(time) => failed(
            Reason::WorkerStalled,
            format!("the job was not done after {} and was ended", seconds(time)),
        ),
        Seen::Nonsense(nonsense) => failed(
            Reason::WorkerCrashed,
            evidence.names.in_words(&format!("the worker {nonsense}; it was ended")),
        ),
        Seen::Ended => {
            let failure = ended(evidence);
            failed(failure.reason, failure.message)
        }
    }
}

/// A worker that ended without a word.
fn ended(evidence: &Evidence<'_>) -> Failure {
    let said = evidence.said.text();
    let last = evidence.names.in_words(&evidence.said.last_line());
    let signal = evidence.status.and_then(|status| status.signal());
    let megabytes = evidence.limits.memory_bytes / 1_000_000;
    if NO_MEMORY.iter().any(|words| said.contains(words)) {
        let message = format!("the worker needs more than the {megabytes} MB that a job has here");
        return Failure::new(Reason::OutOfMemory, message);
    }
    match signal {
        Some(libc::SIGKILL) if evidence.out_of_memory == Some(true) => {
            let message = "the kernel killed the worker because the memory of this node was used up; give the node more \
                           memory or fewer slots";
            Failure::new(Reason::OutOfMemory, message)
        }
        Some(libc::SIGXCPU) => {
            let message = format!("the worker used all of its {} s of CPU time", evidence.limits.cpu_seconds);
            Failure::new(Reason::WorkerStalled, message)
        }
        Some(libc::SIGXFSZ) => {
            let message = format!(
                "the report is larger than the {} MB a file may have",
                evidence.limits.file_bytes / 1_000_000
            );
            Failure::new(Reason::ReportNotWritten, message)
        }
        Some(signal) => {
            let message = format!("the worker was ended by {}{}", text::signal(signal), quoted(&last));
            Failure::new(Reason::WorkerCrashed, message)
        }
        None => {
            let code = evidence.status.and_then(|status| status.code());
            let how = code.map_or("in an unknown way".to_owned(), |code| format!("with exit code {code}"));
            let message = format!("the worker ended {how} and said nothing of its job{}", quoted(&last));
            Failure::new(Reason::WorkerCrashed, message)
        }
    }
}

fn quoted(last: &str) -> String {
    if last.is_empty() { String::new() } else { format!("; its last words: {last}") }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests;
