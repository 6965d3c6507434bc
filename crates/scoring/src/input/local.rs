//! Frames of files that this process reads itself: raw planar YUV and Y4M.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::error::InputError;
use super::hashing::HashingReader;
use super::planes::{PlaneError, PlaneReader};
use super::probe::{Probe, Storage, open_regular};
use super::stop::Stopper;
use super::{Clip, FrameSource, Reading, y4m};
use crate::picture::{Format, PictureMut};

/// What rows that do not lie next to each other are read through. Larger requests pass it by.
const BUFFER: usize = 32 * 1024;

/// A file that is being read.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    reader: BufReader<HashingReader>,
    planes: PlaneReader,
    stored: Format,
    wanted: Format,
    headers: bool,
    /// The next frame, counted from the start of the file.
    frame: u64,
    /// Frames that may still be read.
    left: u64,
    stopper: Stopper,
}

impl Source {
    /// Opens the file and moves to the first frame wanted.
    pub(super) fn open(clip: &Clip, probe: &Probe, reading: &Reading) -> Result<Self, InputError> {
        let (file, metadata) = open_regular(&clip.path)?;
        let file = match &reading.digests {
            // Who starts in the middle cannot hash the whole.
            Some(book) if reading.skip == 0 && book.claim(&clip.path) => {
                HashingReader::hashing(file, clip.path.clone(), book.clone())
            }
            _ => HashingReader::plain(file),
        };
        let mut source = Self {
            path: clip.path.clone(),
            reader: BufReader::with_capacity(BUFFER, file),
            planes: PlaneReader::new(probe.format, reading.format),
            stored: probe.format,
            wanted: reading.format,
            headers: matches!(probe.storage, Storage::Y4m { .. }),
            frame: 0,
            left: reading.take.unwrap_or(u64::MAX),
            stopper: Stopper::local(),
        };
        source.start(probe, reading.skip, metadata.len())?;
        Ok(source)
    }

    /// Goes to frame `skip`, or to the end when there are fewer: at once where all frames have one size.
    fn start(&mut self, probe: &Probe, skip: u64, size: u64) -> Result<(), InputError> {
        let (start, step) = match probe.storage {
            Storage::Y4m { start } => (start, y4m::plain_frame_bytes(self.stored)),
            _ => (0, self.stored.bytes() as u64),
        };
        if skip == 0 {
            return self.pass_through(start).map(|_| ());
        }
        if let Some(frames) = probe.frames {
            let skip = skip.min(frames);
            self.frame = skip;
            return self.seek(SeekFrom::Start(size.min(start.saturating_add(skip.saturating_mul(step)))));
        }
        self.seek(SeekFrom::Start(start))?;
        while self.frame < skip && self.pass_over(size)? {}
        Ok(())
    }

    /// Counts the frames from here to the end, and finds out whether they are all whole.
    pub(super) fn count(mut self) -> Result<u64, InputError> {
        let size = self.reader.get_ref().metadata().map_err(|source| self.failed(source))?.len();
        while self.pass_over(size)? {}
        Ok(self.frame)
    }

    /// Passes over one frame of a file of this size.
    fn pass_over(&mut self, size: u64) -> Result<bool, InputError> {
        if self.headers && !y4m::read_frame_header(&mut self.reader, &self.path, self.frame)? {
            return Ok(false);
        }
        let (bytes, hashing) = (self.stored.bytes() as u64, self.reader.get_ref().is_hashing());
        let there = if hashing {
            self.pass_through(bytes)?
        } else {
            // Asked because a seek past the end succeeds.
            let here = self.reader.stream_position().map_err(|source| self.failed(source))?;
            size.saturating_sub(here).min(bytes)
        };
        if there == 0 && !self.headers {
            return Ok(false);
        }
        if there < bytes {
            return Err(self.truncated(there));
        }
        if !hashing {
            self.reader.seek_relative(bytes.cast_signed()).map_err(|source| self.failed(source))?;
        }
        self.frame += 1;
        Ok(true)
    }

    /// Reads bytes that nobody wants to see; how many there were.
    fn pass_through(&mut self, bytes: u64) -> Result<u64, InputError> {
        io::copy(&mut (&mut self.reader).take(bytes), &mut io::sink()).map_err(|source| self.failed(source))
    }

    fn seek(&mut self, to: SeekFrom) -> Result<(), InputError> {
        self.reader.seek(to).map(|_| ()).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> InputError {
        InputError::Read { path: self.path.clone(), frame: self.frame, source }
    }

    fn truncated(&self, found: u64) -> InputError {
        let expected = self.stored.bytes() as u64;
        InputError::Truncated { path: self.path.clone(), frame: self.frame, found, expected }
    }

    /// Whether there may be another frame.
    fn goes_on(&self) -> Result<bool, InputError> {
        if self.stopper.is_stopped() {
            return Err(InputError::Stopped { path: self.path.clone() });
        }
        Ok(self.left > 0)
    }
}

impl FrameSource for Source {
    fn format(&self) -> Format {
        self.wanted
    }

    fn read(&mut self, picture: &mut PictureMut<'_>) -> Result<bool, InputError> {
        if !self.goes_on()? {
            return Ok(false);
        }
        if self.headers && !y4m::read_frame_header(&mut self.reader, &self.path, self.frame)? {
            return Ok(false);
        }
        match self.planes.read(&mut self.reader, picture) {
            Ok(()) => {}
            // Without headers the end of the last frame is the end of the file.
            Err(PlaneError::Short(0)) if !self.headers => return Ok(false),
            Err(error) => return Err(error.at(&self.path, self.frame, self.stored, self.wanted)),
        }
        self.frame += 1;
        self.left -= 1;
        Ok(true)
    }

    fn skip(&mut self) -> Result<bool, InputError> {
        if !self.goes_on()? {
            return Ok(false);
        }
        let size = self.reader.get_ref().metadata().map_err(|source| self.failed(source))?.len();
        let passed = self.pass_over(size)?;
        self.left -= u64::from(passed);
        Ok(passed)
    }

    fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }
}
