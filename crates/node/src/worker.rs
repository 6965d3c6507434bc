//! One job, in a process of its own: `vmafx-node worker`.
//!
//! ```text
//! task on stdin ──▶ confine ──▶ admission ──▶ score ──▶ report into scratch ──▶ messages on stdout
//! ```
//!
//! | module           | does                                                                    |
//! |------------------|-------------------------------------------------------------------------|
//! | `request`        | pure: converts a task into a request of `vmafx-scoring`                 |
//! | `admission`      | pure: how many threads fit into the memory                              |
//! | `comparison`     | the job itself, from clips to a score and a report                      |
//! | `result`         | pure: converts the outcome of `vmafx-scoring` into a result             |
//! | `classify`       | pure: the failure reason of each error                                  |
//! | `path_redactor`  | pure: replaces local paths in messages by the addresses of the job      |
//! | `parent_watch`   | kills the worker and all it started when the agent is gone              |
//! | `message_writer` | writes messages, and progress a few times a second                      |

mod admission;
mod classify;
mod comparison;
mod message_writer;
mod parent_watch;
mod path_redactor;
mod request;
mod result;

use std::ffi::OsStr;
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use vmafx_job::{Failure, FailureReason, ScoreResult};
use vmafx_scoring::input::{ProcessKiller, Tools};

pub(crate) use self::classify::{input_failure, model_failure};
use self::message_writer::MessageWriter;
pub(crate) use self::path_redactor::PathRedactor;
pub(crate) use self::request::{clip, model};
use crate::confine::{self, ConfinementNeeds};
use crate::engine;
use crate::paths::local::FileId;
use crate::task::{ClipFile, ModelSource, Task, WorkerLimits, WorkerMessage, WorkerRequest};

const MAX_TASK_BYTES: u64 = 1 << 20;

/// The task could not be read: the worker was not started by an agent.
const EXIT_NO_TASK: u8 = 64;

/// The agent did not read the messages.
const EXIT_NO_READER: u8 = 3;

/// Reads a task, confines this process, runs the task and writes its result. The process must have one thread only:
/// others would not be confined.
pub fn run(stdin: impl BufRead + Send + 'static, stdout: impl Write + Send + 'static) -> ExitCode {
    // First of all, because the next step waits for the agent, which may be gone already.
    let bound = confine::end_with_parent(true);
    let closed = confine::close_inherited();
    let (request, agent) = match read(stdin) {
        Ok(read) => read,
        Err(error) => {
            eprintln!("the worker got no task on its standard input: {error}");
            return ExitCode::from(EXIT_NO_TASK);
        }
    };
    let writer = Arc::new(MessageWriter::new(stdout));
    let (needs, tools) = match &request {
        WorkerRequest::Score(task) => {
            let tools = tools(task, &writer);
            (needs(task, &tools), Some(tools))
        }
        WorkerRequest::Probe(limits) => (probe_needs(limits), None),
    };
    let mut report = confine::confine(&needs);
    report.measures.insert(0, closed);
    report.measures.push(parent_watch::start(agent, bound));
    writer.send(&WorkerMessage::Confined(report.clone()));
    if let (WorkerRequest::Score(task), Some(tools)) = (&request, &tools) {
        let permitted = task.confinement.check(&report.with_limits(&task.limits, None));
        let result = permitted.and_then(|()| score(task, tools, &writer)).map(Box::new);
        writer.flush_progress();
        writer.send(&WorkerMessage::Done(result));
    }
    if writer.is_connected() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO_READER) }
}

fn score<W: Write + Send>(
    task: &Task,
    tools: &Tools,
    writer: &MessageWriter<W>,
) -> Result<ScoreResult, Failure> {
    for clip in [&task.reference, &task.distorted] {
        check_identity(clip)?;
    }
    match &task.engine {
        None => comparison::score(task, tools, writer),
        Some(external) => engine::score(task, external, tools),
    }
}

/// Fails if another file has taken the place of the one that the agent checked.
fn check_identity(clip: &ClipFile) -> Result<(), Failure> {
    let Some(checked) = clip.file else { return Ok(()) };
    // The path is opened without read access, because it may lead to a device or a FIFO by now.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found =
        rustix::fs::open(&clip.path, flags, Mode::empty()).map_err(io::Error::from).and_then(FileId::of);
    if found.is_ok_and(|found| found == checked) {
        return Ok(());
    }
    let message = format!("{} was replaced by another file after it was checked", clip.name);
    Err(Failure::new(FailureReason::InputDenied, message))
}

/// The request, and the rest of standard input while the agent holds it open.
fn read<R: BufRead>(mut stdin: R) -> io::Result<(WorkerRequest, Option<R>)> {
    let mut line = Vec::new();
    (&mut stdin).take(MAX_TASK_BYTES).read_until(b'\n', &mut line)?;
    let open = line.ends_with(b"\n");
    Ok((serde_json::from_slice(&line)?, open.then_some(stdin)))
}

/// A confined process cannot send a signal to another one, so the agent kills the decoders that are not needed any more.
fn tools<W: Write + Send + 'static>(task: &Task, writer: &Arc<MessageWriter<W>>) -> Tools {
    let path = std::env::var_os("PATH");
    let writer = Arc::clone(writer);
    let killer = ProcessKiller::new(move |process| writer.send(&WorkerMessage::Kill { process }));
    Tools::from_env(task.ffmpeg.as_deref().map(AsRef::<OsStr>::as_ref), path.as_deref()).with_killer(killer)
}

fn probe_needs(limits: &WorkerLimits) -> ConfinementNeeds {
    ConfinementNeeds {
        limits: limits.clone(),
        read: Vec::new(),
        programs: Vec::new(),
        libraries: Vec::new(),
        gpu: false,
    }
}

fn needs(task: &Task, tools: &Tools) -> ConfinementNeeds {
    let mut read: Vec<_> =
        [&task.reference, &task.distorted].map(|clip| (clip.path.clone(), clip.file)).into();
    if let ModelSource::File { path, .. } = &task.model {
        read.push((path.clone(), None));
    }
    let engine = task.engine.as_ref().map(|engine| engine.program.clone());
    ConfinementNeeds {
        limits: task.limits.clone(),
        read,
        programs: tools.ffmpeg().map(PathBuf::from).into_iter().chain(engine).collect(),
        libraries: std::env::var_os("LD_LIBRARY_PATH")
            .map(|paths| std::env::split_paths(&paths).filter(|path| path.is_absolute()).collect())
            .unwrap_or_default(),
        gpu: task.engine.is_some(),
    }
}

fn internal(message: impl Into<String>) -> Failure {
    Failure::new(FailureReason::Internal, message)
}
