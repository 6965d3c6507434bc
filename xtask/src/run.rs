//! `make run`: the project at work, from nothing, on this machine.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::{ControlPlane, Options, install_crds};

use crate::workspace;

/// Brings up a control plane, installs the definitions, applies the samples, shows them; with `keep`, stays until
/// interrupted.
pub(crate) fn run(keep: bool) -> Result<()> {
    let kubectl = ensure(&[Binary::Kubectl])?.path(Binary::Kubectl).to_owned();
    let runtime = tokio::runtime::Runtime::new()?;
    println!("==> a Kubernetes control plane");
    let plane = runtime.block_on(ControlPlane::start(Options::default()))?;
    println!("==> the custom resource definitions");
    runtime.block_on(async {
        install_crds(&plane.client()?, &vmafx_api::crd::all()).await.context("install the CRDs")
    })?;

    let run = |arguments: &[&str]| -> Result<()> {
        println!("$ kubectl {}", arguments.join(" "));
        let mut command = Command::new(&kubectl);
        command
            .arg("--kubeconfig")
            .arg(plane.kubeconfig_path())
            .args(arguments)
            .current_dir(workspace::root());
        if !command.status().context("run kubectl")?.success() {
            bail!("kubectl {} failed", arguments.join(" "));
        }
        Ok(())
    };
    run(&["apply", "-f", "config/samples"])?;
    run(&["get", "vmjob,vmnode,vmtrain", "--namespace", "vmafx-system"])?;
    if keep {
        println!(
            "==> up until Ctrl-C; in another terminal: export KUBECONFIG={}",
            plane.kubeconfig_path().display()
        );
        runtime.block_on(tokio::signal::ctrl_c())?;
    }
    Ok(())
}
