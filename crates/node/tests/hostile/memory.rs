//! Memory of a process, and its limit.

use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// In bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
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

/// Limits the memory of a process and of each that it starts.
pub(crate) fn limit_memory(process: Pid, bytes: u64) {
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    prlimit(Some(process), Resource::Data, limit).unwrap();
}
