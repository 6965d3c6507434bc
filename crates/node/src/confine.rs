//! Confines the process that touches media.
//!
//! A decoder that is taken over by the file it decodes should find nothing of value: no network, no files but the job's
//! own, no secrets, no other process, and limited memory and time. All measures are inherited by whatever the process
//! starts, and none can be undone by it.
//!
//! Landlock and seccomp are the two that nothing else replaces, and a kernel or a container runtime may lack either.
//! [`ConfinementPolicy`] decides what happens then; any other measure that is missing is logged.
//!
//! | module     | limits                                                                                      |
//! |------------|---------------------------------------------------------------------------------------------|
//! | `process`  | privileges, access by other processes, what happens when the parent or the memory is gone   |
//! | `rlimits`  | memory, CPU time, files                                                                     |
//! | `files`    | which files it can open (Landlock)                                                          |
//! | `syscalls` | which system calls it can make (seccomp): above all, none that opens a socket               |
//!
//! Not limited: the number of processes. The kernel counts them per user, over all containers of that user, so a limit
//! would let one job starve another. In Kubernetes the Pod has one.

mod files;
mod policy;
mod process;
mod rlimits;
mod syscalls;

use std::path::PathBuf;

pub use policy::ConfinementPolicy;
pub use process::{close_inherited, end_with_parent, keep_to_itself};

use crate::paths::local::FileId;
use crate::task::{ConfinementReport, WorkerLimits};

/// Everything that the process may use.
#[derive(Clone, Debug)]
pub struct ConfinementNeeds {
    pub limits: WorkerLimits,
    /// Files to read: clips and models. A path with an identity is skipped if it leads to another file.
    pub read: Vec<(PathBuf, Option<FileId>)>,
    pub programs: Vec<PathBuf>,
    /// Directories of libraries, besides the system's.
    pub libraries: Vec<PathBuf>,
    /// Whether the devices of GPUs and the files of their drivers are needed.
    pub gpu: bool,
}

/// Confines this process for good, and returns the measures. The process must have one thread only: others would not be
/// confined.
pub fn confine(needs: &ConfinementNeeds) -> ConfinementReport {
    let mut measures = process::confine();
    measures.extend(rlimits::confine(&needs.limits, needs.gpu));
    let (landlock_abi, files) = files::confine(needs);
    measures.push(files);
    let (seccomp, syscalls) = syscalls::confine(needs.gpu);
    measures.extend(syscalls);
    ConfinementReport { landlock_abi, seccomp, measures }
}

/// The name of a measure that is active, or why it is not.
fn measure<E: std::fmt::Display>(name: &str, result: Result<(), E>) -> String {
    match result {
        Ok(()) => name.to_owned(),
        Err(error) => format!("no {name}: {error}"),
    }
}
