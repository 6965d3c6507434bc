//! `make test`: every test of the workspace, on one Kubernetes control plane that all of them share.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use vmafx_testkit::kube::{ControlPlane, KUBECONFIG_VARIABLE, Options};

use crate::{tools, workspace};

/// Builds the tests, brings up the control plane, runs them, takes it down again. `extra` goes to `cargo test`.
pub(crate) fn run(extra: &[String]) -> Result<()> {
    cargo(&["test", "--workspace", "--locked", "--no-run"], &[])?;
    let runtime = tokio::runtime::Runtime::new()?;
    let plane = runtime.block_on(ControlPlane::start(Options::default()))?;
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

/// Tests that take a minute or more each, which are left out when a package is tested by itself. One at a time: each
/// fills the machine.
const LONG: [(&str, &str); 2] = [("vmafx-controller", "kill"), ("vmafx-operator", "faults")];

fn long(environment: &[(&str, &str)]) -> Result<()> {
    for (package, test) in LONG {
        let which = ["test", "--locked", "--package", package, "--test", test];
        cargo(&[&which[..], &["--", "--ignored", "--test-threads", "1"]].concat(), environment)?;
    }
    Ok(())
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
