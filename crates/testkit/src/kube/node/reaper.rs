//! Removing what is left of a cluster, however its supervisor ended.

use std::io::{self, Read as _};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::{NodeError, ResultExt as _};
use super::state::{ClusterRecord, StateDirectory};
use super::{cgroups, namespace};

const DEADLINE: Duration = Duration::from_secs(20);
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// Waits until the supervisor has ended, which closes the input, and cleans up. The output is the cluster's lock, which
/// is released when this process ends, hence not before everything is removed.
pub(super) fn reap(state: &StateDirectory) -> Result<(), NodeError> {
    // A new session: no signal to the supervisor's terminal or process group may end this process.
    rustix::process::setsid().step("leaving the session")?;
    // Read now, because the files may have been removed by the time it is needed.
    let record = state.record();
    io::stdin().read_to_end(&mut Vec::new()).step("waiting for the supervisor")?;
    clean_up(state, record)
}

/// Removes what is left of a cluster whose reaper was killed too.
pub(super) fn sweep(state: &StateDirectory) -> Result<(), NodeError> {
    clean_up(state, state.record())
}

/// Kills what still runs, then removes cgroups and files.
fn clean_up(state: &StateDirectory, record: Option<ClusterRecord>) -> Result<(), NodeError> {
    // The death signal has done this already, unless the supervisor died while it was creating the namespaces.
    retry(|| match namespace::kill(state) {
        0 => Ok(()),
        left => Err(io::Error::other(format!("{left} processes still exist"))),
    })
    .step("killing the cluster's processes")?;
    if let Some(record) = record {
        // A cgroup can be removed only once its processes have exited completely.
        retry(|| cgroups::remove(&record.id)).step("removing the cluster's cgroups")?;
    }
    retry(|| state.remove()).step("removing the cluster's files")
}

fn retry(mut attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let end = Instant::now() + DEADLINE;
    loop {
        match attempt() {
            Err(_) if Instant::now() < end => sleep(RETRY_DELAY),
            result => return result,
        }
    }
}
