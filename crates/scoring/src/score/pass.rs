//! One sweep over a reference and the distorted clips that are compared with it in the same shape.

mod open;

use self::open::Side;
use super::cancel::Stops;
use super::chunk::Chunk;
use super::feed::Frame;
use super::progress::Counter;
use super::{Request, ScoreError};
use crate::engine::models::Model;
use crate::engine::session::{Scores, Session, Setup};
use crate::input::{Clip, DigestBook, Probe, Tools};
use crate::picture::Format;

/// A clip that was looked at.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) clip: &'a Clip,
    pub(super) probe: &'a Probe,
}

/// What a pass works on.
pub(super) struct Pass<'a> {
    pub(super) request: &'a Request,
    pub(super) tools: &'a Tools,
    pub(super) stops: &'a Stops,
    pub(super) digests: &'a DigestBook,
    pub(super) format: Format,
    pub(super) models: &'a [Model],
    pub(super) reference: Found<'a>,
    pub(super) distorted: Vec<Found<'a>>,
}

/// What a pass found.
#[derive(Debug)]
pub(super) struct Swept {
    /// The scores of each distorted clip.
    pub(super) scores: Vec<Scores>,
    /// Frames of the reference after its offset; counted to the end if the pass was over everything.
    pub(super) reference: u64,
    /// The same of each distorted clip.
    pub(super) distorted: Vec<u64>,
}

impl Pass<'_> {
    /// Scores everything, and counts all clips to their end.
    pub(super) fn sweep_all(&self, counter: &mut Counter<'_>) -> Result<Swept, ScoreError> {
        self.sweep(&Chunk::whole(), None, counter)
    }

    /// Scores one piece. `lengths` are the frames of each distorted clip that have a partner.
    pub(super) fn sweep_chunk(
        &self,
        chunk: &Chunk,
        lengths: &[u64],
        counter: &mut Counter<'_>,
    ) -> Result<Swept, ScoreError> {
        self.sweep(chunk, Some(lengths), counter)
    }

    fn sweep(
        &self,
        chunk: &Chunk,
        lengths: Option<&[u64]>,
        counter: &mut Counter<'_>,
    ) -> Result<Swept, ScoreError> {
        let clips = self.distorted.len();
        let mut session = Session::new(&Setup {
            format: self.format,
            models: self.models,
            extras: &self.request.options.features,
            clips,
            motion_apart: clips > 1 || self.request.step() > 1 || chunk.lead > 0 || chunk.tail > 0,
            threads: self.request.measuring_threads(),
            registration: self.request.registration,
            cpu_mask: self.request.cpu_mask,
        })?;
        let (mut reference, mut sides) = self.open(chunk, lengths, session.wants_every_reference())?;
        self.feed(chunk, &mut session, &mut reference, &mut sides, counter)?;
        // Where each clip ends in the pass over the reference, which begins with the lead.
        let ends: Vec<u32> = (0..clips)
            .map(|clip| {
                let end = lengths.map_or(sides[clip].frames, |lengths| {
                    lengths[clip] - chunk.read().start.min(lengths[clip])
                });
                u32::try_from(end).unwrap_or(u32::MAX)
            })
            .collect();
        if lengths.is_none() {
            self.count(&mut reference)?;
            for side in &mut sides {
                self.count(side)?;
            }
        }
        let (reference, distorted) = (reference.frames, sides.iter().map(|side| side.frames).collect());
        drop(sides);
        self.stops.clear();
        Ok(Swept { scores: session.finish(&ends)?, reference, distorted })
    }

    /// Feeds pair by pair, until the reference ends or no distorted clip has a partner for it any more.
    fn feed(
        &self,
        chunk: &Chunk,
        session: &mut Session,
        reference: &mut Side,
        sides: &mut [Side],
        counter: &mut Counter<'_>,
    ) -> Result<(), ScoreError> {
        for frame in chunk.read() {
            self.stops.check()?;
            let ours = match reference.next()? {
                Frame::End => return Ok(()),
                Frame::Picture(picture) => Some(picture),
                Frame::Passed => None,
            };
            // Before or after the piece: only motion wants to see it.
            let context = !chunk.frames.contains(&frame);
            let mut partner = context;
            if let (true, Some(ours)) = (context, &ours) {
                session.reference(frame, ours)?;
            }
            for (index, side) in sides.iter_mut().enumerate().filter(|(_, side)| !context && !side.ended) {
                let theirs = side.next()?;
                if matches!(theirs, Frame::End) {
                    continue;
                }
                if let (Some(ours), false) = (&ours, partner) {
                    session.reference(frame, ours)?;
                }
                partner = true;
                if let (Some(ours), Frame::Picture(theirs)) = (&ours, theirs) {
                    session.pair(index, frame, ours.clone(), theirs)?;
                    counter.one_more();
                }
            }
            // A clip that ends before the reference ends the pass, unless the others may go on without it.
            let torn = !self.request.options.scores_shortest() && sides.iter().any(|side| side.ended);
            if !partner || torn {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Goes on to the end of a clip.
    fn count(&self, side: &mut Side) -> Result<(), ScoreError> {
        while !side.ended {
            self.stops.check()?;
            side.next()?;
        }
        Ok(())
    }

    /// Frames of a clip after its offset, found by going through it.
    pub(super) fn length(&self, found: Found<'_>, offset: u64) -> Result<u64, ScoreError> {
        let mut source = self.source(found, offset, None)?;
        let mut frames = 0;
        while source.skip()? {
            self.stops.check()?;
            frames += 1;
        }
        drop(source);
        self.stops.clear();
        Ok(frames)
    }
}
