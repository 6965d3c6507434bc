//! What a process has of the memory, and may have.

use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// In bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// At this moment.
    pub(crate) resident: u64,
    /// At any moment so far.
    pub(crate) peak: u64,
}

impl Memory {
    pub(crate) fn of(process: Pid) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).unwrap();
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap()
        };
        Self { resident: kilobytes("VmRSS:") * 1024, peak: kilobytes("VmHWM:") * 1024 }
    }
}

/// So much for a process and for each that it starts, as a machine with less would have it.
pub(crate) fn limit_memory(process: Pid, bytes: u64) {
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    prlimit(Some(process), Resource::Data, limit).unwrap();
}
