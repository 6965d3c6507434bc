//! What is made of a comparison: pooled numbers, and the files that people and programs read.
//!
//! The parts, from numbers to files:
//!
//! | module    | makes                                                                  |
//! |-----------|------------------------------------------------------------------------|
//! | `pooling` | one number out of many, with the frame it comes from                   |
//! | `summary` | all pooled numbers of one comparison; what a job's status carries      |
//! | `metrics` | the per-frame columns under the names that libvmaf's readers expect    |
//! | `wording` | warnings and facts as sentences                                        |
//! | `json`    | libvmaf's JSON with our facts beside it                                |
//! | `xml`     | libvmaf's XML                                                          |
//! | `csv`     | one row per frame                                                      |
//! | `html`    | one page that needs nothing but itself                                 |
//! | `file`    | all of a file or none of it                                            |
//!
//! Everything but `file` is pure: an [`Outcome`] in, bytes out. The same outcome gives the same bytes.

pub mod csv;
mod escape;
pub mod file;
pub mod html;
pub mod json;
pub mod metrics;
pub mod pooling;
pub mod summary;
pub mod wording;
pub mod xml;

use std::io;
use std::path::{Path, PathBuf};

pub use file::FileError;
pub use summary::{ModelSummary, Summary, SummaryError};
use vmafx_job::{ReportFormat, UnknownReportFormat};

use crate::outcome::Outcome;

/// The comparisons that one report is about: one, or a ladder of clips that share their reference.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The comparisons, in the order in which the clips were given.
    pub outcomes: &'a [Outcome],
    /// Frames scored per second of waiting. Only a remark in the JSON; `None` keeps a report reproducible.
    pub speed: Option<f64>,
}

/// The format that the ending of a file asks for.
pub fn format_of(path: &Path) -> Result<ReportFormat, ReportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ReportFormat::of_file_name(&name)
        .map_err(|problem| ReportError::UnknownFormat { path: path.to_owned(), problem })
}

impl Report<'_> {
    pub fn write(&self, format: ReportFormat, out: &mut dyn io::Write) -> Result<(), ReportError> {
        match format {
            ReportFormat::Json => json::write(self, out),
            ReportFormat::Csv => csv::write(self, out),
            ReportFormat::Html => html::write(self, out),
            ReportFormat::Xml => xml::write(self, out),
        }
    }

    /// Writes a report to a file, in the format that its ending asks for. The file is there whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ReportError> {
        let format = format_of(path)?;
        file::replace(path, |out| self.write(format, out))
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A comparison cannot be summed up.
    #[error("the comparison cannot be summed up")]
    Summary(#[from] SummaryError),
    /// The bytes could not be written.
    #[error("the report cannot be written")]
    Write(#[from] io::Error),
    /// The bytes could not be written as JSON.
    #[error("the report cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// The file could not be put in place.
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} {problem}", path.display())]
    UnknownFormat { path: PathBuf, problem: UnknownReportFormat },
}

#[cfg(test)]
pub(crate) mod example;
