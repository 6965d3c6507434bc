//! Opens the clips of a pass.

use std::ops::Range;
use std::sync::Arc;

use super::{Found, Pass};
use crate::engine::PicturePool;
use crate::input::{self, FrameSource, Reading};
use crate::score::ScoreError;
use crate::score::chunk::Chunk;
use crate::score::feed::{Feed, Frame, HELD_AHEAD, Pace, Wanted};
use crate::score::plan::decoder_threads;

/// Up to this many threads, files of bare planes are read by the thread that feeds.
const READS_ON_DEMAND: u32 = 4;

/// One clip on its way through a pass.
pub(super) struct Side {
    feed: Option<Feed>,
    /// Frames so far.
    pub(super) frames: u64,
    /// Whether there are no more.
    pub(super) ended: bool,
}

impl Side {
    /// The next frame.
    pub(super) fn next(&mut self) -> Result<Frame, ScoreError> {
        let frame = match &mut self.feed {
            Some(feed) if !self.ended => feed.next()?,
            _ => Frame::End,
        };
        match frame {
            Frame::End => self.ended = true,
            _ => self.frames += 1,
        }
        Ok(frame)
    }
}

impl Pass<'_> {
    /// Opens the reference and the distorted clips for one piece.
    pub(super) fn open(
        &self,
        chunk: &Chunk,
        lengths: Option<&[u64]>,
        every_reference: bool,
    ) -> Result<(Side, Vec<Side>), ScoreError> {
        let step = self.request.step();
        let bounded = |range: Range<u64>| lengths.is_some().then(|| range.end - range.start);
        let (ours, theirs) = self.pools(every_reference)?;

        let (read, scored) = (chunk.read(), chunk.frames.clone());
        let take = bounded(read.clone());
        let wanted = move |index: u64| {
            let frame = read.start + index;
            every_reference || (scored.contains(&frame) && frame.is_multiple_of(step))
        };
        let skip = chunk.read().start;
        let reference =
            self.side(self.reference, self.request.reference_offset + skip, take, &ours, Box::new(wanted))?;

        let start = chunk.frames.start;
        let mut sides = Vec::with_capacity(self.distorted.len());
        for (index, found) in self.distorted.iter().enumerate() {
            let end = lengths.map_or(chunk.frames.end, |lengths| chunk.frames.end.min(lengths[index]));
            if end <= start {
                sides.push(Side { feed: None, frames: 0, ended: true });
                continue;
            }
            let wanted = move |index: u64| (start + index).is_multiple_of(step);
            let skip = self.request.distorted_offset + start;
            sides.push(self.side(*found, skip, bounded(start..end), &theirs, Box::new(wanted))?);
        }
        Ok((reference, sides))
    }

    fn side(
        &self,
        found: Found<'_>,
        skip: u64,
        take: Option<u64>,
        pool: &Arc<PicturePool>,
        wanted: Wanted,
    ) -> Result<Side, ScoreError> {
        let source = self.source(found, skip, take)?;
        let feed = Feed::new(found.clip.path.clone(), source, Arc::clone(pool), wanted, self.pace(found))?;
        Ok(Side { feed: Some(feed), frames: 0, ended: false })
    }

    /// Opens a clip so that it can be stopped from outside.
    pub(super) fn source(
        &self,
        found: Found<'_>,
        skip: u64,
        take: Option<u64>,
    ) -> Result<Box<dyn FrameSource>, ScoreError> {
        let reading = Reading {
            skip,
            take,
            decoder_threads: Some(decoder_threads(self.request.measuring_threads())),
            scale_filter: self.request.scale_filter,
            // A piece does not see the whole file.
            digests: (self.request.chunks <= 1).then(|| self.digests.clone()),
            ..Reading::whole(self.format)
        };
        let source = input::open(found.clip, found.probe, &reading, self.tools)?;
        self.stops.add(source.stopper());
        Ok(source)
    }

    fn pace(&self, found: Found<'_>) -> Pace {
        let decoded = !input::reads_itself(found.probe, self.format);
        if decoded || self.request.measuring_threads() > READS_ON_DEMAND {
            Pace::Ahead
        } else {
            Pace::OnDemand
        }
    }

    /// Pictures for the reference, and for all distorted clips together.
    ///
    /// There must be enough that no feed can wait for ever for what another holds: what waits in feeds, the one in the
    /// hand, and the last ones that contexts keep to compare with. All others are being measured and come back by
    /// themselves; how many of them there are bounds the memory of a pass.
    fn pools(&self, motion_apart: bool) -> Result<(Arc<PicturePool>, Arc<PicturePool>), ScoreError> {
        /// The one in the hand.
        const HAND: u32 = 1;
        /// By each context.
        const KEPT: u32 = 2;
        let contexts = 1 + u32::from(motion_apart);
        let measured =
            if self.request.measuring_threads() > 1 { self.request.measuring_threads() + 2 } else { 0 };
        let ahead = |found: &Found<'_>| if self.pace(*found) == Pace::Ahead { HELD_AHEAD } else { 0 };
        let ours = HAND + KEPT * contexts + measured + ahead(&self.reference);
        let theirs = HAND + measured + self.distorted.iter().map(ahead).sum::<u32>();
        let pool = |count: u32| {
            PicturePool::new(self.format, count)
                .map_err(|source| ScoreError::Memory { format: self.format, source })
        };
        Ok((pool(ours)?, pool(theirs)?))
    }
}
