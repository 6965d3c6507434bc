//! Scores one chunk of a reference and of the distorted clips that are compared with it in the same format.

mod open;

use self::open::{CountedClip, OpenClip};
use super::cancel::OpenSources;
use super::chunk::Chunk;
use super::feed::FeedFrame;
use super::lengths::FrameCount;
use super::plan::ClipProperties;
use super::progress::Counter;
use super::{Request, ScoreError};
use crate::engine::models::Model;
use crate::engine::session::{EngineSession, FrameScores, SessionSetup};
use crate::engine::{EngineError, KernelError, PicturePlanes, SharedPicture};
use crate::input::{Clip, DigestTable, Probe, Tools};
use crate::picture::PictureFormat;
use crate::shots::{CellMeans, DifferenceMeter, FrameDifference};

#[derive(Clone, Copy)]
pub(super) struct ProbedClip<'a> {
    pub(super) clip: &'a Clip,
    pub(super) probe: &'a Probe,
}

impl ProbedClip<'_> {
    pub(super) fn properties(self) -> ClipProperties {
        ClipProperties::new(self.clip, self.probe)
    }
}

pub(super) struct Pass<'a> {
    pub(super) request: &'a Request,
    pub(super) tools: &'a Tools,
    pub(super) sources: &'a OpenSources,
    pub(super) digests: &'a DigestTable,
    pub(super) format: PictureFormat,
    pub(super) models: &'a [Model],
    pub(super) reference: ProbedClip<'a>,
    pub(super) distorted: Vec<ProbedClip<'a>>,
}

#[derive(Debug)]
pub(super) struct PassResult {
    /// One entry for each distorted clip.
    pub(super) scores: Vec<FrameScores>,
    /// Frames of the reference after its offset.
    pub(super) reference: FrameCount,
    /// The same for each distorted clip.
    pub(super) distorted: Vec<FrameCount>,
    /// Of each frame of the reference within the chunk, which may be a frame more than are paired.
    pub(super) differences: Vec<FrameDifference>,
}

impl Pass<'_> {
    /// Scores whole clips, as far as they are paired. A clip that is longer than the others is read only a frame or two
    /// further than they are.
    pub(super) fn score_all(&self, counter: &mut Counter<'_>) -> Result<PassResult, ScoreError> {
        self.score(&Chunk::whole(), None, counter)
    }

    /// Scores one chunk. `lengths` has the number of paired frames of each distorted clip.
    pub(super) fn score_chunk(
        &self,
        chunk: &Chunk,
        lengths: &[u64],
        counter: &mut Counter<'_>,
    ) -> Result<PassResult, ScoreError> {
        self.score(chunk, Some(lengths), counter)
    }

    fn score(
        &self,
        chunk: &Chunk,
        lengths: Option<&[u64]>,
        counter: &mut Counter<'_>,
    ) -> Result<PassResult, ScoreError> {
        let clips = self.distorted.len();
        let mut session = EngineSession::new(&SessionSetup {
            format: self.format,
            models: self.models,
            features: &self.request.options.features,
            clips,
            separate_motion: clips > 1 || self.request.step() > 1 || chunk.lead > 0 || chunk.tail > 0,
            threads: self.request.measuring_threads(),
            registration: self.request.registration,
            engine: self.request.engine,
            cpu_mask: self.request.cpu_mask,
        })?;
        let (mut reference, mut distorted) = self.open(chunk, lengths, &session)?;
        let differences = self.feed(chunk, &mut session, &mut reference, &mut distorted, counter)?;
        // The end of each clip within the frames of the reference that are read, which begin with the lead.
        let ends: Vec<u32> = (0..clips)
            .map(|clip| {
                let end = lengths.map_or(distorted[clip].frames, |lengths| {
                    lengths[clip] - chunk.read_range().start.min(lengths[clip])
                });
                u32::try_from(end).unwrap_or(u32::MAX)
            })
            .collect();
        if lengths.is_none() {
            // The next frame of a clip that has not ended tells whether it ends here, and its source verifies the end.
            for clip in distorted.iter_mut().chain([&mut reference]) {
                self.sources.check_cancelled()?;
                clip.next()?;
            }
        }
        let (length, lengths) = (reference.count(), distorted.iter().map(OpenClip::count).collect());
        // Stops the decoders of clips that were not read to their end.
        drop((reference, distorted));
        self.sources.clear();
        Ok(PassResult { scores: session.finish(&ends)?, reference: length, distorted: lengths, differences })
    }

    /// Feeds pair by pair, until the reference or all distorted clips end. Returns how the frames of the reference differ.
    fn feed(
        &self,
        chunk: &Chunk,
        session: &mut EngineSession,
        reference: &mut OpenClip,
        distorted: &mut [OpenClip],
        counter: &mut Counter<'_>,
    ) -> Result<Vec<FrameDifference>, ScoreError> {
        let mut meter = DifferenceMeter::default();
        let mut differences = Vec::new();
        for frame in chunk.read_range() {
            self.sources.check_cancelled()?;
            let FeedFrame::Picture(reference_picture) = reference.next()? else { break };
            let difference = meter.push(self.cell_means(frame, &reference_picture)?);
            // Outside of the chunk, the frame is only needed for motion, and to find cuts within it.
            let context = !chunk.frames.contains(&frame);
            let mut paired = context;
            if context {
                session.reference(frame, &reference_picture)?;
            } else {
                differences.push(difference);
            }
            for (index, clip) in distorted.iter_mut().enumerate().filter(|(_, clip)| !context && !clip.ended)
            {
                let distorted_frame = clip.next()?;
                if matches!(distorted_frame, FeedFrame::End) {
                    continue;
                }
                if !paired {
                    session.reference(frame, &reference_picture)?;
                }
                paired = true;
                if let FeedFrame::Picture(distorted) = distorted_frame {
                    session.pair(index, frame, reference_picture.clone(), distorted)?;
                    counter.increment();
                }
            }
            // A distorted clip that ends before the reference ends the pass, unless the common part is to be scored.
            let too_short =
                !self.request.options.scores_shortest() && distorted.iter().any(|clip| clip.ended);
            if !paired || too_short {
                break;
            }
        }
        Ok(differences)
    }

    fn cell_means(&self, frame: u64, picture: &SharedPicture) -> Result<CellMeans, EngineError> {
        let depth = self.format.depth;
        match picture.planes() {
            Ok(PicturePlanes::Bytes([luma, ..])) => Ok(CellMeans::of(&luma, depth)),
            Ok(PicturePlanes::Words([luma, ..])) => Ok(CellMeans::of(&luma, depth)),
            Err(problem) => {
                Err(EngineError::NativeFrame { frame, source: KernelError::from(problem).into() })
            }
        }
    }

    /// Counts the frames of all clips after their offsets, side by side and only as far as the comparison needs them.
    pub(super) fn lengths(&self) -> Result<(FrameCount, Vec<FrameCount>), ScoreError> {
        let mut reference = self.counted(self.reference, self.request.reference_offset)?;
        let mut distorted = Vec::with_capacity(self.distorted.len());
        for clip in &self.distorted {
            distorted.push(self.counted(*clip, self.request.distorted_offset)?);
        }
        let shortest = self.request.options.scores_shortest();
        loop {
            let ended = distorted.iter().filter(|clip| clip.ended).count();
            let enough = if shortest { ended == distorted.len() } else { ended > 0 };
            if reference.ended || enough {
                break;
            }
            for clip in distorted.iter_mut().chain([&mut reference]) {
                self.sources.check_cancelled()?;
                clip.skip()?;
            }
        }
        let lengths = (reference.count(), distorted.iter().map(CountedClip::count).collect());
        drop((reference, distorted));
        self.sources.clear();
        Ok(lengths)
    }
}
