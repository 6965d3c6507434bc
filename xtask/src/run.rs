//! `make run`: starts everything on this machine and scores a clip.
//!
//! Everything is a process of the user, without root or containers. So there are no Pods, and no VmafxModelTraining, which
//! needs one: `make cluster` has them.

mod kubectl;
mod kubernetes;
mod next_steps;
mod progress;
mod queue_only;
mod sample;

use std::io::{self, IsTerminal as _};

use anyhow::Result;
use tokio::runtime::Runtime;
use vmafx_testkit::kube::assets::{self, AssetLocation, Binary};
use vmafx_testkit::kube::process::find_program;

/// Scores a clip; with `keep`, stays up until interrupted.
pub(crate) fn run(keep: bool) -> Result<()> {
    let runtime = Runtime::new()?;
    if possible()? {
        kubernetes::run(&runtime, keep)
    } else {
        println!(
            "==> no Kubernetes here: there is no Go to build it, and KUBEBUILDER_ASSETS names no directory"
        );
        println!(
            "    with {}. Using only the queue and a node (`vmafx up`).",
            Binary::CONTROL_PLANE.map(Binary::name).join(", ")
        );
        queue_only::run(&runtime, keep)
    }
}

/// Whether standard input and output are a terminal, in which a person can press Ctrl-C.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether the programs of a control plane exist or can be built.
fn possible() -> Result<bool> {
    let ready = |binary| anyhow::Ok(matches!(assets::locate(binary)?, AssetLocation::Ready(_)));
    Ok(find_program("go").is_some()
        || (ready(Binary::Etcd)? && ready(Binary::KubeApiserver)? && kubectl::existing()?.is_some()))
}

fn wait_for_interrupt(runtime: &Runtime, keep: bool) -> Result<()> {
    if keep {
        println!("==> up until Ctrl-C");
        runtime.block_on(tokio::signal::ctrl_c())?;
    }
    Ok(())
}
