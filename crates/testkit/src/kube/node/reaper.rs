//! What removes the remains of a cluster, whatever became of its keeper.

use std::io::{self, Read as _};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::{NodeError, Step as _};
use super::state::{Record, State};
use super::{cgroups, namespace};

const DEADLINE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until the keeper is gone, which closes our input, and cleans up. Our output is the cluster's lock: it is
/// let go when this process ends, hence not before everything is gone.
pub(super) fn reap(state: &State) -> Result<(), NodeError> {
    // A session of its own: nothing that is sent to the keeper's terminal or group may end this process.
    rustix::process::setsid().step("leaving the session")?;
    // Now, because by the time it is needed somebody may have removed the files.
    let record = state.record();
    io::stdin().read_to_end(&mut Vec::new()).step("waiting for the keeper")?;
    clean_up(state, record)
}

/// Removes what a cluster left whose reaper was killed too. Does nothing where there is nothing.
pub(super) fn sweep(state: &State) -> Result<(), NodeError> {
    clean_up(state, state.record())
}

/// Ends what still runs, then removes cgroups and files.
fn clean_up(state: &State, record: Option<Record>) -> Result<(), NodeError> {
    // The death signal has done this already, unless the keeper died while it was starting the namespaces.
    retry(|| match namespace::kill(state) {
        0 => Ok(()),
        left => Err(io::Error::other(format!("{left} processes are left"))),
    })
    .step("ending the cluster's processes")?;
    if let Some(record) = record {
        // A cgroup can be removed only once the kernel is done with the processes that were in it.
        retry(|| cgroups::remove(&record.id)).step("removing the cluster's cgroups")?;
    }
    retry(|| state.remove()).step("removing the cluster's files")
}

fn retry(mut attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let end = Instant::now() + DEADLINE;
    loop {
        match attempt() {
            Err(_) if Instant::now() < end => sleep(PAUSE),
            result => return result,
        }
    }
}
