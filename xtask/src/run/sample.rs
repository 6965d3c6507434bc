//! The pair of clips that is scored, and its score without anything around it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::workspace;

/// Two ways to one score may not differ by more; they are added up in another order.
const SAME: f64 = 1e-6;

/// What everybody is told who gets the clips: their files have no header.
pub(super) const RAW: [&str; 4] = ["--size", "160x90", "--pixel-format", "yuv420p"];

/// The same of the model, so that all scores can be compared.
pub(super) const MODEL: [&str; 2] = ["--model", "vmaf_v0.6.1"];

/// Where the clips are.
pub(super) fn clips() -> PathBuf {
    workspace::root().join("crates/scoring/tests/data")
}

/// The reference and the distorted clip.
pub(super) fn pair() -> [String; 2] {
    ["ref_160x90.yuv", "dis_160x90.yuv"].map(|name| clips().join(name).display().to_string())
}

/// The resource.
pub(super) fn job() -> String {
    let [reference, distorted] = pair();
    format!(
        "apiVersion: vmafx.dev/v1
kind: VmafxJob
metadata:
  name: sample
spec:
  reference: file://{reference}
  distorted: file://{distorted}
  input: {{ width: 160, height: 90, pixelFormat: yuv420p }}
  model: vmaf_v0.6.1
  minScore: 50
"
    )
}

/// Fails unless `vmafx score` says the same.
pub(super) fn compare(scored: f64) -> Result<()> {
    let output = Command::new(workspace::debug("vmafx"))
        .arg("score")
        .args(pair())
        .args(RAW)
        .args(MODEL)
        .args(["-o", "json"])
        .output()
        .context("run vmafx score")?;
    let report: Value = serde_json::from_slice(&output.stdout).context("the report of vmafx score")?;
    let directly = report["pooled_metrics"]["vmaf"]["mean"].as_f64();
    let directly = directly.context("no score in the report of vmafx score")?;
    ensure!((scored - directly).abs() <= SAME, "the job has {scored}, vmafx score says {directly}");
    println!("==> vmafx score says the same: {directly}");
    Ok(())
}
