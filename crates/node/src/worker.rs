//! One job, in a process of its own: `vmafx-node worker`.
//!
//! ```text
//! task on stdin ──▶ confine ──▶ admit ──▶ score ──▶ report into scratch ──▶ messages on stdout
//! ```
//!
//! | module       | does                                                          |
//! |--------------|---------------------------------------------------------------|
//! | `request`    | pure: a task in the words of the engine                       |
//! | `admit`      | pure: whether pictures of this size fit into the memory       |
//! | `comparison` | the job itself, from clips to a score and a report            |
//! | `result`     | pure: what the engine found in the words of a job             |
//! | `reason`     | pure: which reason each error has                             |
//! | `names`      | pure: messages call files by their addresses                  |
//! | `lifeline`   | ends the worker and all it started when the agent is gone     |
//! | `speak`      | messages, progress a few times a second                       |

mod admit;
mod comparison;
mod lifeline;
mod names;
mod reason;
mod request;
mod result;
mod speak;

use std::ffi::OsStr;
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::fs::{Mode, OFlags};
use vmafx_scoring::input::Tools;

pub(crate) use self::names::Names;
pub(crate) use self::reason::{input_failure, model_failure};
pub(crate) use self::request::{clip, model};
pub(crate) use self::result::pooled;
use self::speak::Speaker;
use crate::confine::{self, Needs};
use crate::failure::Failure;
use crate::paths::local::FileId;
use crate::task::{Input, Message, Model, Score, Task};
use crate::{engine, failure};

/// Most bytes of a task.
const TASK_BYTES: u64 = 1 << 20;

/// Said when a task cannot be read: nobody but an agent should start a worker.
const NO_TASK: u8 = 64;

/// Nobody reads what the worker says.
const NOBODY_LISTENS: u8 = 3;

/// Reads a task, confines this process, does the task, and says how it ended. To be called while the process has one
/// thread.
pub fn run(stdin: impl BufRead + Send + 'static, stdout: impl Write + Send) -> ExitCode {
    // Before it waits for anything.
    let bound = confine::end_with_parent(true);
    let mut said = vec![confine::close_inherited()];
    let (task, agent) = match read(stdin) {
        Ok(read) => read,
        Err(error) => {
            eprintln!("the worker was given no task: {error}");
            return ExitCode::from(NO_TASK);
        }
    };
    let tools = tools(&task);
    said.extend(confine::confine(&needs(&task, &tools)));
    said.push(lifeline::hold(agent, bound));
    let speaker = Speaker::new(stdout);
    speaker.say(&Message::Confined(said));
    let result = work(&task, &tools, &speaker).map(Box::new);
    speaker.last_progress();
    speaker.say(&Message::Done(result));
    if speaker.is_heard() { ExitCode::SUCCESS } else { ExitCode::from(NOBODY_LISTENS) }
}

fn work<W: Write + Send>(task: &Task, tools: &Tools, speaker: &Speaker<W>) -> Result<Score, Failure> {
    for input in [&task.reference, &task.distorted] {
        same_file(input)?;
    }
    match &task.engine {
        None => comparison::score(task, tools, speaker),
        Some(external) => engine::score(task, external, tools),
    }
}

/// Whether a clip is still the file that was checked.
fn same_file(input: &Input) -> Result<(), Failure> {
    let Some(wanted) = input.file else { return Ok(()) };
    // Named, and not opened for reading: by now it may be anything.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found =
        rustix::fs::open(&input.path, flags, Mode::empty()).map_err(io::Error::from).and_then(FileId::of);
    if found.is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let message = format!("{} was replaced by another file after it was checked", input.name);
    Err(Failure::new(failure::Reason::InputDenied, message))
}

/// The task, and the agent's end of the line if it is still open.
fn read<R: BufRead>(mut stdin: R) -> io::Result<(Task, Option<R>)> {
    let mut line = Vec::new();
    (&mut stdin).take(TASK_BYTES).read_until(b'\n', &mut line)?;
    let open = line.ends_with(b"\n");
    Ok((serde_json::from_slice(&line)?, open.then_some(stdin)))
}

fn tools(task: &Task) -> Tools {
    let path = std::env::var_os("PATH");
    Tools::from_env(task.ffmpeg.as_deref().map(AsRef::<OsStr>::as_ref), path.as_deref())
}

/// What this task needs of the machine.
fn needs(task: &Task, tools: &Tools) -> Needs {
    let mut read: Vec<_> =
        [&task.reference, &task.distorted].map(|input| (input.path.clone(), input.file)).into();
    if let Model::File { path, .. } = &task.model {
        read.push((path.clone(), None));
    }
    let engine = task.engine.as_ref().map(|engine| engine.program.clone());
    Needs {
        limits: task.limits.clone(),
        read,
        programs: tools.ffmpeg().map(PathBuf::from).into_iter().chain(engine).collect(),
        libraries: std::env::var_os("LD_LIBRARY_PATH")
            .map(|paths| std::env::split_paths(&paths).filter(|path| path.is_absolute()).collect())
            .unwrap_or_default(),
        gpu: task.engine.is_some(),
    }
}

/// A fault of ours.
fn internal(message: impl Into<String>) -> Failure {
    Failure::new(failure::Reason::Internal, message)
}
