//! Cores, memory and devices that this process can really use.
//!
//! | module    | finds                                                                     |
//! |-----------|---------------------------------------------------------------------------|
//! | `cgroup`  | the control group of this process, and the limits of all groups around it |
//! | `cores`   | cores by affinity and quota                                               |
//! | `memory`  | memory by limit and size, and OOM kills                                   |
//! | `slots`   | pure: the share of each slot                                              |
//! | `device`  | names of CPUs and GPUs                                                    |
//!
//! Everything is read below a root directory, which is `/` except in tests.

mod cgroup;
mod cores;
pub mod device;
mod memory;
mod slots;

use std::path::Path;

pub use memory::OomKills;
pub use slots::SlotShare;

use self::cgroup::Cgroup;

/// Resources of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Threads that can run at the same time.
    pub cores: u32,
    /// In bytes.
    pub memory: u64,
}

impl Machine {
    pub fn of_this_process() -> Self {
        Self::below(Path::new("/"), cores::allowed())
    }

    /// The same by the files below `root`; `allowed` is the number of cores by the affinity of the process.
    fn below(root: &Path, allowed: u32) -> Self {
        let cgroup = Cgroup::of_this_process(root);
        Self { cores: cores::cores(&cgroup, allowed), memory: memory::memory(&cgroup, root) }
    }

    pub fn share(self, slots: u32) -> SlotShare {
        slots::share(self, slots)
    }
}

#[cfg(test)]
mod tests;
