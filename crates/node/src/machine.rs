//! What this process really has of the machine: cores, memory, devices.
//!
//! | module    | finds                                                                     |
//! |-----------|---------------------------------------------------------------------------|
//! | `cgroup`  | the control group of this process, and the limits of all groups around it |
//! | `cores`   | cores by affinity and quota                                               |
//! | `memory`  | memory by limit and size, and what the kernel killed for it               |
//! | `slots`   | pure: what each slot gets                                                 |
//! | `device`  | the model of the CPU, and GPUs by the tools of their makers               |
//!
//! Everything is read below a root directory, `/` but in tests.

mod cgroup;
mod cores;
pub mod device;
mod memory;
mod slots;

use std::path::Path;

pub use memory::OomKills;
pub use slots::Share;

use self::cgroup::Cgroup;

/// What this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Threads that can be kept busy.
    pub cores: u32,
    /// Bytes.
    pub memory: u64,
}

impl Machine {
    /// What the process has now.
    pub fn of_this_process() -> Self {
        Self::below(Path::new("/"), cores::allowed())
    }

    /// The same by the files below `root`; `allowed` cores are left by the scheduler.
    fn below(root: &Path, allowed: u32) -> Self {
        let cgroup = Cgroup::of_this_process(root);
        Self { cores: cores::cores(&cgroup, allowed), memory: memory::memory(&cgroup, root) }
    }

    /// What each of so many slots gets.
    pub fn share(self, slots: u32) -> Share {
        slots::share(self, slots)
    }
}

#[cfg(test)]
mod tests;
