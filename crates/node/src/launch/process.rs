//! A process group that cannot be left behind.
//!
//! A thread of its own starts the process and waits for it: until a worker has heard its task the kernel ends it together
//! with the *thread* that started it (`PR_SET_PDEATHSIG`), and threads of a runtime come and go.
//!
//! The leader stays unreaped until the group was killed, so that its id cannot be another's by then.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// For a worker that has said how it ended to end.
const GRACE: Duration = Duration::from_secs(2);

/// For the kernel to end a process that is killed; one that waits for a dead disk may take for ever.
const REAPING: Duration = Duration::from_secs(10);

/// The pipes of a process.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// A process that leads a group. Dropped, the group is killed.
#[derive(Debug)]
pub(super) struct Process {
    group: Group,
    ended: oneshot::Receiver<io::Result<ExitStatus>>,
    status: Status,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
enum Status {
    Running,
    /// How it ended, if that is known.
    Ended(Option<ExitStatus>),
}

/// The group, as long as it is there.
#[derive(Clone, Debug)]
struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    /// Kills all of it. Does nothing once the leader is reaped.
    fn kill(&self) {
        if let Some(leader) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // An error says that nobody is left, which is what is wanted.
            _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
    }

    /// Kills what the leader left behind, and reaps it.
    fn reap(&self, mut child: Child) -> io::Result<ExitStatus> {
        let mut leader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leader) = *leader {
            _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
        let status = child.wait();
        *leader = None;
        status
    }
}

impl Process {
    /// Starts it as the leader of a new group.
    pub(super) async fn start(mut command: Command) -> io::Result<(Self, Pipes)> {
        let (started, start) = oneshot::channel();
        let (done, ended) = oneshot::channel();
        thread::Builder::new().name("worker".to_owned()).spawn(move || {
            let mut child = match command.process_group(0).spawn() {
                Ok(child) => child,
                Err(error) => return drop(started.send(Err(error))),
            };
            let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let group = Group(Arc::new(Mutex::new(leader)));
            let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            if started.send(Ok((group.clone(), pipes))).is_err() {
                group.kill();
            }
            if let Some(leader) = leader {
                // Waits without reaping; an error is met again below.
                _ = rustix::process::waitid(
                    WaitId::Pid(leader),
                    WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
                );
            }
            // Nobody may want to know any more.
            _ = done.send(group.reap(child));
        })?;
        let gone = || io::Error::other("the thread that starts workers is gone");
        let (group, (stdin, stdout, stderr)) = start.await.map_err(|_| gone())??;
        // From here on a drop kills it.
        let process = Self { group, ended, status: Status::Running };
        let missing = || io::Error::other("a pipe to the worker is missing");
        let pipes = Pipes {
            stdin: ChildStdin::from_std(stdin.ok_or_else(missing)?)?,
            stdout: ChildStdout::from_std(stdout.ok_or_else(missing)?)?,
            stderr: ChildStderr::from_std(stderr.ok_or_else(missing)?)?,
        };
        Ok((process, pipes))
    }

    /// Waits until it has ended by itself. Safe to be dropped and called again.
    pub(super) async fn ended(&mut self) {
        if let Status::Running = self.status {
            self.status = Status::Ended((&mut self.ended).await.ok().and_then(Result::ok));
        }
    }

    /// Sees to its end: kills it, at once or, if it is about to end, after a while. Nothing is known of one that the
    /// kernel cannot end.
    pub(super) async fn end(mut self, about_to_end: bool) -> Option<ExitStatus> {
        if !(about_to_end && timeout(GRACE, self.ended()).await.is_ok()) {
            self.group.kill();
            if timeout(REAPING, self.ended()).await.is_err() {
                tracing::error!("a worker was killed and does not end; it waits for a device or a disk");
            }
        }
        match self.status {
            Status::Running => None,
            Status::Ended(status) => status,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill();
    }
}
