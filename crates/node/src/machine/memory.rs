//! Memory by limit and size, and what the kernel killed for it.

use std::fs;
use std::path::Path;

use super::cgroup::{Cgroup, Controller};

/// Where not even the size of the memory is known.
const UNKNOWN: u64 = 2 << 30;

/// Bytes that this process and its children may use together.
pub(super) fn memory(cgroup: &Cgroup, root: &Path) -> u64 {
    // `max`, and in version 1 a number beyond any machine, is no limit.
    let limits = cgroup
        .unified("memory.max")
        .chain(cgroup.separate(Controller::Memory, "memory.limit_in_bytes"))
        .filter_map(|text| text.trim().parse::<u64>().ok());
    limits.chain(total(root)).min().unwrap_or(UNKNOWN)
}

/// The size of the memory.
fn total(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    kilobytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// How often the kernel has killed a process of this group because memory was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OomKills(Option<u64>);

impl OomKills {
    /// So far.
    pub fn now() -> Self {
        let root = Path::new("/");
        Self::of(&Cgroup::of_this_process(root))
    }

    pub(super) fn of(cgroup: &Cgroup) -> Self {
        let unified = cgroup.unified("memory.events");
        let separate = cgroup.separate(Controller::Memory, "memory.oom_control");
        // The innermost group counts what was killed in it and below, whichever group's limit it was.
        let innermost = unified.chain(separate).find_map(|text| {
            text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
        });
        Self(innermost)
    }

    /// Whether there were some since; nothing if the kernel does not say.
    pub fn since(self, before: &Self) -> Option<bool> {
        Some(self.0? > before.0?)
    }
}
