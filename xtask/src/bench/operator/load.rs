//! The load generator `operator_load`.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::cluster::BenchCluster;
use crate::bench::controller::TOKEN;
use crate::workspace;

/// Runs a load and returns its measurements.
pub(super) fn run(cluster: &BenchCluster, load: &str, number: usize) -> Result<Value> {
    let output = Command::new(workspace::release("examples/operator_load"))
        .args([&cluster.controller.grpc().to_string(), load, &number.to_string()])
        .env("KUBECONFIG", cluster.plane.kubeconfig_path())
        .env("VMAFX_CONTROLLER_TOKEN", TOKEN)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run operator_load")?;
    if !output.status.success() {
        bail!("operator_load {load} {number}: {}", output.status);
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub(super) fn figure(output: &Value, name: &str) -> Result<f64> {
    output[name].as_f64().with_context(|| format!("no {name} in {output}"))
}
