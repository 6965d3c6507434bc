//! Frames of files that this process reads itself: raw planar YUV and Y4M.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::activity::ReadActivity;
use super::error::InputError;
use super::hashing::HashingReader;
use super::planes::{PlaneError, PlaneReader};
use super::probe::{Probe, SampleStorage, open_regular};
use super::stop::StopHandle;
use super::{Clip, FrameSource, ReadOptions, y4m};
use crate::picture::{PictureFormat, PictureMut};

/// Buffer for rows with padding between them. Requests that are larger bypass it.
const BUFFER_BYTES: usize = 32 * 1024;

#[derive(Debug)]
pub(super) struct FileSource {
    path: PathBuf,
    reader: BufReader<HashingReader>,
    activity: ReadActivity,
    planes: PlaneReader,
    stored: PictureFormat,
    wanted: PictureFormat,
    /// Whether every frame begins with a header, as in Y4M.
    has_frame_headers: bool,
    /// The next frame, counted from the start of the file.
    frame: u64,
    /// Frames that may still be read.
    left: u64,
    stop_handle: StopHandle,
}

impl FileSource {
    /// Opens the file and moves to the first frame to be read.
    pub(super) fn open(clip: &Clip, probe: &Probe, options: &ReadOptions) -> Result<Self, InputError> {
        let (file, metadata) = open_regular(&clip.path)?;
        let file = match &options.digests {
            // A source that starts in the middle does not see the whole file.
            Some(digests) if options.skip == 0 && digests.claim(&clip.path) => {
                HashingReader::hashing(file, clip.path.clone(), digests.clone(), options.activity.clone())
            }
            _ => HashingReader::without_hash(file, options.activity.clone()),
        };
        let mut source = Self {
            path: clip.path.clone(),
            reader: BufReader::with_capacity(BUFFER_BYTES, file),
            activity: options.activity.clone(),
            planes: PlaneReader::new(probe.format, options.format),
            stored: probe.format,
            wanted: options.format,
            has_frame_headers: matches!(probe.storage, SampleStorage::Y4m { .. }),
            frame: 0,
            left: options.take.unwrap_or(u64::MAX),
            stop_handle: StopHandle::of_file(),
        };
        source.start(probe, options.skip, metadata.len())?;
        Ok(source)
    }

    /// Moves to frame `skip`, or to the end when there are fewer. If all frames have one size, this is one seek.
    fn start(&mut self, probe: &Probe, skip: u64, size: u64) -> Result<(), InputError> {
        let (start, step) = match probe.storage {
            SampleStorage::Y4m { start } => (start, y4m::plain_frame_bytes(self.stored)),
            _ => (0, self.stored.bytes() as u64),
        };
        if skip == 0 {
            return self.discard(start).map(|_| ());
        }
        if let Some(frames) = probe.frames {
            let skip = skip.min(frames);
            self.frame = skip;
            return self.seek(SeekFrom::Start(size.min(start.saturating_add(skip.saturating_mul(step)))));
        }
        self.seek(SeekFrom::Start(start))?;
        while self.frame < skip && self.skip_frame(size)? {}
        Ok(())
    }

    /// Counts the frames from here to the end; an error if one of them is not whole.
    pub(super) fn count(mut self) -> Result<u64, InputError> {
        let size = self.reader.get_ref().metadata().map_err(|source| self.failed(source))?.len();
        while self.skip_frame(size)? {}
        Ok(self.frame)
    }

    /// Skips one frame of a file of this size.
    fn skip_frame(&mut self, size: u64) -> Result<bool, InputError> {
        if self.has_frame_headers && !y4m::read_frame_header(&mut self.reader, &self.path, self.frame)? {
            return Ok(false);
        }
        let (bytes, hashing) = (self.stored.bytes() as u64, self.reader.get_ref().is_hashing());
        let there = if hashing {
            self.discard(bytes)?
        } else {
            // A seek past the end succeeds, so the size has to tell whether the frame is whole.
            let here = self.reader.stream_position().map_err(|source| self.failed(source))?;
            size.saturating_sub(here).min(bytes)
        };
        if there == 0 && !self.has_frame_headers {
            return Ok(false);
        }
        if there < bytes {
            return Err(self.truncated(there));
        }
        if !hashing {
            self.reader.seek_relative(bytes.cast_signed()).map_err(|source| self.failed(source))?;
        }
        self.frame += 1;
        self.activity.add_frame();
        Ok(true)
    }

    /// Reads and drops bytes; returns how many there were.
    fn discard(&mut self, bytes: u64) -> Result<u64, InputError> {
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

    /// Whether another frame may be read.
    fn may_read(&self) -> Result<bool, InputError> {
        if self.stop_handle.is_stopped() {
            return Err(InputError::Stopped { path: self.path.clone() });
        }
        Ok(self.left > 0)
    }
}

impl FrameSource for FileSource {
    fn format(&self) -> PictureFormat {
        self.wanted
    }

    fn read(&mut self, picture: &mut PictureMut<'_>) -> Result<bool, InputError> {
        if !self.may_read()? {
            return Ok(false);
        }
        if self.has_frame_headers && !y4m::read_frame_header(&mut self.reader, &self.path, self.frame)? {
            return Ok(false);
        }
        match self.planes.read(&mut self.reader, picture) {
            Ok(()) => {}
            // Without frame headers, the end of the last frame is the end of the file.
            Err(PlaneError::Short(0)) if !self.has_frame_headers => return Ok(false),
            Err(error) => return Err(error.at(&self.path, self.frame, self.stored, self.wanted)),
        }
        self.frame += 1;
        self.activity.add_frame();
        self.left -= 1;
        Ok(true)
    }

    fn skip(&mut self) -> Result<bool, InputError> {
        if !self.may_read()? {
            return Ok(false);
        }
        let size = self.reader.get_ref().metadata().map_err(|source| self.failed(source))?.len();
        let skipped = self.skip_frame(size)?;
        self.left -= u64::from(skipped);
        Ok(skipped)
    }

    fn stop_handle(&self) -> StopHandle {
        self.stop_handle.clone()
    }
}
