//! The standard `process_*` metrics.

use std::fmt;
use std::fs;
use std::path::Path;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// `/proc` reports times in hundredths of a second, whatever the kernel's own tick rate is.
const TICKS_PER_SECOND: f64 = 100.0;

/// Reads `/proc` at scrape time. Without `/proc` there are no such metrics.
#[derive(Debug)]
pub(super) struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let proc = Path::new("/proc");
        let read = |file: &str| fs::read_to_string(proc.join(file)).unwrap_or_default();
        let stat = read("self/stat");

        if let Some(seconds) = cpu_seconds(&stat) {
            let help = "CPU time spent, user and system";
            let metric = encoder.encode_descriptor("process_cpu_seconds", help, None, MetricType::Counter)?;
            ConstCounter::new(seconds).encode(metric)?;
        }
        let gauges = [
            ("process_resident_memory_bytes", "Memory in use", resident_bytes(&read("self/status"))),
            ("process_start_time_seconds", "Start, in Unix time", start_time(&stat, &read("stat"))),
            ("process_open_fds", "Open file descriptors", open_fds(&proc.join("self/fd"))),
        ];
        for (name, help, value) in gauges {
            if let Some(value) = value {
                let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
                ConstGauge::new(value).encode(metric)?;
            }
        }
        Ok(())
    }
}

/// Field `number` of `/proc/self/stat`, counted from one as proc(5) does. The second field is the program's name
/// in parentheses and may itself hold spaces and parentheses, so counting starts after the last one.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS_PER_SECOND)
}

fn start_time(stat: &str, system: &str) -> Option<f64> {
    let booted: f64 = system.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(booted + field(stat, 22)? / TICKS_PER_SECOND)
}

fn resident_bytes(status: &str) -> Option<f64> {
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(kibibytes.trim().strip_suffix("kB")?.trim_end().parse::<f64>().ok()? * 1024.0)
}

fn open_fds(directory: &Path) -> Option<f64> {
    let open = fs::read_dir(directory).ok()?.count();
    // Listing the directory holds one descriptor open itself.
    u32::try_from(open.saturating_sub(1)).ok().map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    const STAT: &str =
        "4227 (vmafx node) x) S 1 1 1 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 9 0 12345 99 42 0";

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        assert_eq!(cpu_seconds(STAT), Some(3.0));
        assert_eq!(start_time(STAT, "cpu 1 2\nbtime 1700000000\n"), Some(1_700_000_123.45));
    }

    #[test]
    fn memory_is_in_bytes() {
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t    2048 kB\n"), Some(2_097_152.0));
    }

    #[test]
    fn without_proc_there_is_nothing() {
        assert_eq!((cpu_seconds(""), start_time("", ""), resident_bytes("")), (None, None, None));
        assert_eq!(open_fds(Path::new("no/such/place")), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn on_linux_all_four_are_there() {
        let page = Metrics::new("1").encode().unwrap();
        for name in [
            "process_cpu_seconds_total ",
            "process_resident_memory_bytes ",
            "process_start_time_seconds ",
            "process_open_fds ",
        ] {
            let line = page.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            let value: f64 = line.parse().unwrap();
            assert!(value >= 0.0, "{name}{value}");
        }
    }
}
