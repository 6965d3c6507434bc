//! `make test`: every test of the workspace, on one Kubernetes control plane that all of them share.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, KUBECONFIG_VARIABLE};

use crate::{tools, workspace};

/// Builds the tests, brings up the control plane, runs them, takes it down again. `extra` goes to `cargo test`.
pub(crate) fn run(extra: &[String]) -> Result<()> {
    cargo(&["test", "--workspace", "--locked", "--no-run"], &[])?;
    let runtime = tokio::runtime::Runtime::new()?;
    let plane = runtime.block_on(ControlPlane::start(ControlPlaneOptions::default()))?;
    println!("Kubernetes for the tests: {}", plane.kubeconfig_path().display());
    let arguments = ["test", "--workspace", "--locked"].into_iter().chain(extra.iter().map(String::as_str));
    let kubeconfig = plane.kubeconfig_path().display().to_string();
    let ffmpeg = tools::ffmpeg().map(|path| path.display().to_string());
    let environment = [(KUBECONFIG_VARIABLE, Some(&kubeconfig)), (tools::FFMPEG_VARIABLE, ffmpeg.as_ref())];
    let environment = environment.into_iter().filter_map(|(name, value)| Some((name, value?.as_str())));
    let environment: Vec<_> = environment.collect();
    let mut outcome = cargo(&arguments.collect::<Vec<_>>(), &environment);
    // Whoever says which tests they want wants no others.
    if extra.is_empty() {
        outcome = outcome.and_then(|()| long(&environment));
    }
    drop(plane);
    outcome
}

/// Where the tests are that take a minute or more each, which are left out when a package is tested by itself.
const LONG: [&str; 2] = ["kill", "faults"];

/// One at a time: each fills the machine.
fn long(environment: &[(&str, &str)]) -> Result<()> {
    LONG.iter().try_for_each(|test| ignored(&["--test", test], &ONE_BY_ONE, environment))
}

/// Says to the tests of one program that each wants the machine for itself.
pub(crate) const ONE_BY_ONE: [&str; 2] = ["--test-threads", "1"];

/// Runs tests that are ignored otherwise. Of the whole workspace, since a package by itself asks for fewer features of
/// the crates below it, and they would be built again.
pub(crate) fn ignored(which: &[&str], how: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let test = ["test", "--workspace", "--locked", "--quiet"];
    cargo(&[&test, which, &["--", "--ignored"], how].concat(), environment)
}

/// Runs cargo in the workspace; an error when it fails.
pub(crate) fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).envs(environment.iter().copied()).current_dir(workspace::root());
    let status = command.status().context("run cargo")?;
    if !status.success() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    Ok(())
}
