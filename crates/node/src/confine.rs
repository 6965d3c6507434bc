//! Confines the process that touches media.
//!
//! A decoder that is taken over by the file it decodes should find nothing worth taking: no network, no files but the
//! job's own, no secrets, no other process, and an end to its memory and time. All measures are inherited by whatever the
//! process starts, and none can be undone by it. Each is optional: what a kernel does not have is said, not hidden.
//!
//! | module    | limits                                                                                       |
//! |-----------|----------------------------------------------------------------------------------------------|
//! | `process` | privileges, the view of others into it, what becomes of it when its parent or memory ends     |
//! | `amounts` | memory, CPU time, files                                                                      |
//! | `files`   | which files exist for it (Landlock)                                                          |
//! | `calls`   | which system calls it can make (seccomp): above all, none that opens a socket                 |
//!
//! Not limited: the number of processes. The kernel counts them per user, over all containers of that user, so a limit
//! would let one job starve another. In Kubernetes the Pod has one.

mod amounts;
mod calls;
mod files;
mod process;

use std::path::PathBuf;

pub use process::{close_inherited, end_with_parent, keep_to_itself};

use crate::paths::local::FileId;
use crate::task::Limits;

/// What the process needs, and nothing else.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Amounts, and the private directory.
    pub limits: Limits,
    /// Files to read: clips and models. One that must be a certain file is passed over if it is another.
    pub read: Vec<(PathBuf, Option<FileId>)>,
    /// Programs to start.
    pub programs: Vec<PathBuf>,
    /// Directories of libraries besides the system's.
    pub libraries: Vec<PathBuf>,
    /// Whether a GPU is needed: its devices, and what its drivers look at.
    pub gpu: bool,
}

/// Confines this process, for good, and says how. To be called while it has one thread: others would stay free.
pub fn confine(needs: &Needs) -> Vec<String> {
    let mut said = process::confine();
    said.extend(amounts::confine(&needs.limits, needs.gpu));
    said.push(files::confine(needs));
    said.extend(calls::confine(needs.gpu));
    said
}

/// The word for a measure that holds, or why it does not.
fn word<E: std::fmt::Display>(name: &str, result: Result<(), E>) -> String {
    match result {
        Ok(()) => name.to_owned(),
        Err(error) => format!("no {name}: {error}"),
    }
}
