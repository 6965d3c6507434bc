//! Frames that a decoder writes to a pipe.

use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdout, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::super::activity::{CountingReader, ReadActivity};
use super::super::error::InputError;
use super::super::planes::{PlaneError, PlaneReader};
use super::super::probe::{Probe, SampleStorage};
use super::super::stop::StopHandle;
use super::super::tools::Tools;
use super::super::{Clip, FrameSource, ReadOptions, local, y4m};
use super::arguments;
use super::child::Child;
use super::log::{self, DecoderExit, DecoderLog, ExpectedFrames};
use crate::picture::{PictureFormat, PictureMut};

/// Buffer for headers and for rows with padding between them. Requests that are larger bypass it.
const BUFFER_BYTES: usize = 32 * 1024;

#[derive(Debug)]
pub(in crate::input) struct DecoderSource {
    path: PathBuf,
    child: Arc<Child>,
    reader: BufReader<CountingReader<ChildStdout>>,
    activity: ReadActivity,
    log_reader: Option<JoinHandle<DecoderLog>>,
    planes: PlaneReader,
    delivered: PictureFormat,
    wanted: PictureFormat,
    expected: ExpectedFrames,
    state: StreamState,
    skip: u64,
    /// The next frame, counted from the start of the clip.
    frame: u64,
    /// Frames that may still be read.
    left: u64,
    stop_handle: StopHandle,
}

/// How far the Y4M stream is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    BeforeHeader,
    InFrames,
    Ended,
}

impl DecoderSource {
    /// Starts the decoder. The Y4M header is read with the first frame, so that the source can be stopped from the start.
    pub(in crate::input) fn open(
        clip: &Clip,
        probe: &Probe,
        options: &ReadOptions,
        tools: &Tools,
    ) -> Result<Self, InputError> {
        let coded = matches!(probe.storage, SampleStorage::Coded { .. });
        let purpose = if coded { "to decode" } else { "to scale or convert" };
        let program = tools.need_ffmpeg(&clip.path, purpose)?;
        // The bit depth is raised after decoding, so that every kind of input reaches it in the same way.
        let delivered = PictureFormat { depth: probe.format.depth, ..options.format };
        let (decoders, demuxer) = log_names(probe);
        let expected = expected(clip, probe, &options.activity)?;
        let (child, stdout, stderr) = Child::start(
            program,
            &arguments::decode(clip, probe, options, delivered),
            Stdio::null(),
            tools.killer(),
        )
        .map_err(|source| InputError::FfmpegStart {
            path: clip.path.clone(),
            purpose,
            program: program.to_owned(),
            source,
        })?;
        let child = Arc::new(child);
        Ok(Self {
            path: clip.path.clone(),
            stop_handle: StopHandle::of_child(Arc::clone(&child)),
            child,
            reader: BufReader::with_capacity(
                BUFFER_BYTES,
                CountingReader::new(stdout, options.activity.clone()),
            ),
            activity: options.activity.clone(),
            log_reader: Some(std::thread::spawn(move || {
                read_log(stderr, DecoderLog::new(decoders, demuxer))
            })),
            planes: PlaneReader::new(delivered, options.format),
            delivered,
            wanted: options.format,
            expected,
            state: StreamState::BeforeHeader,
            skip: options.skip,
            frame: 0,
            left: options.take.unwrap_or(u64::MAX),
        })
    }

    /// Moves to the samples of the next frame to be read; `false` at the end of the clip.
    fn advance(&mut self) -> Result<bool, InputError> {
        if self.stop_handle.is_stopped() {
            return Err(InputError::Stopped { path: self.path.clone() });
        }
        if self.left == 0 || self.state == StreamState::Ended {
            return Ok(false);
        }
        if self.state == StreamState::BeforeHeader {
            self.read_header()?;
            self.state = StreamState::InFrames;
        }
        while self.frame < self.skip {
            if !self.read_frame_header()? {
                return Ok(false);
            }
            self.discard()?;
        }
        self.read_frame_header()
    }

    fn read_header(&mut self) -> Result<(), InputError> {
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
        Ok(())
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

    /// Skips the samples of a frame whose header is read.
    fn discard(&mut self) -> Result<(), InputError> {
        let bytes = self.delivered.bytes() as u64;
        let skipped = io::copy(&mut (&mut self.reader).take(bytes), &mut io::sink())
            .map_err(|source| InputError::Read { path: self.path.clone(), frame: self.frame, source })?;
        if skipped < bytes {
            self.finish(true)?;
        }
        self.frame += 1;
        self.activity.add_frame();
        Ok(())
    }

    /// If the decoder ended, its error is the cause of a header that cannot be parsed, and the better message.
    fn unless_ended<T>(&mut self, result: Result<T, InputError>) -> Result<T, InputError> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => {
                if self.is_at_end()? {
                    self.finish(true)?;
                }
                self.state = StreamState::Ended;
                Err(error)
            }
        }
    }

    /// The decoder closed the pipe. This is an error unless the clip ended there, which it cannot within a frame.
    fn finish(&mut self, within_frame: bool) -> Result<(), InputError> {
        self.state = StreamState::Ended;
        let log_reader = self.log_reader.take().map(JoinHandle::join);
        let exit = self.child.reap();
        if self.stop_handle.is_stopped() {
            return Err(InputError::Stopped { path: self.path.clone() });
        }
        let Some(Ok(log)) = log_reader else {
            return Err(self.failed("its log is lost".to_owned(), exit, String::new()));
        };
        let ended = log::premature_end(exit, &log, self.frame, self.expected)
            .or_else(|| within_frame.then(|| "ffmpeg ended within a frame".to_owned()));
        ended.map_or(Ok(()), |ended| Err(self.failed(ended, exit, log.tail())))
    }

    fn failed(&self, ended: String, exit: DecoderExit, stderr: String) -> InputError {
        let signal = match exit {
            DecoderExit::Signal(signal) => Some(signal),
            DecoderExit::Code(_) | DecoderExit::Unknown => None,
        };
        InputError::Decoder { path: self.path.clone(), frame: self.frame, ended, signal, stderr }
    }
}

impl FrameSource for DecoderSource {
    fn format(&self) -> PictureFormat {
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
        self.activity.add_frame();
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

    fn stop_handle(&self) -> StopHandle {
        self.stop_handle.clone()
    }
}

impl Drop for DecoderSource {
    fn drop(&mut self) {
        // A stop handle may keep the child longer than this source; the process itself must end here.
        self.child.kill();
        self.child.reap();
        if let Some(log_reader) = self.log_reader.take() {
            _ = log_reader.join();
        }
    }
}

/// The names of the decoder and of the demuxer in the log.
fn log_names(probe: &Probe) -> (Vec<String>, String) {
    match &probe.storage {
        SampleStorage::Raw => (vec!["rawvideo".to_owned()], "rawvideo".to_owned()),
        SampleStorage::Y4m { .. } => (vec!["rawvideo".to_owned()], "yuv4mpegpipe".to_owned()),
        SampleStorage::Coded { demuxer, decoder, .. } => {
            (vec![probe.codec.clone(), decoder.clone()], demuxer.clone())
        }
    }
}

/// How many frames the clip should have. If the size of a Y4M file does not tell, its frames are counted here, because
/// `ffmpeg` does not report that such a file is cut off.
fn expected(clip: &Clip, probe: &Probe, activity: &ReadActivity) -> Result<ExpectedFrames, InputError> {
    Ok(match (probe.frames, &probe.storage, probe.frames_estimate) {
        (Some(frames), _, _) => ExpectedFrames::Exactly(frames),
        (None, SampleStorage::Y4m { .. }, _) => ExpectedFrames::Exactly(
            local::FileSource::open(
                clip,
                probe,
                &ReadOptions { activity: activity.clone(), ..ReadOptions::whole(probe.format) },
            )?
            .count()?,
        ),
        (None, _, Some(estimate)) => ExpectedFrames::About(estimate),
        (None, _, None) => ExpectedFrames::Unknown,
    })
}

/// Reads the whole log of the decoder, so that a full pipe never blocks it.
fn read_log(stderr: ChildStderr, mut log: DecoderLog) -> DecoderLog {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    // A line without an end is read in blocks, so memory is bounded whatever a decoder prints.
    while matches!((&mut lines).take(4096).read_until(b'\n', &mut line), Ok(1..)) {
        log.push(&line);
        line.clear();
    }
    log
}
