//! An external `vmaf` command as the engine, for GPUs that the worker's own libvmaf does not use.
//!
//! The command runs inside the worker: confined as the worker is, and killed with it. It reads Y4M and headerless clips
//! only, scales nothing, and pairs frames as far as the shorter clip goes, so a task that it would score wrongly is
//! refused before the command starts.
//!
//! | module    | does                                                |
//! |-----------|-----------------------------------------------------|
//! | `check`   | refuses tasks that the command cannot score         |
//! | `command` | pure: the command line                              |
//! | `output`  | pure: converts the command's JSON into a result     |

mod check;
mod command;
mod output;

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use vmafx_job::{Failure, FailureReason, ReportFormat, ScoreResult};
use vmafx_scoring::input::Tools;

use crate::task::{ExternalEngine, ModelSource, Task};
use crate::text;
use crate::worker::PathRedactor;

/// File name of the command's result in the scratch directory.
const OUTPUT: &str = "engine.json";

/// File name of the model's copy in the scratch directory. The command splits the value of its model option at `:` and
/// `=` and has no escape for them, so a path cannot be passed as it is.
const MODEL: &str = "engine-model.json";

/// A million frames with twenty features each.
const MAX_OUTPUT_BYTES: u64 = 1 << 30;

/// Bytes that are kept of the command's standard error.
const MAX_STDERR_BYTES: usize = 64 * 1024;

pub(crate) fn score(task: &Task, engine: &ExternalEngine, tools: &Tools) -> Result<ScoreResult, Failure> {
    let redactor = PathRedactor::of(task);
    let checked = check::check(task, tools, &redactor)?;
    let scratch = &task.limits.scratch;
    let (argument, name) = match &task.model {
        ModelSource::File { path, name } => {
            fs::copy(path, scratch.join(MODEL)).map_err(|error| {
                Failure::new(
                    FailureReason::ScratchFull,
                    format!("cannot copy the model for the external engine: {error}"),
                )
            })?;
            (command::ModelArgument::File(MODEL), name.clone())
        }
        ModelSource::Auto | ModelSource::BuiltIn(_) => {
            (command::ModelArgument::BuiltIn(&checked.model.name), checked.model.name.clone())
        }
    };
    let arguments = command::arguments(task, engine, argument, checked.raw, OUTPUT);
    run(engine, &arguments, scratch, &redactor)?;
    let text = read(&scratch.join(OUTPUT))?;
    let result = output::score_result(&text, name, checked.model.digest.clone(), checked.size)?;
    if let Some(report) = &task.report {
        save(&text, report)?;
    }
    Ok(result)
}

fn run(
    engine: &ExternalEngine,
    arguments: &[std::ffi::OsString],
    scratch: &Path,
    redactor: &PathRedactor,
) -> Result<(), Failure> {
    let program = engine.program.file_name().unwrap_or_default().to_string_lossy();
    let not_started = |error| {
        Failure::new(FailureReason::Internal, format!("cannot start the external engine {program}: {error}"))
    };
    let mut child = Command::new(&engine.program)
        .args(arguments)
        .current_dir(scratch)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(not_started)?;
    let mut stderr = text::Tail::new(MAX_STDERR_BYTES);
    if let Some(mut pipe) = child.stderr.take() {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            stderr.push(&buffer[..count]);
        }
    }
    let status = child.wait().map_err(not_started)?;
    if status.success() {
        return Ok(());
    }
    let (ended, last_line) = (describe(status), redactor.redact(&stderr.last_line()));
    let message = format!("the external engine {program} {ended}; its last message: {last_line}");
    Err(Failure::new(FailureReason::WorkerCrashed, message))
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(signal)) => format!("was killed by {}", text::signal(signal)),
        (None, None) => "exited in an unknown way".to_owned(),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(MAX_OUTPUT_BYTES).read_to_string(&mut text)).map_err(
        |error| {
            let message = format!("cannot read the result of the external engine: {error}");
            Failure::new(FailureReason::WorkerCrashed, message)
        },
    )?;
    Ok(text)
}

/// The command's JSON is the report; other formats need more than it contains.
fn save(text: &str, report: &Path) -> Result<(), Failure> {
    if report.extension().is_none_or(|ending| ending != ReportFormat::Json.name()) {
        let message = "an external engine writes its report as JSON only: end the report's address in .json";
        return Err(Failure::new(FailureReason::OptionsInvalid, message));
    }
    fs::write(report, text).map_err(|error| {
        Failure::new(FailureReason::ReportNotWritten, format!("cannot write the report: {error}"))
    })
}
