//! The course of a job: progress, silence, deadline, cancellation.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::listen::{Allowance, Lines, Nonsense};
use super::process::{Pipes, Process};
use crate::failure::Failure;
use crate::task::{Message, Score};
use crate::text::Tail;

/// Bytes of standard error that are kept.
const SAID: usize = 64 * 1024;

/// For what was written before the end to be read, when somebody else holds the pipe open.
const REST: Duration = Duration::from_secs(2);

/// How the course of a job ended.
#[derive(Debug)]
pub(super) enum Seen {
    /// The worker said how.
    Done(Result<Box<Score>, Failure>),
    /// It ended without a word.
    Ended,
    /// It made no progress for so long.
    Stalled(Duration),
    /// It was not done after so long.
    Late(Duration),
    /// It wrote nonsense.
    Nonsense(Nonsense),
    /// It was cancelled.
    Cancelled,
}

/// What is watched, and what was seen.
#[derive(Debug)]
pub(super) struct Course<P> {
    stall: Option<Duration>,
    deadline: Option<Duration>,
    progress: P,
    best: Option<u64>,
    /// The end of what the worker said on its standard error.
    pub(super) said: Tail,
}

impl<P: FnMut(u64, u64)> Course<P> {
    pub(super) fn new(stall: Duration, deadline: Option<Duration>, progress: P) -> Self {
        Self { stall: Some(stall), deadline, progress, best: None, said: Tail::new(SAID) }
    }

    /// Silence means nothing; a deadline must do.
    pub(super) fn expect_silence(&mut self, deadline: Duration) {
        self.stall = None;
        self.deadline.get_or_insert(deadline);
    }

    /// Hands the task over and watches until the job is decided.
    pub(super) async fn watch(
        &mut self,
        process: &mut Process,
        pipes: Pipes,
        task: &[u8],
        cancel: &CancellationToken,
        confined: impl FnMut(Vec<String>),
    ) -> Seen {
        // Open to the end: by its closing a worker knows that its agent is gone.
        let Pipes { mut stdin, mut stdout, stderr } = pipes;
        let mut said = std::mem::replace(&mut self.said, Tail::new(0));
        let seen = {
            let others = async { tokio::join!(hand_over(&mut stdin, task), overhear(stderr, &mut said)) };
            let mut listening = Listening { course: self, confined, lines: Lines::default() };
            let listened = listening.listen(process, &mut stdout, cancel);
            tokio::pin!(others, listened);
            let mut heard_out = false;
            let seen = loop {
                tokio::select! {
                    seen = &mut listened => break seen,
                    _ = &mut others, if !heard_out => heard_out = true,
                }
            };
            // Whoever crashed has said why, and it is on its way.
            if matches!(seen, Seen::Ended) && !heard_out {
                _ = timeout(REST, others).await;
            }
            seen
        };
        self.said = said;
        seen
    }
}

struct Listening<'a, P, C> {
    course: &'a mut Course<P>,
    confined: C,
    lines: Lines,
}

impl<P: FnMut(u64, u64), C: FnMut(Vec<String>)> Listening<'_, P, C> {
    async fn listen(
        &mut self,
        process: &mut Process,
        stdout: &mut (impl AsyncReadExt + Unpin),
        cancel: &CancellationToken,
    ) -> Seen {
        let start = Instant::now();
        let mut moved = start;
        let mut allowance = Allowance::new(start);
        let mut buffer = vec![0; 8 * 1024];
        loop {
            let (stall, deadline) = (self.course.stall, self.course.deadline);
            let read = tokio::select! {
                read = stdout.read(&mut buffer) => read.unwrap_or(0),
                () = cancel.cancelled() => return Seen::Cancelled,
                () = after(moved, stall) => return Seen::Stalled(stall.unwrap_or_default()),
                () = after(start, deadline) => return Seen::Late(deadline.unwrap_or_default()),
                () = process.ended() => match timeout(REST, stdout.read(&mut buffer)).await {
                    Ok(Ok(read)) => read,
                    _ => 0,
                },
            };
            if read == 0 {
                // A pipe that is closed is an end only together with its process.
                return self.wait(process, cancel, (moved, stall), (start, deadline)).await;
            }
            let now = Instant::now();
            let heard = allowance.take(now, read).and_then(|()| self.lines.push(&buffer[..read]));
            match heard {
                Err(nonsense) => return Seen::Nonsense(nonsense),
                Ok(messages) => {
                    for message in messages {
                        match message {
                            Message::Done(result) => return Seen::Done(result),
                            Message::Confined(words) => (self.confined)(words),
                            Message::Progress { done, total } => {
                                if self.course.best.is_none_or(|best| done > best) {
                                    self.course.best = Some(done);
                                    moved = now;
                                }
                                (self.course.progress)(done, total);
                            }
                        }
                    }
                }
            }
        }
    }

    async fn wait(
        &self,
        process: &mut Process,
        cancel: &CancellationToken,
        (moved, stall): (Instant, Option<Duration>),
        (start, deadline): (Instant, Option<Duration>),
    ) -> Seen {
        tokio::select! {
            () = process.ended() => Seen::Ended,
            () = cancel.cancelled() => Seen::Cancelled,
            () = after(moved, stall) => Seen::Stalled(stall.unwrap_or_default()),
            () = after(start, deadline) => Seen::Late(deadline.unwrap_or_default()),
        }
    }
}

/// Writes the task. A worker that does not read it will end or stall, and that is seen elsewhere.
async fn hand_over(stdin: &mut ChildStdin, task: &[u8]) {
    _ = stdin.write_all(task).await;
    _ = stdin.write_all(b"\n").await;
    _ = stdin.flush().await;
}

/// Keeps the end of what is said until the pipe is closed.
async fn overhear(mut stderr: ChildStderr, said: &mut Tail) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        said.push(&buffer[..count]);
    }
}

/// So long after a moment; never, if not limited.
async fn after(start: Instant, limit: Option<Duration>) {
    match limit.and_then(|limit| start.checked_add(limit)) {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}
