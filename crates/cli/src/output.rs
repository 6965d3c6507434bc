//! What commands that ask a controller write to standard output.

use std::io::{self, Write};
use std::ops::ControlFlow;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::terminal::Look;

/// How the answer is written.
#[derive(Args, Clone, Copy, Debug)]
pub struct OutputArgs {
    /// How the answer is written
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub output: Format,
}

/// Ways to write an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    Table,
    /// The same with more columns
    Wide,
    /// JSON, as the controller's HTTP interface has it
    Json,
    /// The same as YAML
    Yaml,
}

/// Nothing could be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Standard output is gone.
    #[error("the answer cannot be written to standard output")]
    Gone(#[from] io::Error),
    /// It cannot be put in this form.
    #[error("the answer cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// It cannot be put in this form.
    #[error("the answer cannot be written as YAML")]
    Yaml(#[from] serde_saphyr::ser::Error),
}

impl OutputArgs {
    /// Writes a document for programs, or a table for people.
    pub(crate) fn show(
        self,
        document: &impl Serialize,
        table: impl FnOnce(Look, bool) -> String,
    ) -> Result<(), OutputError> {
        let text = match self.output {
            Format::Json => serde_json::to_string_pretty(document)? + "\n",
            Format::Yaml => serde_saphyr::to_string(document)?,
            form => table(look(), form == Format::Wide),
        };
        print(&text)
    }
}

/// For standard output as it is, but never narrower than the content: an id that is broken in two cannot be copied.
pub(crate) fn look() -> Look {
    Look { width: None, ..Look::of_stdout(std::env::var_os("NO_COLOR").as_deref()) }
}

/// Writes text. Whoever pipes it into `head` closes the pipe early, and that is no failure.
pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    stream(text).map(drop)
}

/// Writes text that more may follow. `Break`: nobody reads it any more.
pub(crate) fn stream(text: &str) -> Result<ControlFlow<()>, OutputError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(error) => Err(error.into()),
    }
}
