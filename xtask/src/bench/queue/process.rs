//! What a process has used.

use std::fs;

use anyhow::{Context as _, Result};

/// Clock ticks in a second, as Linux tells them to everybody.
const TICKS: f64 = 100.0;

/// Seconds of CPU until now.
pub(super) fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name before this may have spaces in it.
    let (_, fields) = stat.rsplit_once(')').context("/proc/…/stat")?;
    let field =
        |number: usize| fields.split_whitespace().nth(number).and_then(|ticks| ticks.parse::<f64>().ok());
    let (user, system) = (field(11).context("utime")?, field(12).context("stime")?);
    Ok((user + system) / TICKS)
}

/// Megabytes of memory.
pub(super) fn resident(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0 / 1e6)
}
