//! Frames of a clip as pictures.
//!
//! A thread reads ahead from a decoder, so that it decodes while frames are measured. Y4M and raw files are read on demand by
//! the thread that feeds libvmaf: reading is a twentieth of the work, the measuring threads have frames waiting meanwhile, and
//! another thread would only cost.

mod fill;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use self::fill::Filler;
use super::ScoreError;
use crate::engine::{PicturePool, SharedPicture};
use crate::input::{FrameSource, StopHandle};

/// Frames that wait in the channel between a reading thread and the feeding one.
const QUEUED_AHEAD: u32 = 1;

/// Pictures that a feed with a thread holds at most: the queued ones, and the one being filled.
pub(super) const HELD_AHEAD: u32 = QUEUED_AHEAD + 1;

#[derive(Debug)]
pub(super) enum FeedFrame {
    Picture(SharedPicture),
    Skipped,
    End,
}

/// Which frames of a feed are read, counted from its first; the others are skipped.
pub(super) type FrameFilter = Box<dyn Fn(u64) -> bool + Send>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadMode {
    OnDemand,
    /// In a thread.
    Ahead,
}

pub(super) struct Feed {
    path: PathBuf,
    mode: FeedMode,
}

enum FeedMode {
    OnDemand(Reader),
    Ahead(ReaderThread),
}

impl Feed {
    pub(super) fn new(
        path: PathBuf,
        source: Box<dyn FrameSource>,
        pool: Arc<PicturePool>,
        filter: FrameFilter,
        mode: ReadMode,
    ) -> Result<Self, ScoreError> {
        let reader = Reader { filler: Filler::new(source.format()), source, pool, filter, position: 0 };
        let mode = match mode {
            ReadMode::OnDemand => FeedMode::OnDemand(reader),
            ReadMode::Ahead => FeedMode::Ahead(
                ReaderThread::start(reader)
                    .map_err(|source| ScoreError::Thread { path: path.clone(), source })?,
            ),
        };
        Ok(Self { path, mode })
    }

    /// The next frame. Must not be called after the end.
    pub(super) fn next(&mut self) -> Result<FeedFrame, ScoreError> {
        match &mut self.mode {
            FeedMode::OnDemand(reader) => reader.next(),
            FeedMode::Ahead(thread) => match thread.frames.as_ref().map(Receiver::recv) {
                Some(Ok(frame)) => frame,
                // The thread sends the reason for its end unless it panicked.
                _ => Err(ScoreError::ReaderGone { path: self.path.clone() }),
            },
        }
    }
}

/// Reads in the thread of the caller.
struct Reader {
    source: Box<dyn FrameSource>,
    filler: Filler,
    pool: Arc<PicturePool>,
    filter: FrameFilter,
    position: u64,
}

impl Reader {
    fn next(&mut self) -> Result<FeedFrame, ScoreError> {
        let wanted = (self.filter)(self.position);
        self.position += 1;
        if !wanted {
            return Ok(if self.source.skip()? { FeedFrame::Skipped } else { FeedFrame::End });
        }
        let format = self.pool.format();
        let mut picture = self.pool.fetch().map_err(|source| ScoreError::Memory { format, source })?;
        let there = self.filler.fill(self.source.as_mut(), &mut picture)?;
        Ok(if there { FeedFrame::Picture(picture.share()) } else { FeedFrame::End })
    }
}

/// Reads in a thread of its own.
struct ReaderThread {
    frames: Option<Receiver<Result<FeedFrame, ScoreError>>>,
    thread: Option<JoinHandle<()>>,
    stop_handle: StopHandle,
}

impl ReaderThread {
    fn start(mut reader: Reader) -> std::io::Result<Self> {
        let stop_handle = reader.source.stop_handle();
        let (sender, frames) = sync_channel(QUEUED_AHEAD as usize);
        let thread =
            thread::Builder::new().name("read".to_owned()).spawn(move || read(&mut reader, &sender))?;
        Ok(Self { frames: Some(frames), thread: Some(thread), stop_handle })
    }
}

fn read(reader: &mut Reader, sender: &SyncSender<Result<FeedFrame, ScoreError>>) {
    loop {
        let frame = reader.next();
        let last = !matches!(frame, Ok(FeedFrame::Picture(_) | FeedFrame::Skipped));
        if sender.send(frame).is_err() || last {
            return;
        }
    }
}

impl Drop for ReaderThread {
    fn drop(&mut self) {
        // The order matters. Stopping ends a read that waits for the decoder; dropping the receiver ends a send, and returns
        // the pictures that the thread may be waiting for.
        self.stop_handle.stop();
        self.frames = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported by the thread itself, and as `ReaderGone`.
            let _ = thread.join();
        }
    }
}
