//! A child process with its own log that never outlives its parent.
//!
//! Dropping a [`ChildProcess`] kills it. That is not enough: a test run that is killed drops nothing, and a `static` is
//! never dropped. So the kernel is asked to kill the child, by `PR_SET_PDEATHSIG`, through `setpriv(1)`. Two pitfalls:
//!
//! * The signal is sent when the *thread* that started the child ends, and the test harness ends a thread after
//!   every test. All children are therefore started by one thread that never ends (`process/spawner.rs`).
//! * A parent that dies between `fork` and `prctl` is missed. The child checks its parent once more after `prctl`,
//!   and exits if that has changed.
//!
//! Guarded by `tests/control_plane.rs`: `a_killed_owner_leaves_no_process_and_no_directory`.

mod spawner;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;

use crate::wait;

const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("cannot start {name} from {}", .program.display())]
    Start {
        name: String,
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{name} ended early ({status}):\n{log}")]
    Ended { name: String, status: ExitStatus, log: String },
    #[error("{name} was not ready in time:\n{log}")]
    NotReady {
        name: String,
        log: String,
        #[source]
        source: wait::TimedOut,
    },
}

#[derive(Debug, Clone)]
pub struct ChildCommand {
    name: String,
    program: PathBuf,
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    log: PathBuf,
}

impl ChildCommand {
    /// A program, its name in messages, and the file for its output.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>, log: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            args: Vec::new(),
            envs: Vec::new(),
            directory: None,
            log: log.into(),
        }
    }

    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds `--flag=path`.
    #[must_use]
    pub fn path(self, flag: &str, path: impl AsRef<Path>) -> Self {
        let mut arg = OsString::from(flag);
        arg.push("=");
        arg.push(path.as_ref());
        self.arg(arg)
    }

    /// Adds an environment variable to the inherited ones.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.envs.push((name.into(), value.into()));
        self
    }

    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    fn to_command(&self) -> io::Result<Command> {
        let mut command = match setpriv() {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command
                    .args(["--pdeathsig", "KILL", "--", "sh", "-c", r#"test "$PPID" = "$0" && exec "$@""#])
                    .arg(std::process::id().to_string())
                    .arg(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        let log = File::options().create(true).append(true).open(&self.log)?;
        command
            .args(&self.args)
            .envs(self.envs.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Ctrl-C at a terminal must reach the owner only, which then stops its children in order.
            .process_group(0);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        Ok(command)
    }
}

/// A running child. Dropping it kills it.
#[derive(Debug)]
pub struct ChildProcess {
    name: String,
    log: PathBuf,
    child: Child,
}

impl ChildProcess {
    /// Starts a child, which ends with this process, however that ends.
    pub fn start(command: &ChildCommand) -> Result<Self, ProcessError> {
        let start = |source| ProcessError::Start {
            name: command.name.clone(),
            program: command.program.clone(),
            source,
        };
        let child = command.to_command().and_then(spawner::spawn).map_err(start)?;
        Ok(Self { name: command.name.clone(), log: command.log.clone(), child })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `ready` holds; fails at once, with the end of the log, if the process ends first.
    pub async fn ready<A, F, Fut>(
        &mut self,
        deadline: Duration,
        mut ready: F,
    ) -> Result<A::Value, ProcessError>
    where
        A: wait::PollResult,
        F: FnMut() -> Fut,
        Fut: Future<Output = A>,
    {
        let what = format!("{} to be ready", self.name);
        let waited = wait::until(deadline, &what, || {
            let ended = self.ended();
            let answer = ended.is_none().then(&mut ready);
            async move {
                match (ended, answer) {
                    (Some(ended), _) => Ok(Err(ended)),
                    // Bounded, because a probe that hangs would hide that the process has ended.
                    (None, Some(answer)) => match timeout(PROBE_TIMEOUT, answer).await.map(A::into_result) {
                        Ok(Ok(value)) => Ok(Ok(value)),
                        Ok(Err(observed)) => Err(observed.unwrap_or_default()),
                        Err(_) => Err("the probe timed out".to_owned()),
                    },
                    (None, None) => Err(String::new()),
                }
            }
        })
        .await;
        waited.unwrap_or_else(|source| {
            Err(ProcessError::NotReady { name: self.name.clone(), log: self.log_tail(), source })
        })
    }

    /// The error for a process that has ended; `None` while it runs.
    pub fn ended(&mut self) -> Option<ProcessError> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(ProcessError::Ended { name: self.name.clone(), status, log: self.log_tail() })
    }

    /// Blocks until the process ends by itself.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Sends a signal, unless the process has ended.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        // `try_wait` first: once reaped, the id may belong to another process.
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        pid.map_or(Ok(()), |pid| Ok(kill_process(pid, signal)?))
    }

    /// Kills the process and waits until it is gone.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// The last lines of the log.
    pub fn log_tail(&self) -> String {
        const LINES: usize = 20;
        let log = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// Looks for a program in `PATH`, and in `/usr/sbin` and `/sbin`, which an ordinary user's `PATH` often lacks.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let admin_directories = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(admin_directories)
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
}

/// `setpriv`, or `None` after a single warning: children are then killed on drop only.
fn setpriv() -> Option<&'static OsStr> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let found = find_program("setpriv");
        if found.is_none() {
            tracing::warn!("setpriv (util-linux) is missing: servers outlive a test run that is killed");
        }
        found
    });
    found.as_deref().map(Path::as_os_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, directory: &Path) -> ChildProcess {
        let command = ChildCommand::new("a script", "/bin/sh", directory.join("log")).args(["-c", script]);
        ChildProcess::start(&command).unwrap()
    }

    #[tokio::test]
    async fn an_early_exit_is_reported_at_once_with_the_end_of_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let mut process = shell("seq 30; echo no such flag; exit 3", directory.path());
        let ready = process.ready(Duration::from_mins(1), std::future::pending::<bool>);
        let text = timeout(Duration::from_secs(20), ready).await.unwrap().unwrap_err().to_string();
        assert!(text.starts_with("a script ended early (exit status: 3):\n"), "{text}");
        assert!(text.ends_with("30\nno such flag"), "{text}");
        assert!(!text.contains("\n10\n"), "only the end of the log: {text}");
    }

    #[tokio::test]
    async fn a_child_outlives_the_thread_that_requested_it() {
        const SOON: Duration = Duration::from_secs(20);
        let directory = tempfile::tempdir().unwrap();
        let (path, log) = (directory.path().to_owned(), directory.path().join("log"));
        let logs = async |word: &str| {
            let logged = async || fs::read_to_string(&log).is_ok_and(|text| text.contains(word));
            wait::until(SOON, word, logged).await
        };
        let (send_child, child) = std::sync::mpsc::channel();
        let (let_end, may_end) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let script = "trap 'echo alive' USR1; echo ready; while :; do sleep 0.02; done";
            send_child.send(shell(script, &path)).unwrap();
            let _ = may_end.recv();
            fs::read_link("/proc/thread-self").unwrap()
        });
        let mut process = child.recv().unwrap();
        // Once it is ready, the death signal has been set up.
        logs("ready").await.unwrap();
        drop(let_end);
        let thread = Path::new("/proc").join(thread.join().unwrap());
        wait::until(SOON, "the thread to end", async || !thread.exists()).await.unwrap();
        // A death signal at the thread's end would have arrived first, and killed the child.
        process.signal(Signal::USR1).unwrap();
        logs("alive").await.unwrap();
    }

    #[test]
    fn a_dropped_child_is_gone_when_drop_returns() {
        let directory = tempfile::tempdir().unwrap();
        let mut process = shell("exec sleep 600", directory.path());
        let proc = PathBuf::from(format!("/proc/{}", process.pid()));
        assert!(process.ended().is_none());
        assert!(proc.exists());
        drop(process);
        assert!(!proc.exists());
    }
}
