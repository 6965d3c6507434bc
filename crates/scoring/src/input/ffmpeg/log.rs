//! The log of a decoder: its last lines for messages, and whether it reported errors. Pure.

use std::collections::VecDeque;

/// Lines kept for the message.
const MAX_LINES: usize = 12;

const MAX_LINE_BYTES: usize = 300;

#[derive(Debug)]
pub(super) struct DecoderLog {
    lines: VecDeque<String>,
    /// Names of the video decoder in the log.
    decoders: Vec<String>,
    /// Name of the demuxer in the log.
    demuxer: String,
    /// The decoder reported an error: a picture is missing or was invented.
    pub(super) decoder_failed: bool,
    /// The demuxer reported an error: the rest of the clip may be missing.
    pub(super) demuxer_failed: bool,
    /// The format of the pictures changed within the clip.
    pub(super) format_changed: bool,
}

impl DecoderLog {
    pub(super) fn new(decoders: Vec<String>, demuxer: String) -> Self {
        Self {
            lines: VecDeque::with_capacity(MAX_LINES),
            decoders,
            demuxer,
            decoder_failed: false,
            demuxer_failed: false,
            format_changed: false,
        }
    }

    /// Adds one line, as written with `-loglevel level+warning`: `[h264 @ 0x55] [error] message`.
    pub(super) fn push(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(&line[..line.len().min(MAX_LINE_BYTES)]).trim().to_owned();
        if line.is_empty() {
            return;
        }
        if let Some((sources, text)) =
            ["[error]", "[fatal]", "[panic]"].iter().find_map(|level| line.split_once(level))
        {
            // A filter numbers the frames and starts again when the format of the pictures changes; the writer reports the
            // number that is out of order.
            self.format_changed |= text.contains("Non-monoton");
            for source in sources.split(['[', ']']).filter_map(|source| source.split(" @ ").next()) {
                self.decoder_failed |= source.starts_with("dec:")
                    || source.starts_with("vist#")
                    || self.decoders.iter().any(|name| name == source);
                self.demuxer_failed |= source == self.demuxer || source.starts_with("in#");
            }
        }
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(without_addresses(&line));
    }

    /// The last lines.
    pub(super) fn tail(&self) -> String {
        if self.lines.is_empty() {
            return "ffmpeg wrote no message".to_owned();
        }
        self.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// `[h264 @ 0x55c0dedde740] [error] x` becomes `[h264] [error] x`, so that equal messages look equal.
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

/// Why the decoder ended before the end of the clip; `None` if it decoded the whole clip.
///
/// With `-xerror` most damage makes ffmpeg exit with an error, but a container that is cut off between two packets and damage
/// in the last frames do not. Then the log decides. An error of the decoder always counts, because it has concealed a frame.
/// An error of the demuxer counts if frames are missing or their number is unknown, because many files have a harmless flaw.
pub(super) fn premature_end(
    exit: DecoderExit,
    log: &DecoderLog,
    frames: u64,
    expected: ExpectedFrames,
) -> Option<String> {
    if log.format_changed {
        return Some("the size or the pixel format of its pictures changes here".to_owned());
    }
    match exit {
        DecoderExit::Code(0) => {}
        DecoderExit::Code(code) => return Some(format!("ffmpeg exited with status {code}")),
        DecoderExit::Signal(signal) => return Some(format!("ffmpeg was killed by signal {signal}")),
        DecoderExit::Unknown => return Some("ffmpeg ended in an unknown way".to_owned()),
    }
    if log.decoder_failed {
        return Some("the decoder reported damage".to_owned());
    }
    match expected {
        ExpectedFrames::Exactly(count) if count != frames => Some(format!("{count} frames were expected")),
        ExpectedFrames::About(count) if log.demuxer_failed && frames + 1 < count => {
            Some(format!("the container is damaged; about {count} frames were expected"))
        }
        ExpectedFrames::Unknown if log.demuxer_failed => Some("the container is damaged".to_owned()),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecoderExit {
    Code(i32),
    Signal(i32),
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedFrames {
    Exactly(u64),
    /// Estimated by duration and frame rate.
    About(u64),
    Unknown,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn log_of(lines: &[&str]) -> DecoderLog {
        let mut log =
            DecoderLog::new(vec!["av1".to_owned(), "libdav1d".to_owned()], "matroska,webm".to_owned());
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
    #[case::all_is_well(DecoderExit::Code(0), &[], 50, ExpectedFrames::About(50), None)]
    #[case::an_estimate_is_no_promise(DecoderExit::Code(0), &[], 40, ExpectedFrames::About(50), None)]
    #[case::bad_status(DecoderExit::Code(183), &[], 50, ExpectedFrames::About(50), Some("status 183"))]
    #[case::signal(DecoderExit::Signal(11), &[], 50, ExpectedFrames::About(50), Some("signal 11"))]
    #[case::cut_container(DecoderExit::Code(0), &[CUT], 30, ExpectedFrames::About(50), Some("about 50 frames were expected"))]
    #[case::flaw_in_the_container(DecoderExit::Code(0), &[CUT], 50, ExpectedFrames::About(50), None)]
    #[case::rounded_estimate(DecoderExit::Code(0), &[CUT], 49, ExpectedFrames::About(50), None)]
    #[case::cut_and_no_estimate(DecoderExit::Code(0), &[CUT], 30, ExpectedFrames::Unknown, Some("the container is damaged"))]
    #[case::concealed_frame(DecoderExit::Code(0), &[DECODER], 50, ExpectedFrames::About(50), Some("the decoder reported damage"))]
    #[case::concealed_frame_newer_words(DecoderExit::Code(0), &[WRAPPED], 50, ExpectedFrames::Unknown, Some("the decoder reported"))]
    #[case::sound_does_not_matter(DecoderExit::Code(0), &[SOUND], 30, ExpectedFrames::About(50), None)]
    #[case::warnings_do_not_matter(DecoderExit::Code(0), &[HARMLESS], 30, ExpectedFrames::Unknown, None)]
    #[case::exact_and_short(DecoderExit::Code(0), &[], 49, ExpectedFrames::Exactly(50), Some("50 frames were expected"))]
    #[case::exact(DecoderExit::Code(0), &[], 50, ExpectedFrames::Exactly(50), None)]
    #[case::changed_shape(DecoderExit::Code(1), &[CLOCK], 9, ExpectedFrames::Unknown, Some("changes here"))]
    fn only_a_clean_exit_and_log_end_a_clip(
        #[case] exit: DecoderExit,
        #[case] lines: &[&str],
        #[case] frames: u64,
        #[case] expected: ExpectedFrames,
        #[case] reason: Option<&str>,
    ) {
        let found = premature_end(exit, &log_of(lines), frames, expected);
        match (&found, reason) {
            (None, None) => {}
            (Some(found), Some(reason)) if found.contains(reason) => {}
            _ => panic!("{found:?}, expected {reason:?}"),
        }
    }

    #[test]
    fn the_tail_is_bounded_and_without_addresses() {
        let mut log = log_of(&[]);
        assert_eq!(log.tail(), "ffmpeg wrote no message");
        for index in 0..1000 {
            log.push(format!("[h264 @ 0x55c0dedde740] [error] line {index} {}", "x".repeat(5000)).as_bytes());
        }
        let tail = log.tail();
        assert_eq!(tail.lines().count(), MAX_LINES);
        assert!(tail.len() < MAX_LINES * (MAX_LINE_BYTES + 1));
        assert!(tail.starts_with("[h264] [error] line 988 x"), "{tail}");
        log.push(b"\xff\xfe broken \xc3");
        assert!(log.tail().contains("broken"));
    }
}
