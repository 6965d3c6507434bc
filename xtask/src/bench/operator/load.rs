//! The program that makes the load, and what it tells.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::scene::Scene;
use crate::bench::controller::TOKEN;
use crate::workspace;

/// Runs a load to its end; what it measured.
pub(super) fn run(scene: &Scene, load: &str, number: usize) -> Result<Value> {
    let output = Command::new(workspace::release("examples/operator_load"))
        .args([&scene.controller.grpc.to_string(), load, &number.to_string()])
        .env("KUBECONFIG", scene.plane.kubeconfig_path())
        .env("VMAFX_CONTROLLER_TOKEN", TOKEN)
        .stderr(Stdio::inherit())
        .output()
        .context("run operator_load")?;
    if !output.status.success() {
        bail!("operator_load {load} {number}: {}", output.status);
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// One of its figures.
pub(super) fn figure(told: &Value, name: &str) -> Result<f64> {
    told[name].as_f64().with_context(|| format!("no {name} in {told}"))
}
