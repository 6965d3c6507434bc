//! A description of the machine, stored with the samples of a run.

use std::fs;

use serde_json::{Value, json};

/// Processor, cores, memory, kernel.
pub(super) fn describe() -> Value {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    json!({
        "processor": line("/proc/cpuinfo", "model name"),
        "cores": cores,
        "memory": line("/proc/meminfo", "MemTotal"),
        "kernel": fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned()),
        "os": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
    })
}

/// CPU time of all processors since the machine started, in clock ticks.
pub(super) struct CpuTime {
    total: u64,
    stolen: u64,
}

impl CpuTime {
    pub(super) fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The first line has `user`, `nice`, `system`, `idle`, `iowait`, `irq`, `softirq` and `steal`.
    fn parse(stat: &str) -> Option<Self> {
        let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
        let ticks: Vec<u64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
        Some(Self { total: ticks.iter().sum(), stolen: *ticks.get(7)? })
    }

    /// Share of the CPU time that the host gave to other virtual machines since `before`, in percent.
    pub(super) fn stolen_since(&self, before: &Self) -> u64 {
        let stolen = 100 * self.stolen.saturating_sub(before.stolen);
        stolen.checked_div(self.total.saturating_sub(before.total)).unwrap_or(0)
    }
}

/// Value of the first `key : value` line of a file in /proc.
fn line(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all_time() {
        let before = CpuTime::parse("cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 1").unwrap();
        let after = CpuTime::parse("cpu  60 0 20 90 0 0 0 30 5 5\ncpu0 1").unwrap();
        assert_eq!(after.stolen_since(&before), 30);
        assert_eq!(after.stolen_since(&after), 0);
        assert!(CpuTime::parse("intr 1").is_none());
    }
}
