//! `make run`: the project at work, from nothing, on this machine.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use tokio::runtime::Runtime;
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::{ControlPlane, Options, install_crds};

use crate::one_machine::OneMachine;
use crate::test::cargo;
use crate::workspace;

/// Brings up a control plane, installs the definitions, applies the samples, shows them; brings up a queue and a node,
/// and shows a score; with `keep`, stays until interrupted.
pub(crate) fn run(keep: bool) -> Result<()> {
    let kubectl = ensure(&[Binary::Kubectl])?.path(Binary::Kubectl).to_owned();
    let runtime = Runtime::new()?;
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
    println!("==> a queue and a node, and the score of the sample pair");
    let machine = one_machine(&runtime)?;
    if keep {
        println!("==> up until Ctrl-C; in another terminal:");
        println!("export KUBECONFIG={}", plane.kubeconfig_path().display());
        for (variable, value) in machine.variables() {
            println!("export {variable}={value}");
        }
        runtime.block_on(tokio::signal::ctrl_c())?;
    }
    Ok(())
}

/// A queue and a node, and the score of the sample pair.
fn one_machine(runtime: &Runtime) -> Result<OneMachine> {
    cargo(&["build", "--locked", "--quiet", "--bin", "vmafx"], &[])?;
    let clips = workspace::root().join("crates/scoring/tests/data");
    let machine = OneMachine::start(runtime, workspace::debug("vmafx"), &clips, &[])?;
    let arguments = "submit ref_160x90.yuv dis_160x90.yuv --size 160x90 --pixel-format yuv420p --wait";
    println!("$ vmafx {arguments}");
    let mut command = machine.command(&arguments.split(' ').collect::<Vec<_>>());
    if !command.current_dir(clips).status().context("run vmafx submit")?.success() {
        bail!("the sample pair was not scored");
    }
    Ok(machine)
}
