//! Frames that a decoder writes into a pipe.

use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdout, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::super::error::InputError;
use super::super::planes::{PlaneError, PlaneReader};
use super::super::probe::{Probe, Storage};
use super::super::stop::Stopper;
use super::super::tools::Tools;
use super::super::{Clip, FrameSource, Reading, local, y4m};
use super::arguments;
use super::child::Child;
use super::log::{self, Exit, Expected, Log};
use crate::picture::{Format, PictureMut};

/// What headers and rows that do not lie next to each other are read through. Larger requests pass it by.
const BUFFER: usize = 32 * 1024;

/// A clip that is being decoded.
#[derive(Debug)]
pub(in crate::input) struct Source {
    path: PathBuf,
    /// Before the reader and the listener: killing the decoder is what lets both come to their end.
    child: Arc<Child>,
    reader: BufReader<ChildStdout>,
    listener: Option<JoinHandle<Log>>,
    planes: PlaneReader,
    delivered: Format,
    wanted: Format,
    expected: Expected,
    state: State,
    skip: u64,
    /// The next frame, counted from the start of the clip.
    frame: u64,
    /// Frames that may still be read.
    left: u64,
    stopper: Stopper,
}

/// Where in the stream we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing is read yet.
    Fresh,
    /// The header is read.
    Running,
    /// Nothing more will come.
    Ended,
}

impl Source {
    /// Starts the decoder. What it says is read with the first frame, so that it can be stopped from the very start.
    pub(in crate::input) fn open(
        clip: &Clip,
        probe: &Probe,
        reading: &Reading,
        tools: &Tools,
    ) -> Result<Self, InputError> {
        let coded = matches!(probe.storage, Storage::Coded { .. });
        let purpose = if coded { "to decode" } else { "to scale or convert" };
        let program = tools.need_ffmpeg(&clip.path, purpose)?;
        // Widened by us after decoding, so that a depth is reached in the same way for every kind of input.
        let delivered = Format { depth: probe.format.depth, ..reading.format };
        let (names, demuxer) = speakers(probe);
        let expected = expected(clip, probe)?;
        let (child, stdout, stderr) =
            Child::start(program, &arguments::decode(clip, probe, reading, delivered), Stdio::null())
                .map_err(|source| InputError::FfmpegStart {
                    path: clip.path.clone(),
                    purpose,
                    program: program.to_owned(),
                    source,
                })?;
        let child = Arc::new(child);
        Ok(Self {
            path: clip.path.clone(),
            stopper: Stopper::of_child(Arc::clone(&child)),
            child,
            reader: BufReader::with_capacity(BUFFER, stdout),
            listener: Some(std::thread::spawn(move || listen(stderr, Log::new(names, demuxer)))),
            planes: PlaneReader::new(delivered, reading.format),
            delivered,
            wanted: reading.format,
            expected,
            state: State::Fresh,
            skip: reading.skip,
            frame: 0,
            left: reading.take.unwrap_or(u64::MAX),
        })
    }

    /// Comes to the samples of the next frame wanted; `false` at the proper end.
    fn advance(&mut self) -> Result<bool, InputError> {
        if self.stopper.is_stopped() {
            return Err(InputError::Stopped { path: self.path.clone() });
        }
        if self.left == 0 || self.state == State::Ended {
            return Ok(false);
        }
        if self.state == State::Fresh {
            if !self.read_header()? {
                return Ok(false);
            }
            self.state = State::Running;
        }
        while self.frame < self.skip {
            if !self.read_frame_header()? {
                return Ok(false);
            }
            self.discard()?;
        }
        self.read_frame_header()
    }

    fn read_header(&mut self) -> Result<bool, InputError> {
        if self.is_at_end()? {
            self.finish(false)?;
            return Err(InputError::NoFrames { path: self.path.clone() });
        }
        let header = y4m::read_header(&mut self.reader, &self.path);
        let (header, _) = self.unless_ended(header)?;
        if header.format != self.delivered {
            let (found, wanted) = (header.format, self.delivered);
            return Err(InputError::Delivered { path: self.path.clone(), found, wanted });
        }
        Ok(true)
    }

    fn read_frame_header(&mut self) -> Result<bool, InputError> {
        if self.is_at_end()? {
            self.finish(false)?;
            return match self.frame {
                0 => Err(InputError::NoFrames { path: self.path.clone() }),
                _ => Ok(false),
            };
        }
        let header = y4m::read_frame_header(&mut self.reader, &self.path, self.frame);
        self.unless_ended(header)
    }

    /// Whether the decoder has closed its pipe.
    fn is_at_end(&mut self) -> Result<bool, InputError> {
        loop {
            match self.reader.fill_buf() {
                Ok(buffer) => return Ok(buffer.is_empty()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(InputError::Read { path: self.path.clone(), frame: self.frame, source });
                }
            }
        }
    }

    /// Passes over the samples of a frame whose header is read.
    fn discard(&mut self) -> Result<(), InputError> {
        let bytes = self.delivered.bytes() as u64;
        let passed = io::copy(&mut (&mut self.reader).take(bytes), &mut io::sink())
            .map_err(|source| InputError::Read { path: self.path.clone(), frame: self.frame, source })?;
        if passed < bytes {
            self.finish(true)?;
        }
        self.frame += 1;
        Ok(())
    }

    /// Something that failed to parse: if the decoder died, that is the reason, and the better message.
    fn unless_ended<T>(&mut self, result: Result<T, InputError>) -> Result<T, InputError> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => {
                if self.is_at_end()? {
                    self.finish(true)?;
                }
                self.state = State::Ended;
                Err(error)
            }
        }
    }

    /// The pipe is closed: finds out whether that is the end of the clip. Within a frame it cannot be.
    fn finish(&mut self, within_frame: bool) -> Result<(), InputError> {
        self.state = State::Ended;
        let listener = self.listener.take().map(JoinHandle::join);
        let exit = self.child.reap();
        if self.stopper.is_stopped() {
            return Err(InputError::Stopped { path: self.path.clone() });
        }
        let Some(Ok(log)) = listener else {
            return Err(self.failed("its messages are lost".to_owned(), exit, String::new()));
        };
        let ended = log::verdict(exit, &log, self.frame, self.expected)
            .or_else(|| within_frame.then(|| "ffmpeg ended within a frame".to_owned()));
        ended.map_or(Ok(()), |ended| Err(self.failed(ended, exit, log.tail())))
    }

    fn failed(&self, ended: String, exit: Exit, stderr: String) -> InputError {
        let signal = match exit {
            Exit::Signal(signal) => Some(signal),
            Exit::Code(_) | Exit::Unknown => None,
        };
        InputError::Decoder { path: self.path.clone(), frame: self.frame, ended, signal, stderr }
    }
}

impl FrameSource for Source {
    fn format(&self) -> Format {
        self.wanted
    }

    fn read(&mut self, picture: &mut PictureMut<'_>) -> Result<bool, InputError> {
        if !self.advance()? {
            return Ok(false);
        }
        match self.planes.read(&mut self.reader, picture) {
            Ok(()) => {}
            Err(PlaneError::Short(_)) => self.finish(true)?,
            Err(error) => return Err(error.at(&self.path, self.frame, self.delivered, self.wanted)),
        }
        self.frame += 1;
        self.left -= 1;
        Ok(true)
    }

    fn skip(&mut self) -> Result<bool, InputError> {
        if !self.advance()? {
            return Ok(false);
        }
        self.discard()?;
        self.left -= 1;
        Ok(true)
    }

    fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // A stopper may keep the child's handle longer than we live; the process itself must end here.
        self.child.kill();
        self.child.reap();
        if let Some(listener) = self.listener.take() {
            _ = listener.join();
        }
    }
}

/// The names under which decoder and container speak in the log.
fn speakers(probe: &Probe) -> (Vec<String>, String) {
    match &probe.storage {
        Storage::Raw => (vec!["rawvideo".to_owned()], "rawvideo".to_owned()),
        Storage::Y4m { .. } => (vec!["rawvideo".to_owned()], "yuv4mpegpipe".to_owned()),
        Storage::Coded { demuxer, decoder, .. } => {
            (vec![probe.codec.clone(), decoder.clone()], demuxer.clone())
        }
    }
}

/// How many frames there should be. A Y4M file whose size does not tell is gone through once: `ffmpeg` ends quietly
/// where such a file is cut off.
fn expected(clip: &Clip, probe: &Probe) -> Result<Expected, InputError> {
    Ok(match (probe.frames, &probe.storage, probe.frames_estimate) {
        (Some(frames), _, _) => Expected::Exactly(frames),
        (None, Storage::Y4m { .. }, _) => {
            Expected::Exactly(local::Source::open(clip, probe, &Reading::whole(probe.format))?.count()?)
        }
        (None, _, Some(estimate)) => Expected::About(estimate),
        (None, _, None) => Expected::Unknown,
    })
}

/// Reads everything that the decoder says, so that it never waits for us.
fn listen(stderr: ChildStderr, mut log: Log) -> Log {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    // A line without an end is taken in pieces: memory stays bounded whatever a decoder prints.
    while matches!((&mut lines).take(4096).read_until(b'\n', &mut line), Ok(1..)) {
        log.push(&line);
        line.clear();
    }
    log
}
