//! Moves the samples of one frame from a stream into a picture.

use std::io::{self, Read};
use std::path::Path;

use vmafx_job::BitDepth;

use super::error::InputError;
use crate::picture::{PictureFormat, PictureMut, PlaneMut};

/// Bytes read at a time: few enough to be still in the CPU cache when the samples are checked, and several times what a
/// reader buffers, so that most reads bypass the buffer (three times as fast). Even, so that no sample is split.
const BLOCK_BYTES: usize = 256 * 1024;

#[derive(Debug)]
pub(super) enum PlaneError {
    /// The stream ended after this many bytes of the frame.
    Short(u64),
    /// A sample has more bits than the format allows.
    TooDeep(u16),
    /// The picture does not have the format of the source.
    WrongPicture,
    Io(io::Error),
}

impl PlaneError {
    /// The error with the file and the frame.
    pub(super) fn at(
        self,
        path: &Path,
        frame: u64,
        stored: PictureFormat,
        wanted: PictureFormat,
    ) -> InputError {
        let path = path.to_owned();
        match self {
            Self::Short(found) => {
                InputError::Truncated { path, frame, found, expected: stored.bytes() as u64 }
            }
            Self::TooDeep(sample) => InputError::TooDeep { path, frame, sample, format: stored },
            Self::WrongPicture => InputError::PictureMismatch { path, format: wanted },
            Self::Io(source) => InputError::Read { path, frame, source },
        }
    }
}

impl From<io::Error> for PlaneError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads pictures of one bit depth into pictures of the same or a higher one.
#[derive(Debug)]
pub(super) struct PlaneReader {
    stored: PictureFormat,
    wanted: PictureFormat,
    /// One row of 8-bit samples that are about to be widened to two bytes each.
    row: Vec<u8>,
}

impl PlaneReader {
    /// `wanted` may differ from `stored` only by a higher bit depth.
    pub(super) fn new(stored: PictureFormat, wanted: PictureFormat) -> Self {
        Self { stored, wanted, row: Vec::new() }
    }

    /// Fills the picture with the next frame of `stream`.
    pub(super) fn read(
        &mut self,
        stream: &mut impl Read,
        picture: &mut PictureMut<'_>,
    ) -> Result<(), PlaneError> {
        let mut before = 0;
        for (index, plane) in picture.iter_mut().enumerate() {
            if !fits(plane, self.wanted, index) {
                return Err(PlaneError::WrongPicture);
            }
            self.read_plane(stream, plane).map_err(|error| after(error, before))?;
            before += self.stored.plane_bytes(index) as u64;
        }
        Ok(())
    }

    fn read_plane(&mut self, stream: &mut impl Read, plane: &mut PlaneMut<'_>) -> Result<(), PlaneError> {
        let shift = self.wanted.depth.bits() - self.stored.depth.bits();
        let widens = self.stored.depth == BitDepth::Eight && shift > 0;
        if !widens && plane.stride == plane.row_bytes {
            let bytes = plane.row_bytes * plane.rows;
            return read_samples(stream, &mut plane.data[..bytes], self.stored.depth, shift)
                .map_err(|error| after(error, 0));
        }
        self.row.resize(plane.row_bytes / 2, 0);
        for (index, row) in plane.rows_mut().enumerate() {
            let stored_bytes = if widens { row.len() / 2 } else { row.len() };
            let before = (index * stored_bytes) as u64;
            if widens {
                read_samples(stream, &mut self.row, BitDepth::Eight, 0)
                    .map_err(|error| after(error, before))?;
                widen(&self.row, row, shift);
            } else {
                read_samples(stream, row, self.stored.depth, shift).map_err(|error| after(error, before))?;
            }
        }
        Ok(())
    }
}

/// Whether the buffers can hold plane `index` of a picture.
fn fits(plane: &PlaneMut<'_>, format: PictureFormat, index: usize) -> bool {
    let (width, height) = format.plane(index);
    let row_bytes = width * format.depth.bytes();
    plane.row_bytes == row_bytes
        && plane.rows == height
        && plane.stride >= row_bytes
        && plane.data.len() >= plane.stride * height.saturating_sub(1) + row_bytes
}

/// The error with the bytes of the frame that were read before.
fn after(error: PlaneError, before: u64) -> PlaneError {
    match error {
        PlaneError::Short(found) => PlaneError::Short(before + found),
        other => other,
    }
}

/// Fills `buffer` and shifts every sample. libvmaf uses samples as indices of tables, so a sample that is too large for its
/// bit depth must not reach it; such a sample also means that the description of the file is wrong.
fn read_samples(
    stream: &mut impl Read,
    buffer: &mut [u8],
    depth: BitDepth,
    shift: u32,
) -> Result<(), PlaneError> {
    let mut before = 0;
    for block in buffer.chunks_mut(BLOCK_BYTES) {
        let read = read_full(stream, block)?;
        before += read as u64;
        if read < block.len() {
            return Err(PlaneError::Short(before));
        }
        if matches!(depth, BitDepth::Ten | BitDepth::Twelve) {
            let used = block.as_chunks::<2>().0.iter().fold(0, |used, &low| used | u16::from_le_bytes(low));
            if used >> depth.bits() != 0 {
                return Err(PlaneError::TooDeep(largest(block)));
            }
        }
        if shift > 0 {
            for sample in block.as_chunks_mut::<2>().0 {
                *sample = (u16::from_le_bytes(*sample) << shift).to_le_bytes();
            }
        }
    }
    Ok(())
}

fn largest(samples: &[u8]) -> u16 {
    samples.as_chunks::<2>().0.iter().map(|&low| u16::from_le_bytes(low)).max().unwrap_or_default()
}

/// Widens samples from one byte to two and shifts them.
fn widen(narrow: &[u8], wide: &mut [u8], shift: u32) {
    for (sample, &value) in wide.as_chunks_mut::<2>().0.iter_mut().zip(narrow) {
        *sample = (u16::from(value) << shift).to_le_bytes();
    }
}

/// Reads until the buffer is full or the stream ends; returns the number of bytes.
pub(super) fn read_full(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
