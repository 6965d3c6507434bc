//! A decoder process that never outlives its owner.
//!
//! It gets a process group of its own, so that Ctrl-C in a terminal reaches us alone and we decide what becomes of it,
//! and so that a wrapper script dies together with what it started. If this process is killed and can decide nothing any
//! more, the pipe breaks and the decoder ends at its next frame. (`PR_SET_PDEATHSIG` is no help: it fires when the
//! *thread* ends that started the decoder.)

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::log::Exit;

/// The process. Its id stays ours until [`Child::reap`], so that no signal can hit a stranger.
#[derive(Debug)]
pub(in crate::input) struct Child {
    process: Mutex<std::process::Child>,
    id: Option<Pid>,
}

impl Child {
    /// Starts a program with these arguments, this standard input, and both outputs in pipes.
    pub(super) fn start(
        program: &Path,
        arguments: &[OsString],
        stdin: Stdio,
    ) -> io::Result<(Self, ChildStdout, ChildStderr)> {
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Colours in the log would be in the way, and a forced log file would be a surprise.
            .env("AV_LOG_FORCE_NOCOLOR", "1")
            .env_remove("FFREPORT")
            .process_group(0)
            .spawn()?;
        let missing = || io::Error::other("the pipe to ffmpeg is missing");
        let stdout = process.stdout.take().ok_or_else(missing)?;
        let stderr = process.stderr.take().ok_or_else(missing)?;
        let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        Ok((Self { process: Mutex::new(process), id }, stdout, stderr))
    }

    /// Kills it and whatever it started. Does nothing once it is reaped.
    pub(in crate::input) fn kill(&self) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        // Not reaped yet means that the id, and so the group, is still its own.
        if let (Ok(None), Some(id)) = (process.try_wait(), self.id) {
            // An error says that it is gone already, which is what we want.
            _ = rustix::process::kill_process_group(id, Signal::KILL);
            _ = process.kill();
        }
    }

    /// Waits for its end. Others can kill it in the meantime.
    pub(super) fn reap(&self) -> Exit {
        if let Some(id) = self.id {
            // Waits without reaping and without the lock; an error means that somebody else has reaped it.
            _ = rustix::process::waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        }
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        match process.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => Exit::Code(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Unknown,
            },
            Err(_) => Exit::Unknown,
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        self.reap();
    }
}
