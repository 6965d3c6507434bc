//! The pair of clips that is scored, and its score by `vmafx score`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::workspace;

/// Permitted difference between two scores of the pair, since frames may be summed in another order.
const TOLERANCE: f64 = 1e-6;

/// Options that describe the clips, whose files have no header.
pub(super) const RAW: [&str; 4] = ["--size", "160x90", "--pixel-format", "yuv420p"];

/// The same model everywhere, so that scores can be compared.
pub(super) const MODEL: [&str; 2] = ["--model", "vmaf_v0.6.1"];

pub(super) fn clips() -> PathBuf {
    workspace::root().join("crates/scoring/tests/data")
}

pub(super) fn pair() -> [String; 2] {
    ["ref_160x90.yuv", "dis_160x90.yuv"].map(|name| clips().join(name).display().to_string())
}

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

/// Fails unless `vmafx score` gives the same score.
pub(super) fn compare(scored: f64) -> Result<()> {
    let output = Command::new(workspace::debug("vmafx"))
        .arg("score")
        .args(pair())
        .args(RAW)
        .args(MODEL)
        .args(["-o", "json"])
        .output()
        .context("cannot run vmafx score")?;
    let report: Value =
        serde_json::from_slice(&output.stdout).context("cannot decode the report of vmafx score")?;
    let expected = report["pooled_metrics"]["vmaf"]["mean"].as_f64();
    let expected = expected.context("no score in the report of vmafx score")?;
    ensure!(
        (scored - expected).abs() <= TOLERANCE,
        "the job has the score {scored}, vmafx score gives {expected}"
    );
    println!("==> vmafx score gives the same: {expected}");
    Ok(())
}
