//! Runs a task in a worker process, from the agent's side.
//!
//! The agent trusts nothing that a worker does: a worker may crash, hang, flood its pipes, start other processes or write
//! garbage, and then its job fails with a message that names the cause. Whatever happens, also when the future is dropped,
//! the worker's process group is killed and the worker reaped.
//!
//! | module     | does                                                                             |
//! |------------|----------------------------------------------------------------------------------|
//! | `process`  | a process group that is always killed and reaped                                 |
//! | `protocol` | parses messages, within limits                                                   |
//! | `watch`    | waits for the result, a stall, the deadline or a cancellation                    |
//! | `exit`     | pure: the failure reason of a worker's exit                                      |

mod exit;
mod process;
mod protocol;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use vmafx_job::{Confinement, Failure, FailureReason, ScoreResult};

use self::exit::WorkerExit;
use self::process::{Pipes, Process};
use self::watch::{WatchEnd, WorkerWatch};
use crate::machine::OomKills;
use crate::task::{ConfinementReport, Task, WorkerLimits, WorkerRequest};
use crate::worker::PathRedactor;

/// Variables that a worker inherits: the locations of programs and libraries, and the GPU to use. None of them is a
/// secret.
const INHERITED_VARIABLES: [&str; 7] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ONEAPI_DEVICE_SELECTOR",
];

/// Stall timeout of an external engine, which reports no progress.
const ENGINE_STALL_TIMEOUT: Duration = Duration::from_mins(30);

/// Timeout for a worker to confine itself and report how far that went.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts workers.
#[derive(Debug)]
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    /// The report of the last worker, so that it is logged when it changes and not for each job.
    confinement: Mutex<Option<ConfinementReport>>,
}

/// Why there is no score.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unscored {
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error("the job was cancelled")]
    Cancelled,
}

impl Launcher {
    /// Starts `program worker` for each task; the program is usually this very one.
    pub fn new(program: PathBuf) -> Self {
        Self::with_arguments(program, vec!["worker".into()])
    }

    /// Starts another program that implements the protocol of a worker.
    pub fn with_arguments(program: PathBuf, arguments: Vec<OsString>) -> Self {
        let environment =
            INHERITED_VARIABLES.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
        Self { program, arguments, environment: environment.collect(), confinement: Mutex::new(None) }
    }

    /// How far the last worker was confined, once one has reported it.
    pub fn confinement(&self) -> Option<ConfinementReport> {
        self.confinement.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs a task to its end.
    ///
    /// `progress` is called with the frame pairs scored and expected (0: unknown). A worker that scores and reads nothing for
    /// `stall_timeout`, or is not done after `deadline`, is killed.
    pub async fn run(
        &self,
        task: &Task,
        progress: impl FnMut(u64, u64),
        cancel: &CancellationToken,
        stall_timeout: Duration,
        deadline: Option<Duration>,
    ) -> Result<ScoreResult, Unscored> {
        if cancel.is_cancelled() {
            return Err(Unscored::Cancelled);
        }
        let text = serialize(&WorkerRequest::Score(Box::new(task.clone())))?;
        let kills = OomKills::now();
        let (mut process, pipes) = self.start(&task.limits).await?;
        let mut watch = WorkerWatch::new(stall_timeout, deadline, progress);
        if task.engine.is_some() {
            watch.expect_no_progress(ENGINE_STALL_TIMEOUT);
        }
        let mut confinement = None;
        let confined = |report: ConfinementReport| {
            confinement = Some(report.with_limits(&task.limits, deadline));
            self.log_confinement(report);
        };
        let end = watch.run(&mut process, pipes, &text, cancel, confined).await;
        let status = process.stop(matches!(end, WatchEnd::Done(_))).await;
        let exit = WorkerExit {
            status,
            oom_killed: OomKills::now().since(&kills),
            stderr: &watch.stderr,
            redactor: &PathRedactor::of(task),
            limits: &task.limits,
        };
        let mut result = exit::result(end, &exit)?;
        result.details.get_or_insert_default().confinement = confinement;
        Ok(result)
    }

    /// Starts a worker that only confines itself, and returns how far that went.
    pub async fn probe(&self, limits: &WorkerLimits) -> Result<Confinement, Failure> {
        let text = serialize(&WorkerRequest::Probe(limits.clone()))?;
        let (mut process, pipes) = self.start(limits).await?;
        let mut watch = WorkerWatch::new(PROBE_TIMEOUT, Some(PROBE_TIMEOUT), |_, _| {});
        let mut confinement = None;
        let confined = |report: ConfinementReport| {
            confinement = Some(report.with_limits(limits, None));
            self.log_confinement(report);
        };
        let never = CancellationToken::new();
        _ = watch.run(&mut process, pipes, &text, &never, confined).await;
        process.stop(false).await;
        confinement.ok_or_else(|| {
            let message = format!(
                "the worker did not report how far it is confined; its last message: {}",
                watch.stderr.last_line()
            );
            Failure::new(FailureReason::Internal, message)
        })
    }

    async fn start(&self, limits: &WorkerLimits) -> Result<(Process, Pipes), Failure> {
        Process::start(self.command(&limits.scratch)).await.map_err(|error| {
            Failure::new(
                FailureReason::Internal,
                format!("cannot start the worker {}: {error}", self.program.display()),
            )
        })
    }

    fn command(&self, scratch: &Path) -> Command {
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

    fn log_confinement(&self, report: ConfinementReport) {
        let mut last = self.confinement.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() == Some(&report) {
            return;
        }
        // A missing measure carries its cause: `no landlock: this kernel does not have it`.
        let (missing, active): (Vec<&str>, Vec<&str>) =
            report.measures.iter().map(String::as_str).partition(|measure| measure.contains(": "));
        let landlock_abi = report.landlock_abi;
        tracing::info!(active = active.join(", "), landlock_abi, "workers are confined");
        if !missing.is_empty() {
            tracing::warn!(missing = missing.join("; "), "this kernel lacks some confinement of workers");
        }
        *last = Some(report);
    }
}

fn serialize(request: &WorkerRequest) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(request)
        .map_err(|error| Failure::new(FailureReason::Internal, format!("cannot serialize the task: {error}")))
}
