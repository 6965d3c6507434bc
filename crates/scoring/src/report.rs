//! Pooled scores, and reports for people and programs.
//!
//! | module    | purpose                                                                |
//! |-----------|------------------------------------------------------------------------|
//! | `pooling` | pools the values of all frames, and names the frame of each pooled value |
//! | `summary` | pools all models and features of one comparison                        |
//! | `shots`   | pools the scores of each shot                                          |
//! | `metrics` | names the per-frame columns as libvmaf does                            |
//! | `wording` | describes warnings, inputs and alignment in sentences                  |
//! | `json`    | writes libvmaf's JSON with an additional section                       |
//! | `xml`     | writes libvmaf's XML                                                   |
//! | `csv`     | writes one row per frame                                               |
//! | `html`    | writes a self-contained page                                           |
//! | `file`    | replaces a file atomically                                             |
//!
//! Everything except `file` is pure: the same [`ScoringOutcome`] gives the same bytes.

pub mod csv;
mod escape;
pub mod file;
pub mod html;
pub mod json;
pub mod metrics;
pub mod pooling;
pub mod shots;
pub mod summary;
pub mod wording;
pub mod xml;

use std::io;
use std::path::{Path, PathBuf};

pub use file::FileError;
pub use summary::{ModelSummary, ScoreSummary, SummaryError};
use vmafx_job::{ReportFormat, UnknownReportFormat};

use crate::outcome::ScoringOutcome;

/// What a report is about: one comparison, or a ladder of clips that share their reference.
#[derive(Clone, Copy, Debug)]
pub struct ScoringReport<'a> {
    /// In the order of the request.
    pub outcomes: &'a [ScoringOutcome],
    /// Frames scored per second of wall-clock time, for the `fps` of JSON and XML. `None` keeps a report reproducible.
    pub speed: Option<f64>,
}

/// The format that the ending of a file asks for.
pub fn format_of(path: &Path) -> Result<ReportFormat, ReportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ReportFormat::of_file_name(&name)
        .map_err(|problem| ReportError::UnknownFormat { path: path.to_owned(), problem })
}

impl ScoringReport<'_> {
    pub fn write(&self, format: ReportFormat, out: &mut dyn io::Write) -> Result<(), ReportError> {
        match format {
            ReportFormat::Json => json::write(self, out),
            ReportFormat::Csv => csv::write(self, out),
            ReportFormat::Html => html::write(self, out),
            ReportFormat::Xml => xml::write(self, out),
        }
    }

    /// Writes a report to a file, in the format that its ending asks for. The file is replaced completely or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ReportError> {
        let format = format_of(path)?;
        file::replace(path, |out| self.write(format, out))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("the comparison cannot be summarised")]
    Summary(#[from] SummaryError),
    #[error("the report cannot be written")]
    Write(#[from] io::Error),
    #[error("the report cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} {problem}", path.display())]
    UnknownFormat { path: PathBuf, problem: UnknownReportFormat },
}

#[cfg(test)]
pub(crate) mod example;
