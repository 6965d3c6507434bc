//! A line of the CSV file, or a pair from the command line.

use serde::Deserialize;
use vmafx_api::job::Backend;

use crate::submit::pairs::Row;

/// A pair of clips, and what is special about it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    pub(super) reference: String,
    pub(super) distorted: String,
    /// The job's own name.
    #[serde(default)]
    pub(super) name: Option<String>,
    /// What makes the name instead of the clips.
    #[serde(default)]
    pub(super) key: Option<String>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) backend: Option<String>,
    #[serde(default)]
    pub(super) priority: Option<i32>,
    #[serde(default, alias = "minScore")]
    pub(super) min_score: Option<f64>,
    #[serde(default)]
    pub(super) label: Option<f64>,
    #[serde(default)]
    pub(super) report: Option<String>,
}

impl Row for Pair {
    fn clips(&self) -> [(&'static str, &str); 2] {
        [("reference", &self.reference), ("distorted", &self.distorted)]
    }
}

impl Pair {
    /// What its nodes must compute with, if it says so.
    pub(super) fn backend(&self) -> Result<Option<Backend>, String> {
        let Some(word) = self.backend.as_deref().filter(|word| !word.is_empty()) else { return Ok(None) };
        serde_json::from_value(word.into()).map_err(|error| error.to_string())
    }
}

/// The column that a field of the resource comes from.
pub(super) fn column(field: &str) -> Option<&'static str> {
    Some(match field {
        "spec.reference" => "reference",
        "spec.distorted" => "distorted",
        "spec.model" => "model",
        "spec.backend" => "backend",
        "spec.priority" => "priority",
        "spec.minScore" => "min_score",
        "spec.groundTruth" => "label",
        "spec.reportURI" => "report",
        "metadata.name" => "name",
        _ => return None,
    })
}
