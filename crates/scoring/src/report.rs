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
//! | `csv`     | one row per frame                                                      |
//! | `html`    | one page that needs nothing but itself                                 |
//! | `file`    | all of a file or none of it                                            |
//!
//! Everything but `file` is pure: an [`Outcome`] in, bytes out. The same outcome gives the same bytes.

pub mod csv;
pub mod file;
pub mod html;
pub mod json;
pub mod metrics;
pub mod pooling;
pub mod summary;
pub mod wording;

use std::io;
use std::path::Path;

pub use file::FileError;
pub use summary::{ModelSummary, Summary, SummaryError};

use crate::outcome::Outcome;

/// The comparisons that one report is about: one, or a ladder of clips that share their reference.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The comparisons, in the order in which the clips were given.
    pub outcomes: &'a [Outcome],
    /// Frames scored per second of waiting. Only a remark in the JSON; `None` keeps a report reproducible.
    pub speed: Option<f64>,
}

/// The kinds of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A page for people.
    Html,
    /// libvmaf's JSON.
    Json,
    /// One row per frame.
    Csv,
}

impl Kind {
    /// The kind that a file's ending asks for.
    pub fn of(path: &Path) -> Result<Self, ReportError> {
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        match ending.as_deref() {
            Some("html" | "htm") => Ok(Self::Html),
            Some("json") => Ok(Self::Json),
            Some("csv") => Ok(Self::Csv),
            _ => Err(ReportError::UnknownEnding { path: path.display().to_string() }),
        }
    }
}

impl Report<'_> {
    /// Writes a report of one kind.
    pub fn write(&self, kind: Kind, out: &mut dyn io::Write) -> Result<(), ReportError> {
        match kind {
            Kind::Html => html::write(self, out),
            Kind::Json => json::write(self, out),
            Kind::Csv => csv::write(self, out),
        }
    }

    /// Writes a report to a file, of the kind that its ending asks for. The file is there whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ReportError> {
        let kind = Kind::of(path)?;
        file::replace(path, |out| self.write(kind, out))
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
    /// The ending does not say what to write.
    #[error("{path}: the ending does not say what to write; use .html, .json or .csv")]
    UnknownEnding {
        /// The file.
        path: String,
    },
}

#[cfg(test)]
pub(crate) mod example;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a.html", Kind::Html)]
    #[case("a.b.HTM", Kind::Html)]
    #[case("dir.csv/a.json", Kind::Json)]
    #[case("a.csv", Kind::Csv)]
    fn the_ending_of_a_file_says_what_is_written(#[case] path: &str, #[case] kind: Kind) {
        assert_eq!(Kind::of(Path::new(path)).unwrap(), kind);
    }

    #[rstest]
    #[case("report")]
    #[case("report.pdf")]
    #[case(".html")]
    fn another_ending_is_refused_with_the_known_ones(#[case] path: &str) {
        let message = Kind::of(Path::new(path)).unwrap_err().to_string();
        assert!(message.contains(path) && message.contains(".html, .json or .csv"), "{message}");
    }
}
