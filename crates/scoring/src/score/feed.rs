//! Frames of a clip as pictures.
//!
//! A decoder is read ahead by a thread, so that it works while frames are measured. A file of bare planes is read where
//! it is used: reading is a twentieth of the work, the measuring threads have frames waiting meanwhile, and a thread
//! more would only cost.

mod fill;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use self::fill::Filler;
use super::ScoreError;
use crate::engine::{PicturePool, SharedPicture};
use crate::input::{FrameSource, Stopper};

/// Frames that wait between a reading thread and the one that measures.
const AHEAD: u32 = 1;

/// Pictures that a feed with a thread holds at most: those that wait, and the one being filled.
pub(super) const HELD_AHEAD: u32 = AHEAD + 1;

/// A frame.
#[derive(Debug)]
pub(super) enum Frame {
    /// One that is wanted.
    Picture(SharedPicture),
    /// One that was passed over.
    Passed,
    /// There is none.
    End,
}

/// Which frames of a feed are wanted, counted from its first.
pub(super) type Wanted = Box<dyn Fn(u64) -> bool + Send>;

/// How a feed reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// When a frame is asked for.
    OnDemand,
    /// Ahead, in a thread.
    Ahead,
}

/// Frames of a clip.
pub(super) struct Feed {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    OnDemand(Reader),
    Ahead(Ahead),
}

impl Feed {
    /// Begins to read.
    pub(super) fn new(
        path: PathBuf,
        source: Box<dyn FrameSource>,
        pool: Arc<PicturePool>,
        wanted: Wanted,
        pace: Pace,
    ) -> Result<Self, ScoreError> {
        let reader = Reader { filler: Filler::new(source.format()), source, pool, wanted, position: 0 };
        let kind = match pace {
            Pace::OnDemand => Kind::OnDemand(reader),
            Pace::Ahead => Kind::Ahead(
                Ahead::start(reader).map_err(|source| ScoreError::Thread { path: path.clone(), source })?,
            ),
        };
        Ok(Self { path, kind })
    }

    /// The next frame. Not to be called after the end.
    pub(super) fn next(&mut self) -> Result<Frame, ScoreError> {
        match &mut self.kind {
            Kind::OnDemand(reader) => reader.next(),
            Kind::Ahead(ahead) => match ahead.frames.as_ref().map(Receiver::recv) {
                Some(Ok(frame)) => frame,
                // The thread always says why it ends, unless it panicked.
                _ => Err(ScoreError::ReaderGone { path: self.path.clone() }),
            },
        }
    }
}

/// Reads in the thread that calls.
struct Reader {
    source: Box<dyn FrameSource>,
    filler: Filler,
    pool: Arc<PicturePool>,
    wanted: Wanted,
    position: u64,
}

impl Reader {
    fn next(&mut self) -> Result<Frame, ScoreError> {
        let wanted = (self.wanted)(self.position);
        self.position += 1;
        if !wanted {
            return Ok(if self.source.skip()? { Frame::Passed } else { Frame::End });
        }
        let format = self.pool.format();
        let mut picture = self.pool.fetch().map_err(|source| ScoreError::Memory { format, source })?;
        let there = self.filler.fill(self.source.as_mut(), &mut picture)?;
        Ok(if there { Frame::Picture(picture.share()) } else { Frame::End })
    }
}

/// Reads in a thread of its own.
struct Ahead {
    frames: Option<Receiver<Result<Frame, ScoreError>>>,
    thread: Option<JoinHandle<()>>,
    stopper: Stopper,
}

impl Ahead {
    fn start(mut reader: Reader) -> std::io::Result<Self> {
        let stopper = reader.source.stopper();
        let (sender, frames) = sync_channel(AHEAD as usize);
        let thread =
            thread::Builder::new().name("read".to_owned()).spawn(move || read(&mut reader, &sender))?;
        Ok(Self { frames: Some(frames), thread: Some(thread), stopper })
    }
}

fn read(reader: &mut Reader, sender: &SyncSender<Result<Frame, ScoreError>>) {
    loop {
        let frame = reader.next();
        let last = !matches!(frame, Ok(Frame::Picture(_) | Frame::Passed));
        if sender.send(frame).is_err() || last {
            return;
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // The order matters. Stopping ends a read that waits for the decoder; hanging up ends a send, and returns the
        // pictures that the thread may be waiting for.
        self.stopper.stop();
        self.frames = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported by the thread itself, and by the missing end of its frames.
            let _ = thread.join();
        }
    }
}
