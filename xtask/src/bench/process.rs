//! What a process has used.

use std::fs;

use anyhow::{Context as _, Result};

/// Clock ticks in a second, as Linux tells them to everybody.
const TICKS: f64 = 100.0;

/// Seconds of CPU until now.
pub(super) fn cpu_seconds(pid: u32) -> Result<f64> {
    ticks(pid, &[11, 12])
}

/// The same, with every process that it waited for.
pub(super) fn cpu_seconds_of_all(pid: u32) -> Result<f64> {
    ticks(pid, &[11, 12, 13, 14])
}

/// The sum of some fields, counted from the state of the process.
fn ticks(pid: u32, fields: &[usize]) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name before this may have spaces in it.
    let (_, rest) = stat.rsplit_once(')').context("/proc/…/stat")?;
    let values: Vec<&str> = rest.split_whitespace().collect();
    let number = |index: &usize| values.get(*index)?.parse::<f64>().ok();
    let all = fields.iter().map(number).sum::<Option<f64>>().context("/proc/…/stat")?;
    Ok(all / TICKS)
}

/// Megabytes of memory.
pub(super) fn resident(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0 / 1e6)
}
