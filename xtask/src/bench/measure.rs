//! The cost of a program: CPU time with its children, wall time, peak memory.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};

#[derive(Clone, Debug)]
pub(super) struct Cost {
    /// User and system seconds of the program and of every process that it waited for.
    pub(super) cpu: f64,
    /// Wall-clock seconds.
    pub(super) wall: f64,
    /// Peak memory of the program itself, in megabytes.
    pub(super) peak: f64,
    pub(super) output: String,
}

/// Runs a program. No other child may run meanwhile, because CPU time is counted over all children of this process.
pub(super) fn run(command: &mut Command) -> Result<Cost> {
    let before = children_seconds()?;
    let started = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
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
            Err(_) => bail!("cannot read the output"),
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

/// Polls the kernel's peak of the program's memory until it exits. The peak only rises, so only growth in the last 10 ms
/// can be missed.
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
