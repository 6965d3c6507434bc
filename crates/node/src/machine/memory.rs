//! Memory by limit and size, and OOM kills.

use std::fs;
use std::path::Path;

use super::cgroup::{Cgroup, CgroupController};

/// Assumed where not even the size of the memory is known.
const FALLBACK_BYTES: u64 = 2 << 30;

/// Bytes that this process and its children may use together.
pub(super) fn memory(cgroup: &Cgroup, root: &Path) -> u64 {
    // `max` means no limit, and so does, in version 1, a number beyond any machine.
    let limits = cgroup
        .unified("memory.max")
        .chain(cgroup.separate(CgroupController::Memory, "memory.limit_in_bytes"))
        .filter_map(|text| text.trim().parse::<u64>().ok());
    limits.chain(total(root)).min().unwrap_or(FALLBACK_BYTES)
}

fn total(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    kilobytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Counter of the processes in this group that the kernel killed because memory was used up; `None`: the kernel has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OomKills(Option<u64>);

impl OomKills {
    pub fn now() -> Self {
        let root = Path::new("/");
        Self::of(&Cgroup::of_this_process(root))
    }

    pub(super) fn of(cgroup: &Cgroup) -> Self {
        let unified = cgroup.unified("memory.events");
        let separate = cgroup.separate(CgroupController::Memory, "memory.oom_control");
        // The innermost group counts the kills in it and below, whichever group's limit caused them.
        let innermost = unified.chain(separate).find_map(|text| {
            text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
        });
        Self(innermost)
    }

    /// Whether there were kills since then; `None` if the kernel does not count them.
    pub fn since(self, before: &Self) -> Option<bool> {
        Some(self.0? > before.0?)
    }
}
