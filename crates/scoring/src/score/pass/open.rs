//! Opens the clips of a pass.

use std::ops::Range;
use std::sync::Arc;

use super::{Pass, ProbedClip};
use crate::engine::PicturePool;
use crate::engine::session::EngineSession;
use crate::input::{self, FrameSource, ReadOptions};
use crate::score::ScoreError;
use crate::score::chunk::Chunk;
use crate::score::feed::{Feed, FeedFrame, FrameFilter, HELD_AHEAD, ReadMode};
use crate::score::lengths::FrameCount;
use crate::score::plan::decoder_threads;

/// Up to this many measuring threads, the feeding thread reads Y4M and raw files itself.
const MAX_THREADS_ON_DEMAND: u32 = 4;

pub(super) struct OpenClip {
    feed: Option<Feed>,
    /// Frames so far.
    pub(super) frames: u64,
    pub(super) ended: bool,
}

impl OpenClip {
    pub(super) fn next(&mut self) -> Result<FeedFrame, ScoreError> {
        let frame = match &mut self.feed {
            Some(feed) if !self.ended => feed.next()?,
            _ => FeedFrame::End,
        };
        match frame {
            FeedFrame::End => self.ended = true,
            _ => self.frames += 1,
        }
        Ok(frame)
    }

    pub(super) fn count(&self) -> FrameCount {
        counted(self.frames, self.ended)
    }
}

/// A clip whose frames are counted and not scored.
pub(super) struct CountedClip {
    source: Box<dyn FrameSource>,
    frames: u64,
    pub(super) ended: bool,
}

impl CountedClip {
    pub(super) fn skip(&mut self) -> Result<(), ScoreError> {
        self.ended = self.ended || !self.source.skip()?;
        self.frames += u64::from(!self.ended);
        Ok(())
    }

    pub(super) fn count(&self) -> FrameCount {
        counted(self.frames, self.ended)
    }
}

fn counted(frames: u64, ended: bool) -> FrameCount {
    if ended { FrameCount::Exactly(frames) } else { FrameCount::AtLeast(frames) }
}

impl Pass<'_> {
    pub(super) fn counted(&self, clip: ProbedClip<'_>, offset: u64) -> Result<CountedClip, ScoreError> {
        Ok(CountedClip { source: self.source(clip, offset, None)?, frames: 0, ended: false })
    }

    /// Opens the reference and the distorted clips for one chunk.
    pub(super) fn open(
        &self,
        chunk: &Chunk,
        lengths: Option<&[u64]>,
        session: &EngineSession,
    ) -> Result<(OpenClip, Vec<OpenClip>), ScoreError> {
        let step = self.request.step();
        let bounded = |range: Range<u64>| lengths.is_some().then(|| range.end - range.start);
        let (reference_pool, distorted_pool) = self.pools(session)?;

        let read = chunk.read_range();
        let reference = self.open_clip(
            self.reference,
            self.request.reference_offset + read.start,
            bounded(read),
            &reference_pool,
            // Motion and shots need every frame.
            Box::new(|_| true),
        )?;

        let start = chunk.frames.start;
        let mut distorted = Vec::with_capacity(self.distorted.len());
        for (index, clip) in self.distorted.iter().enumerate() {
            let end = lengths.map_or(chunk.frames.end, |lengths| chunk.frames.end.min(lengths[index]));
            if end <= start {
                distorted.push(OpenClip { feed: None, frames: 0, ended: true });
                continue;
            }
            let wanted = move |index: u64| (start + index).is_multiple_of(step);
            let skip = self.request.distorted_offset + start;
            distorted.push(self.open_clip(
                *clip,
                skip,
                bounded(start..end),
                &distorted_pool,
                Box::new(wanted),
            )?);
        }
        Ok((reference, distorted))
    }

    fn open_clip(
        &self,
        clip: ProbedClip<'_>,
        skip: u64,
        take: Option<u64>,
        pool: &Arc<PicturePool>,
        filter: FrameFilter,
    ) -> Result<OpenClip, ScoreError> {
        let source = self.source(clip, skip, take)?;
        let feed = Feed::new(clip.clip.path.clone(), source, Arc::clone(pool), filter, self.read_mode(clip))?;
        Ok(OpenClip { feed: Some(feed), frames: 0, ended: false })
    }

    /// Opens a clip that another thread can stop.
    pub(super) fn source(
        &self,
        clip: ProbedClip<'_>,
        skip: u64,
        take: Option<u64>,
    ) -> Result<Box<dyn FrameSource>, ScoreError> {
        let options = ReadOptions {
            skip,
            take,
            decoder_threads: Some(decoder_threads(self.request.measuring_threads())),
            scale_filter: self.request.scale_filter,
            // A chunk does not read the whole file.
            digests: (self.request.chunks <= 1).then(|| self.digests.clone()),
            activity: self.request.activity.clone(),
            ..ReadOptions::whole(self.format)
        };
        let source = input::open(clip.clip, clip.probe, &options, self.tools)?;
        self.sources.add(source.stop_handle());
        Ok(source)
    }

    /// Besides decoded clips, those are read in threads that have fewer frames than there are threads: then no thread has a frame
    /// to measure before all clips are read.
    fn read_mode(&self, clip: ProbedClip<'_>) -> ReadMode {
        let decoded = !input::reads_without_ffmpeg(clip.probe, self.format);
        let threads = self.request.measuring_threads();
        let is_short = clip.probe.frames.is_some_and(|frames| frames < threads.into());
        if decoded || is_short || threads > MAX_THREADS_ON_DEMAND {
            ReadMode::Ahead
        } else {
            ReadMode::OnDemand
        }
    }

    /// Pictures for the reference, and for all distorted clips together.
    ///
    /// There are enough that no feed waits forever for pictures that another holds: those that wait in feeds, the one being
    /// fed, and those that the session holds. The latter are being measured and are returned; their number bounds the memory
    /// of a pass.
    fn pools(&self, session: &EngineSession) -> Result<(Arc<PicturePool>, Arc<PicturePool>), ScoreError> {
        const BEING_FED: u32 = 1;
        let held = session.held_pictures();
        let ahead =
            |clip: &ProbedClip<'_>| if self.read_mode(*clip) == ReadMode::Ahead { HELD_AHEAD } else { 0 };
        let frames = |clip: &ProbedClip<'_>| clip.probe.frames.and_then(|frames| u32::try_from(frames).ok());
        let of_distorted = self.distorted.iter().try_fold(0, |sum: u32, clip| sum.checked_add(frames(clip)?));
        // Pictures that are measured are returned, so a feed that has no more than its frames waits at worst. Feeds of several
        // clips need theirs, because one that is ahead returns none before the others have read theirs.
        let reference = BEING_FED
            + held.reference.kept
            + (ahead(&self.reference) + held.reference.measured)
                .min(frames(&self.reference).unwrap_or(u32::MAX));
        let ahead: u32 = self.distorted.iter().map(ahead).sum();
        let (shared, own) = if self.distorted.len() > 1 { (ahead, 0) } else { (0, ahead) };
        let distorted = BEING_FED
            + held.distorted.kept
            + shared
            + (own + held.distorted.measured).min(of_distorted.unwrap_or(u32::MAX));
        let pool = |count: u32| {
            PicturePool::new(self.format, count)
                .map_err(|source| ScoreError::Memory { format: self.format, source })
        };
        Ok((pool(reference)?, pool(distorted)?))
    }
}
