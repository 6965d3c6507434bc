//! The cost of a VmafxJob with a real API server and controller, and nodes that finish at once.
//!
//! API server, etcd, controller, operator and the load generator share the machine. So the comparison is measured in the
//! same run: the same cluster when only the load generator creates a job and writes its status twice.

mod cluster;
mod idle;
mod load;
mod many;
mod speed;

use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;

use super::figure::Figure;

pub(super) fn measure(report: &mut dyn FnMut(Figure)) -> Result<()> {
    let runtime = Runtime::new().context("cannot start a runtime")?;
    speed::measure(&runtime, report)?;
    many::measure(&runtime, report)?;
    idle::measure(&runtime, report)
}
