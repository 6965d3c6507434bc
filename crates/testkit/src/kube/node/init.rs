//! The first process in the namespaces, which reaps orphaned processes.
//!
//! It waits for *any* child, which would take the exit codes of children that other code in this process waits for. So
//! it starts exactly one child, which does all the work, and ends with it. The kernel then kills the rest.

use std::fs;

use rustix::process::{Pid, WaitOptions, wait};

use super::error::{NodeError, ResultExt as _};
use super::role::{ProcessRole, RoleLauncher};
use super::state::StateDirectory;

pub(super) fn init(state: &StateDirectory, launcher: &RoleLauncher) -> Result<(), NodeError> {
    let namespace = fs::read_link("/proc/self/ns/pid").step("reading our namespace")?;
    fs::write(state.namespace_file(), namespace.as_os_str().as_encoded_bytes())
        .step("writing our namespace")?;
    let child = launcher.command(ProcessRole::Cluster, state).spawn().step("starting the cluster")?;
    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == child => {
                return match status.exit_status() {
                    Some(0) => Ok(()),
                    _ => Err(NodeError::Command {
                        command: "cluster".to_owned(),
                        output: format!("{status:?}; see the log above"),
                    }),
                };
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).step("waiting for children"),
        }
    }
}
