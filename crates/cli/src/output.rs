//! Output formats, and writing to standard output.

use std::io::{self, Write};
use std::ops::ControlFlow;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::terminal::Look;

#[derive(Args, Clone, Copy, Debug)]
pub struct OutputArgs {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Human-readable table
    Table,
    /// Human-readable table with more columns
    Wide,
    /// JSON
    Json,
    /// YAML with the same fields as JSON
    Yaml,
}

#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("cannot write to standard output")]
    Stdout(#[from] io::Error),
    #[error("cannot serialize the result as JSON")]
    Json(#[from] serde_json::Error),
    #[error("cannot serialize the result as YAML")]
    Yaml(#[from] serde_saphyr::ser::Error),
}

impl OutputArgs {
    /// Prints `document` as JSON or YAML, or the table.
    pub(crate) fn show(
        self,
        document: &impl Serialize,
        table: impl FnOnce(Look, bool) -> String,
    ) -> Result<(), OutputError> {
        let text = match self.output {
            Format::Json => serde_json::to_string_pretty(document)? + "\n",
            Format::Yaml => serde_saphyr::to_string(document)?,
            format => table(look(), format == Format::Wide),
        };
        print(&text)
    }
}

/// The style for standard output without a maximum width: an id that is wrapped cannot be copied.
pub(crate) fn look() -> Look {
    Look { width: None, ..Look::of_stdout(std::env::var_os("NO_COLOR").as_deref()) }
}

/// Prints text. A pipe that its reader closed, such as `head`, is not an error.
pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    stream(text).map(drop)
}

/// Prints text and flushes it. `Break` means that the reader closed the pipe.
pub(crate) fn stream(text: &str) -> Result<ControlFlow<()>, OutputError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(error) => Err(error.into()),
    }
}
