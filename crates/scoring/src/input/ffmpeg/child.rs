//! A decoder process that never outlives its owner.
//!
//! The decoder has a process group of its own, so that Ctrl-C in a terminal reaches only this process, and so that a wrapper
//! script is killed together with its children. If this process is killed, the pipe breaks and the decoder ends at its next
//! frame. (`PR_SET_PDEATHSIG` does not help: it fires when the *thread* ends that started the decoder.)

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::super::tools::ProcessKiller;
use super::log::DecoderExit;

/// The process. Its id is not reused before [`Child::reap`], so no signal can reach another process.
#[derive(Debug)]
pub(in crate::input) struct Child {
    process: Mutex<std::process::Child>,
    id: Option<Pid>,
    killer: Option<ProcessKiller>,
}

impl Child {
    /// Starts a program with pipes for standard output and standard error.
    pub(super) fn start(
        program: &Path,
        arguments: &[OsString],
        stdin: Stdio,
        killer: Option<ProcessKiller>,
    ) -> io::Result<(Self, ChildStdout, ChildStderr)> {
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // The log is parsed, so it must not have colours. `FFREPORT` would make ffmpeg write a file.
            .env("AV_LOG_FORCE_NOCOLOR", "1")
            .env_remove("FFREPORT")
            .process_group(0)
            .spawn()?;
        let missing = || io::Error::other("the pipe to ffmpeg is missing");
        let stdout = process.stdout.take().ok_or_else(missing)?;
        let stderr = process.stderr.take().ok_or_else(missing)?;
        let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        Ok((Self { process: Mutex::new(process), id, killer }, stdout, stderr))
    }

    /// Kills the process and its children. Does nothing once it is reaped.
    pub(in crate::input) fn kill(&self) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        // A process that is not reaped yet still owns its id, and so its group.
        if let (Ok(None), Some(id)) = (process.try_wait(), self.id) {
            if let Some(killer) = &self.killer {
                return killer.kill(process.id());
            }
            // An error means that the process is gone already.
            _ = rustix::process::kill_process_group(id, Signal::KILL);
            _ = process.kill();
        }
    }

    /// Waits for the process to end. Other threads can kill it meanwhile.
    pub(super) fn reap(&self) -> DecoderExit {
        if let Some(id) = self.id {
            // Waits without reaping and without the lock; an error means that the process is reaped already.
            _ = rustix::process::waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        }
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        match process.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => DecoderExit::Code(code),
                (None, Some(signal)) => DecoderExit::Signal(signal),
                (None, None) => DecoderExit::Unknown,
            },
            Err(_) => DecoderExit::Unknown,
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        self.reap();
    }
}
