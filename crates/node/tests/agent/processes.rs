//! The processes of jobs: workers, and all that they have started.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobProcess {
    pub(crate) id: Pid,
    /// The private directory of its job, from its environment.
    pub(crate) directory: PathBuf,
}

/// The processes of jobs whose directory is below `scratch`.
pub(crate) fn processes_below(scratch: &Path) -> Vec<JobProcess> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?))
        .filter_map(|id| Some(JobProcess { id, directory: directory_of(id)? }))
        .filter(|process| process.directory.starts_with(scratch))
        .collect()
}

/// The private directory of a process that belongs to a job.
pub(crate) fn directory_of(id: Pid) -> Option<PathBuf> {
    let environment = fs::read(format!("/proc/{}/environ", id.as_raw_nonzero())).ok()?;
    let variable = environment.split(|byte| *byte == 0).find_map(|pair| pair.strip_prefix(b"TMPDIR="))?;
    Some(PathBuf::from(OsStr::from_bytes(variable)))
}
