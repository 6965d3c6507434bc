//! Memory, CPU time and files.

use rustix::process::{Resource, Rlimit};

use super::word;
use crate::task::Limits;

/// Address space that is reserved and not used: libraries, and the arenas of malloc, one for each thread.
const RESERVED: u64 = 4 << 30;

/// Between the signal that names the cause and the one that cannot be ignored.
const GRACE_SECONDS: u64 = 5;

/// Descriptors: three pipes for each decoder, the clips, the report.
const FILES: u64 = 256;

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Amount {
    name: &'static str,
    resource: Resource,
    soft: u64,
    hard: u64,
}

pub(super) fn confine(limits: &Limits, gpu: bool) -> Vec<String> {
    amounts(limits, gpu)
        .into_iter()
        .map(|amount| {
            // Nobody may have more than he has already.
            let most = rustix::process::getrlimit(amount.resource).maximum.unwrap_or(u64::MAX);
            let new = Rlimit { current: Some(amount.soft.min(most)), maximum: Some(amount.hard.min(most)) };
            word(amount.name, rustix::process::setrlimit(amount.resource, new))
        })
        .collect()
}

fn amounts(limits: &Limits, gpu: bool) -> Vec<Amount> {
    let equal = |name, resource, value| Amount { name, resource, soft: value, hard: value };
    let mut amounts = vec![
        // One byte, not none: where cores go to a program, none means that it gets them.
        equal("no core dumps", Resource::Core, 1),
        equal("few descriptors", Resource::Nofile, FILES),
        // What is private and can be written to, used or not: close to what is used.
        equal("limited memory", Resource::Data, limits.memory_bytes),
    ];
    if !gpu {
        // Shared memory is not part of the above; drivers of GPUs reserve more addresses than any limit.
        let addresses = limits.memory_bytes.saturating_mul(2).saturating_add(RESERVED);
        amounts.push(equal("limited addresses", Resource::As, addresses));
    }
    if limits.cpu_seconds > 0 {
        let hard = limits.cpu_seconds.saturating_add(GRACE_SECONDS);
        amounts.push(Amount {
            name: "limited CPU time",
            resource: Resource::Cpu,
            soft: limits.cpu_seconds,
            hard,
        });
    }
    if limits.file_bytes > 0 {
        amounts.push(equal("limited files", Resource::Fsize, limits.file_bytes));
    }
    amounts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(cpu_seconds: u64, file_bytes: u64) -> Limits {
        Limits { memory_bytes: 1 << 30, cpu_seconds, file_bytes, scratch: "/scratch".into() }
    }

    fn find(amounts: &[Amount], resource: Resource) -> Option<(u64, u64)> {
        amounts.iter().find(|amount| amount.resource == resource).map(|amount| (amount.soft, amount.hard))
    }

    #[test]
    fn the_signal_that_names_the_cause_comes_before_the_one_that_kills() {
        assert_eq!(find(&amounts(&limits(60, 0), false), Resource::Cpu), Some((60, 65)));
    }

    #[test]
    fn nothing_means_no_limit() {
        let amounts = amounts(&limits(0, 0), false);
        assert_eq!((find(&amounts, Resource::Cpu), find(&amounts, Resource::Fsize)), (None, None));
    }

    #[test]
    fn the_drivers_of_a_gpu_may_reserve_addresses() {
        let with = amounts(&limits(0, 0), true);
        assert_eq!(find(&with, Resource::As), None);
        assert_eq!(find(&with, Resource::Data), Some((1 << 30, 1 << 30)));
        assert!(find(&amounts(&limits(0, 0), false), Resource::As).is_some());
    }
}
