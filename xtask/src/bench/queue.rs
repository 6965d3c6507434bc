//! Throughput of the queue over gRPC, with full durability.
//!
//! The load generator (`queue_load`, one thread) shares the cores with the controller, so the figures are those of half a
//! machine.

mod load;
mod postgres;
mod raw;
mod sqlite;

use std::fs;

use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;

use super::figure::Figure;
use crate::workspace;

pub(super) fn measure(report: &mut dyn FnMut(Figure)) -> Result<()> {
    // Below `target`, because the directory for temporary files may be in memory.
    let home = workspace::root().join("target/bench");
    fs::create_dir_all(&home)?;
    let runtime = Runtime::new().context("cannot start a runtime")?;
    sqlite::measure(&runtime, &home, report)?;
    postgres::measure(&runtime, &home, report)
}
