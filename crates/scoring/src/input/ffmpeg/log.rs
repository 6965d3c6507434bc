//! What a decoder says while it works: the end of it for messages, and whether it complained. Pure.

use std::collections::VecDeque;

/// Lines kept for the message.
const LINES: usize = 12;

/// Longest part of a line that is kept.
const LINE_BYTES: usize = 300;

/// What was said so far.
#[derive(Debug)]
pub(super) struct Log {
    lines: VecDeque<String>,
    /// Names under which the decoder of the video speaks.
    decoders: Vec<String>,
    /// The name under which the reader of the container speaks.
    demuxer: String,
    /// The decoder reported an error: a picture is missing or was made up.
    pub(super) decoder_complained: bool,
    /// The reader of the container reported an error: the rest may be missing.
    pub(super) demuxer_complained: bool,
    /// The pictures changed their shape on the way.
    pub(super) shape_changed: bool,
}

impl Log {
    /// For a decoder and a container with these names.
    pub(super) fn new(decoders: Vec<String>, demuxer: String) -> Self {
        Self {
            lines: VecDeque::with_capacity(LINES),
            decoders,
            demuxer,
            decoder_complained: false,
            demuxer_complained: false,
            shape_changed: false,
        }
    }

    /// Takes one line, as written with `-loglevel level+warning`: `[h264 @ 0x55] [error] what happened`.
    pub(super) fn push(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES)]).trim().to_owned();
        if line.is_empty() {
            return;
        }
        if let Some((speakers, text)) =
            ["[error]", "[fatal]", "[panic]"].iter().find_map(|level| line.split_once(level))
        {
            // Frames are numbered by a filter that starts again when the shape of the pictures changes; that is what the
            // writer then objects to.
            self.shape_changed |= text.contains("Non-monoton");
            for speaker in speakers.split(['[', ']']).filter_map(|speaker| speaker.split(" @ ").next()) {
                self.decoder_complained |= speaker.starts_with("dec:")
                    || speaker.starts_with("vist#")
                    || self.decoders.iter().any(|name| name == speaker);
                self.demuxer_complained |= speaker == self.demuxer || speaker.starts_with("in#");
            }
        }
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(without_addresses(&line));
    }

    /// The last lines, for a message.
    pub(super) fn tail(&self) -> String {
        if self.lines.is_empty() {
            return "ffmpeg said nothing".to_owned();
        }
        self.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// `[h264 @ 0x55c0dedde740] [error] x` to `[h264] [error] x`: addresses make equal messages look different.
fn without_addresses(line: &str) -> String {
    let mut rest = line;
    let mut clean = String::with_capacity(line.len());
    while let Some((before, after)) = rest.split_once(" @ 0x") {
        clean.push_str(before);
        rest = after.trim_start_matches(|digit: char| digit.is_ascii_hexdigit());
    }
    clean.push_str(rest);
    clean
}

/// Why this end of a decoder is not the end of the clip; nothing if it is.
///
/// `-xerror` makes most damage a bad exit, but not all: a container that is cut off between two packets, and damage in
/// the last frames, end with a good one. What was written to the log decides then. A complaint of the decoder always
/// counts, because the frame it is about was concealed. One of the container counts if frames are missing or nobody
/// knows how many there should be; many files have a harmless flaw somewhere.
pub(super) fn verdict(exit: Exit, log: &Log, frames: u64, expected: Expected) -> Option<String> {
    if log.shape_changed {
        return Some("the size or the pixel format of its pictures changes here".to_owned());
    }
    match exit {
        Exit::Code(0) => {}
        Exit::Code(code) => return Some(format!("ffmpeg exited with status {code}")),
        Exit::Signal(signal) => return Some(format!("ffmpeg was killed by signal {signal}")),
        Exit::Unknown => return Some("ffmpeg ended in an unknown way".to_owned()),
    }
    if log.decoder_complained {
        return Some("the decoder reported damage".to_owned());
    }
    match expected {
        Expected::Exactly(count) if count != frames => Some(format!("{count} frames were expected")),
        Expected::About(count) if log.demuxer_complained && frames + 1 < count => {
            Some(format!("the container is damaged; about {count} frames were expected"))
        }
        Expected::Unknown if log.demuxer_complained => Some("the container is damaged".to_owned()),
        _ => None,
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// By itself.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// Nobody knows.
    Unknown,
}

/// How many frames a clip should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// So many.
    Exactly(u64),
    /// So many by duration and frame rate.
    About(u64),
    /// Nobody knows, or not all were asked for.
    Unknown,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn log_of(lines: &[&str]) -> Log {
        let mut log = Log::new(vec!["av1".to_owned(), "libdav1d".to_owned()], "matroska,webm".to_owned());
        for line in lines {
            log.push(line.as_bytes());
        }
        log
    }

    const CUT: &str = "[matroska,webm @ 0x5564a6b95980] [error] File ended prematurely";
    const DECODER: &str = "[libdav1d @ 0x424ce500] [error] Error parsing frame header";
    const SOUND: &str = "[aac @ 0x424ce500] [error] Input buffer exhausted before END element found";
    const WRAPPED: &str =
        "[vist#0:0/av1 @ 0x424c1d40] [dec:libdav1d @ 0x424ce500] [error] Error submitting packet";
    const CLOCK: &str =
        "[yuv4mpegpipe @ 0x56] [error] Non-monotonous DTS in output stream 0:0; previous: 9, current: 0";
    const HARMLESS: &str = "[libdav1d @ 0x424ce500] [warning] Frame size is odd";

    #[rstest]
    #[case::all_is_well(Exit::Code(0), &[], 50, Expected::About(50), None)]
    #[case::an_estimate_is_no_promise(Exit::Code(0), &[], 40, Expected::About(50), None)]
    #[case::bad_status(Exit::Code(183), &[], 50, Expected::About(50), Some("status 183"))]
    #[case::signal(Exit::Signal(11), &[], 50, Expected::About(50), Some("signal 11"))]
    #[case::cut_container(Exit::Code(0), &[CUT], 30, Expected::About(50), Some("about 50 frames were expected"))]
    #[case::flaw_in_the_container(Exit::Code(0), &[CUT], 50, Expected::About(50), None)]
    #[case::rounded_estimate(Exit::Code(0), &[CUT], 49, Expected::About(50), None)]
    #[case::cut_and_no_estimate(Exit::Code(0), &[CUT], 30, Expected::Unknown, Some("the container is damaged"))]
    #[case::concealed_frame(Exit::Code(0), &[DECODER], 50, Expected::About(50), Some("the decoder reported damage"))]
    #[case::concealed_frame_newer_words(Exit::Code(0), &[WRAPPED], 50, Expected::Unknown, Some("the decoder reported"))]
    #[case::sound_does_not_matter(Exit::Code(0), &[SOUND], 30, Expected::About(50), None)]
    #[case::warnings_do_not_matter(Exit::Code(0), &[HARMLESS], 30, Expected::Unknown, None)]
    #[case::exact_and_short(Exit::Code(0), &[], 49, Expected::Exactly(50), Some("50 frames were expected"))]
    #[case::exact(Exit::Code(0), &[], 50, Expected::Exactly(50), None)]
    #[case::changed_shape(Exit::Code(1), &[CLOCK], 9, Expected::Unknown, Some("changes here"))]
    fn an_end_is_proper_only_if_nothing_speaks_against_it(
        #[case] exit: Exit,
        #[case] lines: &[&str],
        #[case] frames: u64,
        #[case] expected: Expected,
        #[case] reason: Option<&str>,
    ) {
        let found = verdict(exit, &log_of(lines), frames, expected);
        match (&found, reason) {
            (None, None) => {}
            (Some(found), Some(reason)) if found.contains(reason) => {}
            _ => panic!("{found:?}, expected {reason:?}"),
        }
    }

    #[test]
    fn the_tail_is_bounded_and_without_addresses() {
        let mut log = log_of(&[]);
        assert_eq!(log.tail(), "ffmpeg said nothing");
        for index in 0..1000 {
            log.push(format!("[h264 @ 0x55c0dedde740] [error] line {index} {}", "x".repeat(5000)).as_bytes());
        }
        let tail = log.tail();
        assert_eq!(tail.lines().count(), LINES);
        assert!(tail.len() < LINES * (LINE_BYTES + 1));
        assert!(tail.starts_with("[h264] [error] line 988 x"), "{tail}");
        log.push(b"\xff\xfe broken \xc3");
        assert!(log.tail().contains("broken"));
    }
}
