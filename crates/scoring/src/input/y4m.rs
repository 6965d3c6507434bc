//! Y4M: a line of text, then frames, each behind a line of its own.

mod header;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;

pub(super) use header::{Header, MAGIC};

use super::error::InputError;
use super::probe::{Probe, Storage};
use crate::picture::Format;

/// Longest header line that is read. Real ones have about 80 bytes.
const LINE_LIMIT: u64 = 4096;

/// The line before a frame, as everybody writes it.
const FRAME: &[u8] = b"FRAME";

/// What the header and the size of the file say.
pub(super) fn probe(path: &Path, file: File, size: u64) -> Result<Probe, InputError> {
    let mut reader = BufReader::new(file);
    reader.rewind().map_err(|source| InputError::Read { path: path.to_owned(), frame: 0, source })?;
    let (header, start) = read_header(&mut reader, path)?;
    if size <= start {
        return Err(InputError::NoFrames { path: path.to_owned() });
    }
    let step = plain_frame_bytes(header.format);
    let whole = (size - start) / step;
    Ok(Probe {
        codec: "y4m".to_owned(),
        format: header.format,
        frame_rate: header.frame_rate,
        // A frame header may carry parameters; then the size alone does not tell the number of frames.
        frames: (size - start).is_multiple_of(step).then_some(whole),
        frames_estimate: Some(whole),
        transfer: None,
        full_range: header.full_range,
        converted_from: None,
        storage: Storage::Y4m { start },
    })
}

/// Bytes of a frame and its header without parameters.
pub(super) const fn plain_frame_bytes(format: Format) -> u64 {
    (FRAME.len() + 1 + format.bytes()) as u64
}

/// Reads the header line; it, and the number of its bytes.
pub(super) fn read_header(reader: &mut impl BufRead, path: &Path) -> Result<(Header, u64), InputError> {
    let refuse = |problem: String| InputError::Header { path: path.to_owned(), problem };
    let line = read_line(reader)
        .map_err(|source| InputError::Read { path: path.to_owned(), frame: 0, source })?
        .map_err(|line| match line.len() as u64 {
            LINE_LIMIT => refuse(format!("it is longer than {LINE_LIMIT} bytes")),
            _ => refuse("the file ends within it".to_owned()),
        })?;
    let header = Header::parse(&line).map_err(refuse)?;
    Ok((header, line.len() as u64 + 1))
}

/// Reads the line before a frame; `false` at the end of the file.
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
        Err(line) if line.len() as u64 == LINE_LIMIT => format!("it begins with {}", excerpt(&line)),
        Err(line) => format!("the file ends after {}", excerpt(&line)),
    };
    Err(InputError::FrameHeader { path: path.to_owned(), frame, problem })
}

/// A line without its end, or what there is when it has no end within the limit.
fn read_line(reader: &mut impl BufRead) -> std::io::Result<Result<Vec<u8>, Vec<u8>>> {
    let mut line = Vec::new();
    reader.take(LINE_LIMIT).read_until(b'\n', &mut line)?;
    Ok(if line.last() == Some(&b'\n') {
        line.pop();
        Ok(line)
    } else {
        Err(line)
    })
}

/// The start of some bytes, fit for a message.
fn excerpt(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes[..bytes.len().min(16)].escape_ascii())
}
