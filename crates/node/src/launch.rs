//! Runs a task in a worker process, from the agent's side.
//!
//! The agent trusts nothing that a worker does: it may crash, hang, flood its pipes, start other processes or write
//! nonsense, and that job fails with a message that names the cause. Whatever happens, also when the future is dropped,
//! the worker's process group is killed and the worker reaped.
//!
//! | module     | does                                                                             |
//! |------------|----------------------------------------------------------------------------------|
//! | `process`  | a process group that cannot be left behind                                       |
//! | `listen`   | messages out of bytes, within bounds                                             |
//! | `watch`    | the course of a job: progress, silence, deadline, cancellation                   |
//! | `ends`     | pure: what the end of a process means                                            |

mod ends;
mod listen;
mod process;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use self::ends::Evidence;
use self::process::Process;
use self::watch::{Course, Seen};
use crate::failure::{Failure, Reason};
use crate::machine::OomKills;
use crate::task::{Score, Task};
use crate::worker::Names;

/// Variables that a worker gets if the agent has them: where programs and libraries are, and which GPU is meant. None of
/// them is a secret.
const PASSED_ON: [&str; 7] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ONEAPI_DEVICE_SELECTOR",
];

/// An external engine says nothing while it works, so a deadline takes the place of its progress.
const ENGINE_DEADLINE: Duration = Duration::from_mins(30);

/// Starts workers.
#[derive(Debug)]
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    /// How the workers were confined, to say it once and not for each job.
    confinement: Mutex<Option<Vec<String>>>,
}

/// Why there is no score.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unscored {
    /// The job failed.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// It was cancelled.
    #[error("the job was cancelled")]
    Cancelled,
}

impl Launcher {
    /// Starts `program worker` for each task: this very program, as a rule.
    pub fn new(program: PathBuf) -> Self {
        Self::with_arguments(program, vec!["worker".into()])
    }

    /// Starts another program that speaks as a worker does.
    pub fn with_arguments(program: PathBuf, arguments: Vec<OsString>) -> Self {
        let environment =
            PASSED_ON.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
        Self { program, arguments, environment, confinement: Mutex::new(None) }
    }

    /// How the last worker was confined, once one has said it.
    pub fn confinement(&self) -> Option<Vec<String>> {
        self.confinement.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs a task to its end.
    ///
    /// `progress` hears frame pairs scored and expected (0: not known). Without any for as long as `stall` the worker is
    /// ended, and so it is after `deadline`.
    pub async fn run(
        &self,
        task: &Task,
        progress: impl FnMut(u64, u64),
        cancel: &CancellationToken,
        stall: Duration,
        deadline: Option<Duration>,
    ) -> Result<Score, Unscored> {
        if cancel.is_cancelled() {
            return Err(Unscored::Cancelled);
        }
        let text = serde_json::to_vec(task).map_err(|error| {
            Failure::new(Reason::Internal, format!("the task cannot be written: {error}"))
        })?;
        let kills = OomKills::now();
        let (mut process, pipes) = Process::start(self.command(task)).await.map_err(|error| {
            Failure::new(
                Reason::Internal,
                format!("the worker {} does not start: {error}", self.program.display()),
            )
        })?;
        let mut course = Course::new(stall, deadline, progress);
        if task.engine.is_some() {
            course.expect_silence(ENGINE_DEADLINE);
        }
        let seen = course.watch(&mut process, pipes, &text, cancel, |words| self.confined(words)).await;
        let status = process.end(matches!(seen, Seen::Done(_))).await;
        let evidence = Evidence {
            status,
            out_of_memory: OomKills::now().since(&kills),
            said: &course.said,
            names: &Names::of(task),
            limits: &task.limits,
        };
        ends::judge(seen, &evidence)
    }

    fn command(&self, task: &Task) -> Command {
        let scratch = &task.limits.scratch;
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("LANG", "C.UTF-8")
            .env("HOME", scratch)
            .env("TMPDIR", scratch)
            .current_dir(scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Logs how workers are confined, whenever that changes.
    fn confined(&self, words: Vec<String>) {
        let mut known = self.confinement.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref() == Some(&words) {
            return;
        }
        let (missing, active): (Vec<&str>, Vec<&str>) =
            words.iter().map(String::as_str).partition(|word| word.contains(": "));
        tracing::info!(active = active.join(", "), "workers are confined");
        if !missing.is_empty() {
            tracing::warn!(
                missing = missing.join("; "),
                "workers could be confined better on another kernel"
            );
        }
        *known = Some(words);
    }
}
