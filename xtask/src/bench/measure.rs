//! What a program costs: CPU seconds of it and of its children, wall seconds, peak memory.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};

/// The cost of one run.
#[derive(Clone, Debug)]
pub(super) struct Cost {
    /// User and system time, of the program and of every process that it waited for.
    pub(super) cpu: f64,
    /// From start to end.
    pub(super) wall: f64,
    /// The most memory that the program itself held, in megabytes.
    pub(super) peak: f64,
    /// What it printed.
    pub(super) output: String,
}

/// Runs a program to its end, alone: CPU time is counted over all children of this process.
pub(super) fn run(command: &mut Command) -> Result<Cost> {
    let before = children_seconds()?;
    let started = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("start {command:?}"))?;
    let output = thread::scope(|scope| -> Result<(String, String, f64)> {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let read = |stream: Option<Box<dyn std::io::Read + Send>>| {
            scope.spawn(move || stream.map(std::io::read_to_string).transpose())
        };
        let stdout = read(stdout.map(|stream| Box::new(stream) as _));
        let stderr = read(stderr.map(|stream| Box::new(stream) as _));
        let peak = watch_peak(&mut child)?;
        let text = |reader: thread::ScopedJoinHandle<'_, std::io::Result<Option<String>>>| match reader.join()
        {
            Ok(text) => anyhow::Ok(text?.unwrap_or_default()),
            Err(_) => bail!("reading the output failed"),
        };
        Ok((text(stdout)?, text(stderr)?, peak))
    });
    let status = child.wait()?;
    let (output, errors, peak) = output?;
    if !status.success() {
        bail!("{command:?} failed ({status}):\n{errors}");
    }
    Ok(Cost { cpu: children_seconds()? - before, wall: started.elapsed().as_secs_f64(), peak, output })
}

/// The largest peak seen until the program ends. The kernel's mark only rises, so the last look is the right one but
/// for the last hundredth of a second.
fn watch_peak(child: &mut Child) -> Result<f64> {
    let status = format!("/proc/{}/status", child.id());
    let mut peak: f64 = 0.0;
    while child.try_wait()?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        peak = peak.max(kilobytes.unwrap_or_default() / 1000.0);
        thread::sleep(Duration::from_millis(10));
    }
    Ok(peak)
}

#[expect(clippy::cast_precision_loss, reason = "microseconds stay below 2^53 for centuries")]
fn children_seconds() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}
