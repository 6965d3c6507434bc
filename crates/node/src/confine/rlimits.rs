//! Memory, CPU time and files.

use rustix::process::{Resource, Rlimit};

use super::measure;
use crate::task::WorkerLimits;

/// Address space that is reserved but not used: libraries, and the arenas of malloc, one for each thread.
const RESERVED_ADDRESSES: u64 = 4 << 30;

/// Time between SIGXCPU, which names the cause, and SIGKILL.
const GRACE_SECONDS: u64 = 5;

/// Enough for three pipes for each decoder, the clips and the report.
const MAX_DESCRIPTORS: u64 = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ResourceLimit {
    name: &'static str,
    resource: Resource,
    soft: u64,
    hard: u64,
}

pub(super) fn confine(limits: &WorkerLimits, gpu: bool) -> Vec<String> {
    resource_limits(limits, gpu)
        .into_iter()
        .map(|limit| {
            // A hard limit cannot be raised.
            let max = rustix::process::getrlimit(limit.resource).maximum.unwrap_or(u64::MAX);
            let new = Rlimit { current: Some(limit.soft.min(max)), maximum: Some(limit.hard.min(max)) };
            measure(limit.name, rustix::process::setrlimit(limit.resource, new))
        })
        .collect()
}

fn resource_limits(limits: &WorkerLimits, gpu: bool) -> Vec<ResourceLimit> {
    let equal = |name, resource, value| ResourceLimit { name, resource, soft: value, hard: value };
    let mut all = vec![
        // One byte rather than none: with a limit of 0, a core pattern that pipes to a program gets the core dump.
        equal("no core dumps", Resource::Core, 1),
        equal("few descriptors", Resource::Nofile, MAX_DESCRIPTORS),
        // Counts private writable memory, touched or not, which is close to what is used.
        equal("limited memory", Resource::Data, limits.memory_bytes),
    ];
    if !gpu {
        // Bounds shared memory too, which RLIMIT_DATA does not count. Drivers of GPUs reserve more addresses than any limit.
        let addresses = limits.memory_bytes.saturating_mul(2).saturating_add(RESERVED_ADDRESSES);
        all.push(equal("limited addresses", Resource::As, addresses));
    }
    if limits.cpu_seconds > 0 {
        let hard = limits.cpu_seconds.saturating_add(GRACE_SECONDS);
        all.push(ResourceLimit {
            name: "limited CPU time",
            resource: Resource::Cpu,
            soft: limits.cpu_seconds,
            hard,
        });
    }
    if limits.file_bytes > 0 {
        all.push(equal("limited files", Resource::Fsize, limits.file_bytes));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(cpu_seconds: u64, file_bytes: u64) -> WorkerLimits {
        WorkerLimits { memory_bytes: 1 << 30, cpu_seconds, file_bytes, scratch: "/scratch".into() }
    }

    fn find(all: &[ResourceLimit], resource: Resource) -> Option<(u64, u64)> {
        all.iter().find(|limit| limit.resource == resource).map(|limit| (limit.soft, limit.hard))
    }

    #[test]
    fn the_signal_that_names_the_cause_comes_before_the_one_that_kills() {
        assert_eq!(find(&resource_limits(&limits(60, 0), false), Resource::Cpu), Some((60, 65)));
    }

    #[test]
    fn zero_means_no_limit() {
        let all = resource_limits(&limits(0, 0), false);
        assert_eq!((find(&all, Resource::Cpu), find(&all, Resource::Fsize)), (None, None));
    }

    #[test]
    fn the_drivers_of_a_gpu_may_reserve_addresses() {
        let with = resource_limits(&limits(0, 0), true);
        assert_eq!(find(&with, Resource::As), None);
        assert_eq!(find(&with, Resource::Data), Some((1 << 30, 1 << 30)));
        assert!(find(&resource_limits(&limits(0, 0), false), Resource::As).is_some());
    }
}
