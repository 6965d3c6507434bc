//! How fast the queue is, over gRPC, with everything on the disk that it promises to keep.
//!
//! The load (`queue_load`, one thread) shares the cores with the controller, so the figures are those of half a machine.

mod load;
mod postgres;
mod raw;
mod sqlite;

use std::fs;

use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;

use super::figure::Figure;
use crate::test::cargo;
use crate::workspace;

/// Builds the programs and takes every figure.
pub(super) fn measure(tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let programs = ["--bin", "vmafx-controller", "--example", "queue_load"];
    cargo(&[&["build", "--release", "--locked", "--quiet"][..], &programs].concat(), &[])?;
    // Below `target`, not in the directory for temporary files: that may be memory.
    let home = workspace::root().join("target/bench");
    fs::create_dir_all(&home)?;
    let runtime = Runtime::new().context("a runtime")?;
    sqlite::measure(&runtime, &home, tell)?;
    postgres::measure(&runtime, &home, tell)
}
