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

/// Value of the first `key : value` line of a file in /proc.
fn line(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
