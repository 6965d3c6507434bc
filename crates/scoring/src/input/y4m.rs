//! Y4M: a header line, then frames, each after a header line of its own.

mod header;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;

pub(super) use header::{MAGIC, Y4mHeader};

use super::error::InputError;
use super::probe::{Probe, SampleStorage};
use crate::picture::PictureFormat;

/// Real header lines have about 80 bytes.
const MAX_LINE_BYTES: u64 = 4096;

/// The header line of a frame; parameters may follow.
const FRAME: &[u8] = b"FRAME";

pub(super) fn probe(path: &Path, file: File, size: u64) -> Result<Probe, InputError> {
    let mut reader = BufReader::new(file);
    reader.rewind().map_err(|source| InputError::Read { path: path.to_owned(), frame: 0, source })?;
    let (header, start) = read_header(&mut reader, path)?;
    if size <= start {
        return Err(InputError::NoFrames { path: path.to_owned() });
    }
    let frame_bytes = plain_frame_bytes(header.format);
    let whole = (size - start) / frame_bytes;
    Ok(Probe {
        codec: "y4m".to_owned(),
        format: header.format,
        frame_rate: header.frame_rate,
        // If a frame header has parameters, the size of the file does not tell the number of frames.
        frames: (size - start).is_multiple_of(frame_bytes).then_some(whole),
        frames_estimate: Some(whole),
        transfer: None,
        matrix: None,
        full_range: header.full_range,
        converted_from: None,
        storage: SampleStorage::Y4m { start },
    })
}

/// Bytes of a frame with a header that has no parameters.
pub(super) const fn plain_frame_bytes(format: PictureFormat) -> u64 {
    (FRAME.len() + 1 + format.bytes()) as u64
}

/// Reads the header line; returns it with its length in bytes.
pub(super) fn read_header(reader: &mut impl BufRead, path: &Path) -> Result<(Y4mHeader, u64), InputError> {
    let refuse = |problem: String| InputError::Header { path: path.to_owned(), problem };
    let line = read_line(reader)
        .map_err(|source| InputError::Read { path: path.to_owned(), frame: 0, source })?
        .map_err(|line| match line.len() as u64 {
            MAX_LINE_BYTES => refuse(format!("it is longer than {MAX_LINE_BYTES} bytes")),
            _ => refuse("the file ends within it".to_owned()),
        })?;
    let header = Y4mHeader::parse(&line).map_err(refuse)?;
    Ok((header, line.len() as u64 + 1))
}

/// Reads the header line of a frame; `false` at the end of the file.
pub(super) fn read_frame_header(
    reader: &mut impl BufRead,
    path: &Path,
    frame: u64,
) -> Result<bool, InputError> {
    let line =
        read_line(reader).map_err(|source| InputError::Read { path: path.to_owned(), frame, source })?;
    let problem = match line {
        Ok(line) if line == FRAME || line.starts_with(b"FRAME ") => return Ok(true),
        Err(line) if line.is_empty() => return Ok(false),
        Ok(line) => format!("it begins with {}", excerpt(&line)),
        Err(line) if line.len() as u64 == MAX_LINE_BYTES => format!("it begins with {}", excerpt(&line)),
        Err(line) => format!("the file ends after {}", excerpt(&line)),
    };
    Err(InputError::FrameHeader { path: path.to_owned(), frame, problem })
}

/// A line without its line feed, or as an error the bytes that are there if it does not end within the limit.
fn read_line(reader: &mut impl BufRead) -> std::io::Result<Result<Vec<u8>, Vec<u8>>> {
    let mut line = Vec::new();
    reader.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    Ok(if line.last() == Some(&b'\n') {
        line.pop();
        Ok(line)
    } else {
        Err(line)
    })
}

/// The first bytes, printable.
fn excerpt(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes[..bytes.len().min(16)].escape_ascii())
}
