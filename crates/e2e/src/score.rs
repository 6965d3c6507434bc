//! Scores by `vmafx score`, for comparison.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::process::Command;

use crate::command;

/// The score of two raw clips of 160×90.
pub(crate) async fn vmafx_score(vmafx: &Path, reference: &Path, distorted: &Path) -> Result<f64> {
    let mut command = Command::new(vmafx);
    command.arg("score").args([reference, distorted]);
    command.args(["--size", "160x90", "--pixel-format", "yuv420p", "--model", "vmaf_v0.6.1", "-o", "json"]);
    let report: Value = serde_json::from_str(&command::output(command, "").await?)?;
    report["pooled_metrics"]["vmaf"]["mean"].as_f64().with_context(|| format!("no score in {report}"))
}
