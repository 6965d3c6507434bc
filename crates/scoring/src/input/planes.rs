//! Moves the samples of one frame from a stream into a picture.

use std::io::{self, Read};
use std::path::Path;

use vmafx_job::BitDepth;

use super::error::InputError;
use crate::picture::{Format, PictureMut, PlaneMut};

/// Bytes read at a time: small enough to be still in the cache when they are looked at, and several times what a reader
/// buffers, so that most of them pass the buffer by (three times the speed). Even, so that a sample is never split.
const PIECE: usize = 256 * 1024;

/// Why a frame could not be read.
#[derive(Debug)]
pub(super) enum PlaneError {
    /// The stream ended after so many bytes of the frame.
    Short(u64),
    /// A sample has more bits than the format allows.
    TooDeep(u16),
    /// The picture does not have the shape that was promised.
    Room,
    /// The stream failed.
    Io(io::Error),
}

impl PlaneError {
    /// The same for people, of a frame of a file.
    pub(super) fn at(self, path: &Path, frame: u64, stored: Format, wanted: Format) -> InputError {
        let path = path.to_owned();
        match self {
            Self::Short(found) => {
                InputError::Truncated { path, frame, found, expected: stored.bytes() as u64 }
            }
            Self::TooDeep(sample) => InputError::TooDeep { path, frame, sample, format: stored },
            Self::Room => InputError::Room { path, format: wanted },
            Self::Io(source) => InputError::Read { path, frame, source },
        }
    }
}

impl From<io::Error> for PlaneError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads pictures of one depth into pictures of the same or a larger one.
#[derive(Debug)]
pub(super) struct PlaneReader {
    stored: Format,
    wanted: Format,
    /// One row of 8-bit samples that will take two bytes each.
    row: Vec<u8>,
}

impl PlaneReader {
    /// `wanted` differs from `stored` in the depth at most, and is not shallower.
    pub(super) fn new(stored: Format, wanted: Format) -> Self {
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
                return Err(PlaneError::Room);
            }
            self.read_plane(stream, plane).map_err(|error| match error {
                PlaneError::Short(found) => PlaneError::Short(before + found),
                other => other,
            })?;
            before += self.stored.plane_bytes(index) as u64;
        }
        Ok(())
    }

    fn read_plane(&mut self, stream: &mut impl Read, plane: &mut PlaneMut<'_>) -> Result<(), PlaneError> {
        let shift = self.wanted.depth.bits() - self.stored.depth.bits();
        let grows = self.stored.depth == BitDepth::Eight && shift > 0;
        if !grows && plane.stride == plane.row_bytes {
            let bytes = plane.row_bytes * plane.rows;
            return read_samples(stream, &mut plane.data[..bytes], self.stored.depth, shift)
                .map_err(|error| past(error, 0));
        }
        self.row.resize(plane.row_bytes / 2, 0);
        for (index, row) in plane.rows_mut().enumerate() {
            let stored_bytes = if grows { row.len() / 2 } else { row.len() };
            let before = (index * stored_bytes) as u64;
            if grows {
                read_samples(stream, &mut self.row, BitDepth::Eight, 0)
                    .map_err(|error| past(error, before))?;
                spread(&self.row, row, shift);
            } else {
                read_samples(stream, row, self.stored.depth, shift).map_err(|error| past(error, before))?;
            }
        }
        Ok(())
    }
}

/// Whether this is the room for plane `index` of such a picture.
fn fits(plane: &PlaneMut<'_>, format: Format, index: usize) -> bool {
    let (width, height) = format.plane(index);
    let row_bytes = width * format.depth.bytes();
    plane.row_bytes == row_bytes
        && plane.rows == height
        && plane.stride >= row_bytes
        && plane.data.len() >= plane.stride * height.saturating_sub(1) + row_bytes
}

/// The error, counted from `before` bytes earlier.
fn past(error: PlaneError, before: u64) -> PlaneError {
    match error {
        PlaneError::Short(found) => PlaneError::Short(before + found),
        other => other,
    }
}

/// Fills `room` and shifts every sample. libvmaf uses samples as indices of tables, so one that is too large for its
/// depth must not reach it; it also means that the file is not what somebody said it is.
fn read_samples(
    stream: &mut impl Read,
    room: &mut [u8],
    depth: BitDepth,
    shift: u32,
) -> Result<(), PlaneError> {
    let mut before = 0;
    for piece in room.chunks_mut(PIECE) {
        let read = read_full(stream, piece)?;
        before += read as u64;
        if read < piece.len() {
            return Err(PlaneError::Short(before));
        }
        if matches!(depth, BitDepth::Ten | BitDepth::Twelve) {
            let used = piece.as_chunks::<2>().0.iter().fold(0, |used, &low| used | u16::from_le_bytes(low));
            if used >> depth.bits() != 0 {
                return Err(PlaneError::TooDeep(largest(piece)));
            }
        }
        if shift > 0 {
            for sample in piece.as_chunks_mut::<2>().0 {
                *sample = (u16::from_le_bytes(*sample) << shift).to_le_bytes();
            }
        }
    }
    Ok(())
}

/// The largest sample.
fn largest(samples: &[u8]) -> u16 {
    samples.as_chunks::<2>().0.iter().map(|&low| u16::from_le_bytes(low)).max().unwrap_or_default()
}

/// One byte per sample to two, shifted.
fn spread(narrow: &[u8], wide: &mut [u8], shift: u32) {
    for (sample, &value) in wide.as_chunks_mut::<2>().0.iter_mut().zip(narrow) {
        *sample = (u16::from(value) << shift).to_le_bytes();
    }
}

/// Reads until the buffer is full or the stream ends; the number of bytes read.
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
