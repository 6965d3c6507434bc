//! An external `vmaf` command as the engine, for GPUs that the worker's own does not use.
//!
//! It runs inside the worker: confined as the worker is, and ended with it. It reads Y4M and raw pictures only, scales
//! nothing, and pairs frames as far as the shorter clip goes, so whatever it would get wrong is refused before it starts.
//!
//! | module    | does                                       |
//! |-----------|--------------------------------------------|
//! | `command` | pure: its command line                     |
//! | `check`   | what it can be given                       |
//! | `output`  | pure: its JSON in the words of a job       |

mod check;
mod command;
mod output;

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use vmafx_scoring::input::Tools;

use crate::failure::{Failure, Reason};
use crate::task::{ExternalEngine, Model, Score, Task};
use crate::text;
use crate::worker::Names;

/// Where its result goes, in the scratch directory.
const OUTPUT: &str = "engine.json";

/// The model under a name that needs no escaping, in the scratch directory. The command splits its option at `:` and `=`
/// and knows no way to write these themselves.
const MODEL: &str = "engine-model.json";

/// Most bytes of a result: a million frames with twenty features each.
const OUTPUT_BYTES: u64 = 1 << 30;

/// Most bytes that are kept of what it says.
const SAID_BYTES: usize = 64 * 1024;

/// Scores what the task asks for with the command.
pub(crate) fn score(task: &Task, engine: &ExternalEngine, tools: &Tools) -> Result<Score, Failure> {
    let names = Names::of(task);
    let found = check::check(task, tools, &names)?;
    let scratch = &task.limits.scratch;
    let model = match &task.model {
        Model::File { path, .. } => {
            fs::copy(path, scratch.join(MODEL)).map_err(|error| {
                Failure::new(
                    Reason::ScratchFull,
                    format!("the model cannot be copied for the engine: {error}"),
                )
            })?;
            command::Model::File(MODEL)
        }
        Model::Auto | Model::BuiltIn(_) => command::Model::BuiltIn(&found.model.name),
    };
    run(engine, &command::arguments(task, engine, model, OUTPUT), scratch, &names)?;
    let text = read(&scratch.join(OUTPUT))?;
    let name = match &task.model {
        Model::File { name, .. } => name.clone(),
        Model::Auto | Model::BuiltIn(_) => found.model.name.clone(),
    };
    let score = output::score(&text, name, found.model.digest.clone(), found.size)?;
    if let Some(report) = &task.report {
        save(&text, report)?;
    }
    Ok(score)
}

fn run(
    engine: &ExternalEngine,
    arguments: &[std::ffi::OsString],
    scratch: &Path,
    names: &Names,
) -> Result<(), Failure> {
    let not_started = |error| {
        Failure::new(Reason::Internal, format!("the engine {} does not start: {error}", program(engine)))
    };
    let mut child = Command::new(&engine.program)
        .args(arguments)
        .current_dir(scratch)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(not_started)?;
    let mut said = text::Tail::new(SAID_BYTES);
    if let Some(mut stderr) = child.stderr.take() {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut buffer) {
            said.push(&buffer[..count]);
        }
    }
    let status = child.wait().map_err(not_started)?;
    if status.success() {
        return Ok(());
    }
    let said = names.in_words(&said.last_line());
    let (program, ended) = (program(engine), ended(status));
    Err(Failure::new(Reason::WorkerCrashed, format!("the engine {program} {ended}; it said: {said}")))
}

fn program(engine: &ExternalEngine) -> String {
    engine.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(signal)) => format!("was ended by {}", text::signal(signal)),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let missing =
        |error| Failure::new(Reason::WorkerCrashed, format!("the engine left no readable result: {error}"));
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(OUTPUT_BYTES).read_to_string(&mut text)).map_err(missing)?;
    Ok(text)
}

/// Its JSON is the report; other kinds need more than the command tells.
fn save(text: &str, report: &Path) -> Result<(), Failure> {
    let failed = |message: String| Failure::new(Reason::ReportNotWritten, message);
    if report.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("json")) {
        return Err(failed(
            "an external engine writes its report as JSON only: end its address in .json".to_owned(),
        ));
    }
    fs::write(report, text).map_err(|error| failed(format!("the report cannot be written: {error}")))
}
