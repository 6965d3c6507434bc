//! Probing and decoding by an `ffmpeg` subprocess.

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
pub(super) use source::DecoderSource;

use self::report::StreamReport;
use super::error::InputError;
use super::pixel_format::{self, ColourModel};
use super::probe::{Probe, SampleStorage, open_regular};
use super::stop::StopHandle;
use super::tools::Tools;
use crate::picture::PictureFormat;

/// Real reports have a few kilobytes.
const MAX_REPORT_BYTES: u64 = 1 << 20;

/// Part of the warning that `ffmpeg` only guesses what a file is.
const LOW_SCORE: &str = "misdetection possible";

/// Texts that `ffmpeg` writes when it has looked at a file without video: it does not recognise the content, or it lists
/// the other streams.
const NO_VIDEO: [&str; 2] = ["Invalid data found when processing input", "Input #0, "];

/// Demuxers that take any text for pictures; none of them may read a clip.
const TEXT_DEMUXERS: [&str; 5] = ["tty", "bin", "xbin", "adf", "idf"];

/// What `ffmpeg` recognises in a file.
pub(super) enum DetectedContent {
    Video(Box<Probe>),
    /// Nothing, or something without video; with the last lines that `ffmpeg` wrote.
    NoVideo {
        stderr: String,
    },
    /// A format that is not read ([`arguments::FORMATS`]).
    Refused {
        demuxer: String,
    },
}

/// Asks `ffmpeg` what a file is. It is an error if `ffmpeg` itself fails, for lack of memory or by a crash, because the file
/// may be a video nevertheless, and if there is a video stream that cannot be decoded.
pub(super) fn probe(
    path: &Path,
    tools: &Tools,
    started: &dyn Fn(StopHandle),
) -> Result<DetectedContent, InputError> {
    let text = run_probe(path, tools, started)?;
    if let Some(line) = text.lines().find(|line| line.contains(LOW_SCORE)) {
        return Ok(DetectedContent::NoVideo { stderr: last_lines(line, path) });
    }
    let stderr = || last_lines(&text, path);
    match report::refused_demuxer(&text) {
        Some(demuxer) if TEXT_DEMUXERS.contains(&demuxer) => {
            return Ok(DetectedContent::NoVideo { stderr: stderr() });
        }
        Some(demuxer) => return Ok(DetectedContent::Refused { demuxer: demuxer.to_owned() }),
        None => {}
    }
    match report::parse(&text) {
        None if NO_VIDEO.iter().any(|words| text.contains(words)) => {
            Ok(DetectedContent::NoVideo { stderr: stderr() })
        }
        Some(report) if report.is_decodable() => Ok(DetectedContent::Video(Box::new(video(path, report)?))),
        _ => Err(InputError::NotVideo { path: path.to_owned(), stderr: stderr() }),
    }
}

fn video(path: &Path, report: StreamReport) -> Result<Probe, InputError> {
    let decoded = pixel_format::decoded_format(&report.pixel_format).ok_or_else(|| {
        InputError::PixelFormat { path: path.to_owned(), pixel_format: report.pixel_format.clone() }
    })?;
    Ok(Probe {
        format: PictureFormat {
            width: report.width,
            height: report.height,
            chroma: decoded.chroma,
            depth: decoded.depth,
        },
        frame_rate: report.frame_rate,
        frames: None,
        frames_estimate: estimate(report.duration, report.frame_rate),
        transfer: report.colours.transfer,
        matrix: match decoded.samples {
            ColourModel::Yuv => report.colours.matrix,
            // ffmpeg converts RGB by the matrix of BT.601.
            ColourModel::Rgb => Some("smpte170m".to_owned()),
        },
        full_range: match decoded.samples {
            ColourModel::Yuv => report.colours.full_range,
            // RGB is labelled as full range and is delivered in limited range.
            ColourModel::Rgb => Some(false),
        },
        converted_from: decoded.converted.then_some(report.pixel_format),
        storage: SampleStorage::Coded {
            samples: decoded.samples,
            demuxer: report.demuxer,
            decoder: report.decoder.unwrap_or_else(|| report.codec.clone()),
        },
        codec: report.codec,
    })
}

/// The whole report that `ffmpeg` writes about a file.
fn run_probe(path: &Path, tools: &Tools, started: &dyn Fn(StopHandle)) -> Result<String, InputError> {
    let purpose = "to find out what is in";
    let program = tools.need_ffmpeg(path, purpose)?;
    let failed = |source| InputError::FfmpegStart {
        path: path.to_owned(),
        purpose,
        program: program.to_owned(),
        source,
    };
    let stdin = Stdio::from(open_regular(path)?.0);
    let (child, _stdout, stderr) =
        Child::start(program, &arguments::probe(), stdin, tools.killer()).map_err(failed)?;
    let child = Arc::new(child);
    let stop_handle = StopHandle::of_child(Arc::clone(&child));
    started(stop_handle.clone());
    let deadline = tools.probe_deadline();
    let (report, late) = read_until_deadline(&child, stderr, deadline).map_err(failed)?;
    match (stop_handle.is_stopped(), late) {
        (true, _) => Err(InputError::Stopped { path: path.to_owned() }),
        (_, true) => Err(InputError::ProbeTimeout { path: path.to_owned(), deadline }),
        _ => Ok(String::from_utf8_lossy(&report).into_owned()),
    }
}

/// Everything that a process writes to standard error, and whether it was killed because it exceeded the deadline.
fn read_until_deadline(
    child: &Child,
    stderr: ChildStderr,
    deadline: Duration,
) -> io::Result<(Vec<u8>, bool)> {
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
        let mut report = Vec::new();
        let read = stderr.take(MAX_REPORT_BYTES).read_to_end(&mut report);
        drop(finished);
        let late = watcher.join().unwrap_or(false);
        read.map(|_| (report, late))
    })
}

/// Number of frames by duration and frame rate.
fn estimate(duration: Option<f64>, rate: Option<f64>) -> Option<u64> {
    let frames = (duration? * rate?).round();
    // A float in this range is a whole number and far below the limit of the target type.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (1.0..1e15).contains(&frames).then_some(frames as u64)
}

/// The end of a report, where the cause of a failure stands, with the path in the place of standard input.
fn last_lines(report: &str, path: &Path) -> String {
    let mut log = log::DecoderLog::new(Vec::new(), String::new());
    let lines: Vec<&str> = report.lines().collect();
    for line in &lines[lines.len().saturating_sub(4)..] {
        log.push(line.as_bytes());
    }
    log.tail().replace(arguments::STDIN, &path.to_string_lossy())
}
