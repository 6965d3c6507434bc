//! Waits for the result of a worker, a stall, the deadline or a cancellation.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, ScoreResult};

use super::process::{Pipes, Process};
use super::protocol::{MessageParser, OutputBudget, ProtocolError};
use crate::task::{ConfinementReport, WorkerMessage};
use crate::text::Tail;

/// Bytes that are kept of a worker's standard error.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// Timeout for the rest of a pipe after the worker exited: another process may hold the pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Why the watch ended.
#[derive(Debug)]
pub(super) enum WatchEnd {
    Done(Result<Box<ScoreResult>, Failure>),
    /// The worker exited without a result.
    Exited,
    /// There was no progress for this long.
    Stalled(Duration),
    /// There was no result when the time for the job was over.
    TimedOut(Duration),
    ProtocolError(ProtocolError),
    Cancelled,
}

#[derive(Debug)]
pub(super) struct WorkerWatch<P> {
    stall_timeout: Option<Duration>,
    deadline: Option<Duration>,
    progress: P,
    /// The largest numbers reported so far. A repetition is not progress.
    furthest: Furthest,
    pub(super) stderr: Tail,
}

impl<P: FnMut(u64, u64)> WorkerWatch<P> {
    pub(super) fn new(stall_timeout: Duration, deadline: Option<Duration>, progress: P) -> Self {
        let stderr = Tail::new(MAX_STDERR_BYTES);
        Self { stall_timeout: Some(stall_timeout), deadline, progress, furthest: Furthest::default(), stderr }
    }

    /// For a worker that cannot report progress: the deadline takes the place of the stall timeout, or `stall_timeout` if there
    /// is none.
    pub(super) fn expect_no_progress(&mut self, stall_timeout: Duration) {
        self.stall_timeout = self.deadline.is_none().then_some(stall_timeout);
    }

    /// Sends the task and watches the worker until the job is decided.
    pub(super) async fn run(
        &mut self,
        process: &mut Process,
        pipes: Pipes,
        task: &[u8],
        cancel: &CancellationToken,
        confined: impl FnMut(ConfinementReport),
    ) -> WatchEnd {
        // Standard input stays open until the end: a worker takes its closing for the death of its agent.
        let Pipes { mut stdin, mut stdout, stderr } = pipes;
        let mut tail = std::mem::replace(&mut self.stderr, Tail::new(0));
        let end = {
            let others = async { tokio::join!(send_task(&mut stdin, task), read_stderr(stderr, &mut tail)) };
            let mut reader = MessageReader { watch: self, confined, parser: MessageParser::default() };
            let read = reader.read(process, &mut stdout, cancel);
            tokio::pin!(others, read);
            let mut others_done = false;
            let end = loop {
                tokio::select! {
                    end = &mut read => break end,
                    _ = &mut others, if !others_done => others_done = true,
                }
            };
            // The cause of a crash is on standard error and may still be in the pipe.
            if matches!(end, WatchEnd::Exited) && !others_done {
                _ = timeout(DRAIN_TIMEOUT, others).await;
            }
            end
        };
        self.stderr = tail;
        end
    }
}

#[derive(Debug, Default)]
struct Furthest {
    /// Frame pairs that were scored.
    done: Option<u64>,
    /// Frames that were read.
    frames: Option<u64>,
    bytes: Option<u64>,
}

/// Whether the number is larger than all before it, which it replaces then.
fn advances(furthest: &mut Option<u64>, number: u64) -> bool {
    let advances = furthest.is_none_or(|furthest| number > furthest);
    if advances {
        *furthest = Some(number);
    }
    advances
}

struct MessageReader<'a, P, C> {
    watch: &'a mut WorkerWatch<P>,
    confined: C,
    parser: MessageParser,
}

impl<P: FnMut(u64, u64), C: FnMut(ConfinementReport)> MessageReader<'_, P, C> {
    async fn read(
        &mut self,
        process: &mut Process,
        stdout: &mut (impl AsyncReadExt + Unpin),
        cancel: &CancellationToken,
    ) -> WatchEnd {
        let start = Instant::now();
        let mut last_progress = start;
        let mut budget = OutputBudget::new(start);
        let mut buffer = vec![0; 8 * 1024];
        loop {
            let (stall, deadline) = (self.watch.stall_timeout, self.watch.deadline);
            let read = tokio::select! {
                read = stdout.read(&mut buffer) => read.unwrap_or(0),
                () = cancel.cancelled() => return WatchEnd::Cancelled,
                () = after(last_progress, stall) => return WatchEnd::Stalled(stall.unwrap_or_default()),
                () = after(start, deadline) => return WatchEnd::TimedOut(deadline.unwrap_or_default()),
                () = process.exited() => match timeout(DRAIN_TIMEOUT, stdout.read(&mut buffer)).await {
                    Ok(Ok(read)) => read,
                    _ => 0,
                },
            };
            if read == 0 {
                // A worker may close its standard output and run on, so only its exit ends the watch.
                return tokio::select! {
                    () = process.exited() => WatchEnd::Exited,
                    () = cancel.cancelled() => WatchEnd::Cancelled,
                    () = after(last_progress, stall) => WatchEnd::Stalled(stall.unwrap_or_default()),
                    () = after(start, deadline) => WatchEnd::TimedOut(deadline.unwrap_or_default()),
                };
            }
            let now = Instant::now();
            match budget.consume(now, read).and_then(|()| self.parser.push(&buffer[..read])) {
                Err(error) => return WatchEnd::ProtocolError(error),
                Ok(messages) => {
                    for message in messages {
                        match message {
                            WorkerMessage::Done(result) => return WatchEnd::Done(result),
                            WorkerMessage::Confined(report) => (self.confined)(report),
                            WorkerMessage::Kill { process: member } => process.kill_member(member),
                            WorkerMessage::Progress { done, total } => {
                                if advances(&mut self.watch.furthest.done, done) {
                                    last_progress = now;
                                }
                                (self.watch.progress)(done, total);
                            }
                            WorkerMessage::Activity { frames, bytes } => {
                                let furthest = &mut self.watch.furthest;
                                let more_frames = advances(&mut furthest.frames, frames);
                                if advances(&mut furthest.bytes, bytes) || more_frames {
                                    last_progress = now;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// An error is ignored: a worker that does not read its task exits or stalls, which the watch notices.
async fn send_task(stdin: &mut ChildStdin, task: &[u8]) {
    _ = stdin.write_all(task).await;
    _ = stdin.write_all(b"\n").await;
    _ = stdin.flush().await;
}

async fn read_stderr(mut stderr: ChildStderr, tail: &mut Tail) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        tail.push(&buffer[..count]);
    }
}

/// Completes when `limit` has passed since `start`; never without a limit.
async fn after(start: Instant, limit: Option<Duration>) {
    match limit.and_then(|limit| start.checked_add(limit)) {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}
