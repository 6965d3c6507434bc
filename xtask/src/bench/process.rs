//! CPU time and memory of a process, from /proc.

use std::fs;

use anyhow::{Context as _, Result};

/// Clock ticks per second in /proc (`USER_HZ`).
const TICKS: f64 = 100.0;

pub(super) fn cpu_seconds(pid: u32) -> Result<f64> {
    ticks(pid, &[11, 12])
}

/// The same, including child processes that it waited for.
pub(super) fn cpu_seconds_of_all(pid: u32) -> Result<f64> {
    ticks(pid, &[11, 12, 13, 14])
}

/// Sum of fields of /proc/…/stat in seconds, counted from the process state.
fn ticks(pid: u32, fields: &[usize]) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The process name before the parenthesis may contain spaces.
    let (_, rest) = stat.rsplit_once(')').context("cannot parse /proc/…/stat")?;
    let values: Vec<&str> = rest.split_whitespace().collect();
    let number = |index: &usize| values.get(*index)?.parse::<f64>().ok();
    let all = fields.iter().map(number).sum::<Option<f64>>().context("cannot parse /proc/…/stat")?;
    Ok(all / TICKS)
}

/// Resident memory in megabytes.
pub(super) fn resident(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in /proc/…/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0 / 1e6)
}
