//! Whether pictures of this size fit into the memory. Pure.
//!
//! A worker that runs out of memory half way has wasted its time, so the size is looked at before the first frame. What
//! a comparison takes is what was measured: a base, and for each thread a share that grows with the picture.

use vmafx_scoring::picture::{Chroma, Format};

use crate::failure::{Failure, Reason};

const MEGABYTE: u64 = 1_000_000;

/// Whatever the pictures are: the program, its tables, the stacks of its threads.
const BASE: u64 = 80 * MEGABYTE;

/// A thread that measures pictures of 1920x1080, 4:2:0, 8 bit.
const THREAD: u64 = 90 * MEGABYTE;

/// The picture for which [`THREAD`] was measured.
const MEASURED_PIXELS: u64 = 1920 * 1080;

/// More than any display: a larger picture is a damaged header or an attack, on every machine.
const MOST_PIXELS: u64 = 16_384 * 16_384;

/// How many threads pictures of this shape leave room for, of those that are wanted.
pub(super) fn threads(format: Format, wanted: u32, memory: u64) -> Result<u32, Failure> {
    let pixels = u64::from(format.width) * u64::from(format.height);
    if pixels > MOST_PIXELS {
        let message = format!(
            "pictures of {format} have {} megapixels; at most {} are scored",
            pixels / MEGABYTE,
            MOST_PIXELS / MEGABYTE
        );
        return Err(Failure::new(Reason::InputTooLarge, message));
    }
    let share = thread_bytes(format);
    let room = memory.saturating_sub(BASE) / share.max(1);
    if room == 0 {
        let message = format!(
            "pictures of {format} take {} MB to score, and a job has {} MB here; give the node more memory or fewer slots",
            (BASE + share).div_ceil(MEGABYTE),
            memory / MEGABYTE
        );
        return Err(Failure::new(Reason::OutOfMemory, message));
    }
    Ok(u32::try_from(room).unwrap_or(u32::MAX).min(wanted))
}

/// What a thread takes. The planes of a picture are a small part of it; most are intermediate results, which are as deep
/// for eight bits as for sixteen.
fn thread_bytes(format: Format) -> u64 {
    let pixels = u64::from(format.width) * u64::from(format.height);
    let whole = THREAD.saturating_mul(pixels) / MEASURED_PIXELS;
    let planes = match format.chroma {
        Chroma::C420 => 6,
        Chroma::C422 => 8,
        Chroma::C444 => 12,
    };
    // Pictures that wait or are measured: a reference and a distorted one, twice.
    let pictures = pixels * planes * format.depth.bytes() as u64;
    whole.saturating_add(pictures)
}
