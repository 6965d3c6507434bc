//! Cores by affinity and quota.

use super::cgroup::{Cgroup, CgroupController};

/// Cores by the affinity of this process.
pub(super) fn allowed() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(1, |cores| cores.count()).max(1)
}

/// Cores by affinity and quota. A part of a core counts as one: two threads use all of a quota of 1.5 cores although they
/// are throttled at the end of each period, and one thread would leave a third of it.
pub(super) fn cores(cgroup: &Cgroup, allowed: u32) -> u32 {
    let whole = |(quota, period): (u64, u64)| u32::try_from(quota.div_ceil(period)).unwrap_or(u32::MAX);
    quotas(cgroup).map(whole).chain([allowed]).min().unwrap_or(allowed).max(1)
}

/// Quota and period of every group that has a limit, in microseconds.
fn quotas(cgroup: &Cgroup) -> impl Iterator<Item = (u64, u64)> {
    let unified = cgroup.unified("cpu.max").filter_map(|text| {
        // `max 100000` means no limit.
        let mut words = text.split_whitespace();
        pair(words.next()?, words.next()?)
    });
    let quotas = cgroup.separate(CgroupController::Cpu, "cpu.cfs_quota_us");
    let periods = cgroup.separate(CgroupController::Cpu, "cpu.cfs_period_us");
    // A quota of -1 means no limit.
    let separate = quotas.zip(periods).filter_map(|(quota, period)| pair(quota.trim(), period.trim()));
    unified.chain(separate).collect::<Vec<_>>().into_iter()
}

fn pair(quota: &str, period: &str) -> Option<(u64, u64)> {
    let (quota, period) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0).then_some((quota, period))
}
