//! Decoding by an `ffmpeg` subprocess.

mod arguments;
mod child;
mod log;
mod report;
mod source;

use std::io::{self, Read};
use std::path::Path;
use std::process::{ChildStderr, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

pub(super) use child::Child;
pub(super) use source::Source;

use super::error::InputError;
use super::pixel_format::{self, Samples};
use super::probe::{Probe, Storage, open_regular};
use super::stop::Stopper;
use super::tools::Tools;
use crate::picture::Format;

/// Most that is read of a report. Real ones have a few kilobytes.
const REPORT_LIMIT: u64 = 1 << 20;

/// Codecs that turn any text into pictures.
const TEXT_CODECS: [&str; 4] = ["ansi", "bintext", "xbin", "idf"];

/// Asks `ffmpeg` what a file is.
pub(super) fn probe(path: &Path, tools: &Tools, started: &dyn Fn(Stopper)) -> Result<Probe, InputError> {
    let said = run_probe(path, tools, started)?;
    let not_video = || InputError::NotVideo { path: path.to_owned(), stderr: last_lines(&said) };
    let report = report::parse(&said).ok_or_else(not_video)?;
    let too_large = report.width > u32::from(u16::MAX) || report.height > u32::from(u16::MAX);
    if too_large || report.pixel_format == "none" || TEXT_CODECS.contains(&report.codec.as_str()) {
        return Err(not_video());
    }
    let delivery = pixel_format::delivery(&report.pixel_format).ok_or_else(|| InputError::PixelFormat {
        path: path.to_owned(),
        pixel_format: report.pixel_format.clone(),
    })?;
    Ok(Probe {
        format: Format {
            width: report.width,
            height: report.height,
            chroma: delivery.chroma,
            depth: delivery.depth,
        },
        frame_rate: report.frame_rate,
        frames: None,
        frames_estimate: estimate(report.duration, report.frame_rate),
        transfer: report.transfer,
        full_range: match delivery.samples {
            Samples::Yuv => report.full_range,
            // It is said to be of full range and arrives in limited range.
            Samples::Rgb => Some(false),
        },
        converted_from: delivery.converted.then_some(report.pixel_format),
        storage: Storage::Coded {
            samples: delivery.samples,
            demuxer: report.demuxer,
            decoder: report.decoder.unwrap_or_else(|| report.codec.clone()),
        },
        codec: report.codec,
    })
}

/// Everything that `ffmpeg` says about a file.
fn run_probe(path: &Path, tools: &Tools, started: &dyn Fn(Stopper)) -> Result<String, InputError> {
    let purpose = "to find out what is in";
    let program = tools.need_ffmpeg(path, purpose)?;
    let failed = |source| InputError::FfmpegStart {
        path: path.to_owned(),
        purpose,
        program: program.to_owned(),
        source,
    };
    let stdin = stdin(path)?;
    let (child, _stdout, stderr) = Child::start(program, &arguments::probe(path), stdin).map_err(failed)?;
    let child = Arc::new(child);
    let stopper = Stopper::of_child(Arc::clone(&child));
    started(stopper.clone());
    let deadline = tools.probe_deadline();
    let (said, late) = listen(&child, stderr, deadline).map_err(failed)?;
    match (stopper.is_stopped(), late) {
        (true, _) => Err(InputError::Stopped { path: path.to_owned() }),
        (_, true) => Err(InputError::ProbeTimeout { path: path.to_owned(), deadline }),
        _ => Ok(String::from_utf8_lossy(&said).into_owned()),
    }
}

/// What a decoder of this file gets as standard input.
fn stdin(path: &Path) -> Result<Stdio, InputError> {
    Ok(if arguments::as_stdin(path) { open_regular(path)?.0.into() } else { Stdio::null() })
}

/// Everything that a process says, and whether it had to be killed because it did not come to an end.
fn listen(child: &Child, stderr: ChildStderr, deadline: Duration) -> io::Result<(Vec<u8>, bool)> {
    let (finished, wait) = channel::<()>();
    thread::scope(|scope| {
        let watch = move || {
            let late = wait.recv_timeout(deadline) == Err(RecvTimeoutError::Timeout);
            if late {
                child.kill();
            }
            late
        };
        let watcher = thread::Builder::new().name("probe".to_owned()).spawn_scoped(scope, watch)?;
        let mut said = Vec::new();
        let read = stderr.take(REPORT_LIMIT).read_to_end(&mut said);
        drop(finished);
        let late = watcher.join().unwrap_or(false);
        read.map(|_| (said, late))
    })
}

/// Frames by duration and rate.
fn estimate(duration: Option<f64>, rate: Option<f64>) -> Option<u64> {
    let frames = (duration? * rate?).round();
    // A float of this size is a whole number, and far below the limit of the target type.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (1.0..1e15).contains(&frames).then_some(frames as u64)
}

/// The end of a report, where the reason for a failure stands.
fn last_lines(said: &str) -> String {
    let mut log = log::Log::new(Vec::new(), String::new());
    let lines: Vec<&str> = said.lines().collect();
    for line in &lines[lines.len().saturating_sub(4)..] {
        log.push(line.as_bytes());
    }
    log.tail()
}
