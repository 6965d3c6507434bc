//! What a VmafxJob costs: real etcd and kube-apiserver, a real controller, nodes that finish at once.
//!
//! Everything shares the machine: API server, etcd, controller, operator and the load. So the peer is taken in the same
//! run: what the same cluster does when nobody but the load makes a job and writes its status twice.

mod load;
mod many;
mod rest;
mod scene;
mod speed;

use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;

use super::figure::Figure;
use crate::test::cargo;

/// Builds the programs and takes every figure.
pub(super) fn measure(tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let programs = ["--bin", "vmafx-controller", "--bin", "vmafx-operator", "--example", "operator_load"];
    cargo(&[&["build", "--release", "--locked", "--quiet"][..], &programs].concat(), &[])?;
    let runtime = Runtime::new().context("a runtime")?;
    speed::measure(&runtime, tell)?;
    many::measure(&runtime, tell)?;
    rest::measure(&runtime, tell)
}
