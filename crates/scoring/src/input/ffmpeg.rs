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

use self::report::Report;
use super::error::InputError;
use super::pixel_format::{self, Samples};
use super::probe::{Probe, Storage, open_regular};
use super::stop::Stopper;
use super::tools::Tools;
use crate::picture::Format;

/// Most that is read of a report. Real ones have a few kilobytes.
const REPORT_LIMIT: u64 = 1 << 20;

/// How `ffmpeg` says that it only guesses what a file is.
const LOW_SCORE: &str = "misdetection possible";

/// What `ffmpeg` writes when it has looked at a file and found no video: it does not recognise the content, or it lists
/// what there is instead.
const NO_VIDEO: [&str; 2] = ["Invalid data found when processing input", "Input #0, "];

/// Codecs that turn any text into pictures.
const TEXT_CODECS: [&str; 4] = ["ansi", "bintext", "xbin", "idf"];

/// What the content of a file is to `ffmpeg`.
pub(super) enum Content {
    Video(Box<Probe>),
    /// Nothing that it recognises, or something without video; the end of what it says.
    NoVideo {
        stderr: String,
    },
}

/// Asks `ffmpeg` what a file is. If `ffmpeg` itself fails, for lack of memory or in a crash, that is an error: the file may
/// be a video all the same, and so it is if its video stream cannot be decoded.
pub(super) fn probe(path: &Path, tools: &Tools, started: &dyn Fn(Stopper)) -> Result<Content, InputError> {
    let said = run_probe(path, tools, started)?;
    if let Some(line) = said.lines().find(|line| line.contains(LOW_SCORE)) {
        return Ok(Content::NoVideo { stderr: last_lines(line, path) });
    }
    let stderr = || last_lines(&said, path);
    match report::parse(&said) {
        Some(report) if TEXT_CODECS.contains(&report.codec.as_str()) => {
            Ok(Content::NoVideo { stderr: stderr() })
        }
        None if NO_VIDEO.iter().any(|words| said.contains(words)) => {
            Ok(Content::NoVideo { stderr: stderr() })
        }
        Some(report) if report.is_decodable() => Ok(Content::Video(Box::new(video(path, report)?))),
        _ => Err(InputError::NotVideo { path: path.to_owned(), stderr: stderr() }),
    }
}

fn video(path: &Path, report: Report) -> Result<Probe, InputError> {
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
    let stdin = Stdio::from(open_regular(path)?.0);
    let (child, _stdout, stderr) = Child::start(program, &arguments::probe(), stdin).map_err(failed)?;
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

/// The end of a report, where the reason for a failure stands, with the name of the file.
fn last_lines(said: &str, path: &Path) -> String {
    let mut log = log::Log::new(Vec::new(), String::new());
    let lines: Vec<&str> = said.lines().collect();
    for line in &lines[lines.len().saturating_sub(4)..] {
        log.push(line.as_bytes());
    }
    log.tail().replace(arguments::STDIN, &path.to_string_lossy())
}
