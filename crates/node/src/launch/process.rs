//! A process group that is always killed and reaped.
//!
//! A thread of its own starts the process and waits for it: until a worker has read its task the kernel kills it together
//! with the *thread* that started it (`PR_SET_PDEATHSIG`), and threads of a runtime come and go.
//!
//! The leader stays unreaped until its group was killed: after that its id may belong to another process.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Timeout for a worker to exit after it has reported its result.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Timeout for a killed process to exit; one that waits for a dead disk may never do.
const REAP_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// The leader of a process group. The group is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    group: Group,
    exit: oneshot::Receiver<io::Result<ExitStatus>>,
    status: ProcessStatus,
}

#[derive(Clone, Copy, Debug)]
enum ProcessStatus {
    Running,
    /// The status is unknown if the process could not be waited for.
    Exited(Option<ExitStatus>),
}

/// The id of the leader until it is reaped.
#[derive(Clone, Debug)]
struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    /// Does nothing once the leader is reaped.
    fn kill(&self) {
        if let Some(leader) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // An error means that no process is left.
            _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
    }

    /// Kills one process, if it belongs to the group. The descriptor pins the process, so that its id cannot pass to another
    /// one between the check and the signal.
    fn kill_member(&self, process: u32) {
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(id) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return };
        let Ok(member) = rustix::process::pidfd_open(id, PidfdFlags::empty()) else { return };
        let group = group_of(id);
        if group.is_some() && group == *leader && group != Some(id) {
            _ = rustix::process::pidfd_send_signal(member, Signal::KILL);
        }
    }

    /// Kills what the leader left behind, and reaps the leader.
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

/// The process group, from `/proc`: `getpgid` of rustix panics for a process of another namespace, whose group is 0.
fn group_of(id: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.as_raw_pid())).ok()?;
    // The name in parentheses may contain anything; behind it are the state, the parent and the group.
    Pid::from_raw(stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()?)
}

impl Process {
    /// Starts a process as the leader of a new group.
    pub(super) async fn start(mut command: Command) -> io::Result<(Self, Pipes)> {
        let (started, start) = oneshot::channel();
        let (exited, exit) = oneshot::channel();
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
                // Waits without reaping; `reap` reports an error.
                _ = rustix::process::waitid(
                    WaitId::Pid(leader),
                    WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
                );
            }
            // An error means that the receiver was dropped.
            _ = exited.send(group.reap(child));
        })?;
        let gone = || io::Error::other("the thread that starts workers has panicked");
        let (group, (stdin, stdout, stderr)) = start.await.map_err(|_| gone())??;
        // Made before the pipes, so that an error below kills the process.
        let process = Self { group, exit, status: ProcessStatus::Running };
        let missing = || io::Error::other("a pipe to the worker is missing");
        let pipes = Pipes {
            stdin: ChildStdin::from_std(stdin.ok_or_else(missing)?)?,
            stdout: ChildStdout::from_std(stdout.ok_or_else(missing)?)?,
            stderr: ChildStderr::from_std(stderr.ok_or_else(missing)?)?,
        };
        Ok((process, pipes))
    }

    /// Kills a process that the leader has started.
    pub(super) fn kill_member(&self, process: u32) {
        self.group.kill_member(process);
    }

    /// Waits until the process exits. Safe to be dropped and called again.
    pub(super) async fn exited(&mut self) {
        if let ProcessStatus::Running = self.status {
            self.status = ProcessStatus::Exited((&mut self.exit).await.ok().and_then(Result::ok));
        }
    }

    /// Kills the process: at once, or after [`EXIT_TIMEOUT`] if it is about to exit. `None` if the kernel could not kill
    /// it in time.
    pub(super) async fn stop(mut self, about_to_exit: bool) -> Option<ExitStatus> {
        if !(about_to_exit && timeout(EXIT_TIMEOUT, self.exited()).await.is_ok()) {
            self.group.kill();
            if timeout(REAP_TIMEOUT, self.exited()).await.is_err() {
                tracing::error!("a killed worker does not exit; it waits for a device or a disk");
            }
        }
        match self.status {
            ProcessStatus::Running => None,
            ProcessStatus::Exited(status) => status,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill();
    }
}
