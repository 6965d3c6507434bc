//! Counts what is read, so that work that is alive can be told from work that hangs, whatever becomes of the frames.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes and frames that were read so far. Clones share the counters.
#[derive(Clone, Debug, Default)]
pub struct ReadActivity(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    bytes: AtomicU64,
    frames: AtomicU64,
}

impl ReadActivity {
    /// Bytes read from files and from decoders, also to compute digests.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Frames read or skipped, of all clips.
    pub fn frames(&self) -> u64 {
        self.0.frames.load(Ordering::Relaxed)
    }

    pub(super) fn add_bytes(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn add_frame(&self) {
        self.0.frames.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts the bytes of another reader.
#[derive(Debug)]
pub(super) struct CountingReader<R> {
    inner: R,
    activity: ReadActivity,
}

impl<R> CountingReader<R> {
    pub(super) fn new(inner: R, activity: ReadActivity) -> Self {
        Self { inner, activity }
    }
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.activity.add_bytes(read);
        Ok(read)
    }
}
