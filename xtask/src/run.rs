//! `make run`: the project at work, from nothing, on this machine.
//!
//! Everything is a process of the user's own: no root, no container. So nothing here has Pods, and a
//! VmafxModelTraining, which is a Pod, is not shown: `make cluster` has them.

mod alone;
mod board;
mod kubernetes;
mod next;
mod sample;

use std::io::{self, IsTerminal as _};

use anyhow::Result;
use tokio::runtime::Runtime;
use vmafx_testkit::kube::assets::{self, AssetLocation, Binary};
use vmafx_testkit::kube::process::find_program;

/// What the control plane is made of, and nothing else: each is minutes of building on a machine that is new.
const NEEDED: [Binary; 3] = [Binary::Etcd, Binary::KubeApiserver, Binary::Kubectl];

/// Shows a score; with `keep`, stays until interrupted.
pub(crate) fn run(keep: bool) -> Result<()> {
    let runtime = Runtime::new()?;
    if possible()? {
        kubernetes::run(&runtime, keep)
    } else {
        println!(
            "==> no Kubernetes here: there is no Go to build it with, and KUBEBUILDER_ASSETS names no directory"
        );
        println!(
            "    with {}. So this is the queue and a node, by `vmafx up`.",
            NEEDED.map(Binary::name).join(", ")
        );
        alone::run(&runtime, keep)
    }
}

/// Whether to stay if nobody said: if somebody is there who can press Ctrl-C.
pub(crate) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether a control plane is there or can be built.
fn possible() -> Result<bool> {
    for binary in NEEDED {
        if matches!(assets::locate(binary)?, AssetLocation::Missing(_)) {
            return Ok(find_program("go").is_some());
        }
    }
    Ok(true)
}

/// Waits for Ctrl-C, if it is to be waited for.
fn stay(runtime: &Runtime, keep: bool) -> Result<()> {
    if keep {
        println!("==> up until Ctrl-C");
        runtime.block_on(tokio::signal::ctrl_c())?;
    }
    Ok(())
}
