//! Reads the worst moments of clips a second time, and makes pictures of them.
//!
//! All clips of a group are read side by side, so that their decoders run at the same time, and only as far as their last moment.
//! One picture of the reference and one of a distorted clip are in memory at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::cancel::OpenSources;
use super::pass::ProbedClip;
use super::{Request, ScoreError};
use crate::input::{self, FrameSource, InputError, ReadOptions, Tools};
use crate::moments::{
    ColourTags, MomentChoice, PictureBudget, PictureError, TaggedPicture, WorstMoment, frames_of_a_second,
    worst_rows,
};
use crate::outcome::{ScoringOutcome, Warning};
use crate::picture::{PictureBuffer, PictureFormat};

/// Further moments of a shot tell little more about it.
const MAX_PER_SHOT: usize = 2;
/// Each thread of a decoder holds frames of its own, and more than a few hardly make it faster.
const MAX_DECODER_THREADS: u32 = 8;

pub(super) struct MomentReader<'a> {
    pub(super) request: &'a Request,
    pub(super) tools: &'a Tools,
    pub(super) sources: &'a OpenSources,
    pub(super) reference: ProbedClip<'a>,
}

#[derive(Debug, thiserror::Error)]
enum MomentError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// A clip has fewer frames than when it was scored.
    #[error("frame {frame} is not there any more")]
    Gone { frame: u64 },
}

impl MomentError {
    fn reason(&self) -> &'static str {
        match self {
            Self::Input(error) => error.reason(),
            Self::Picture(error) => error.reason(),
            Self::Gone { .. } => "FrameGone",
        }
    }
}

/// A distorted clip and its moments.
struct WantedClip<'a> {
    clip: ProbedClip<'a>,
    outcome: &'a mut ScoringOutcome,
    /// By frame.
    scores: BTreeMap<u64, f64>,
}

impl MomentReader<'_> {
    /// Adds pictures to the outcomes of clips that were compared in one format. A failure is a warning, because the scores are
    /// complete; only a cancellation is an error.
    pub(super) fn add_to<'a>(
        &self,
        clips: impl IntoIterator<Item = (ProbedClip<'a>, &'a mut ScoringOutcome)>,
    ) -> Result<(), ScoreError> {
        let budget = PictureBudget::of_clips(self.request.distorted.len());
        let mut wanted: Vec<WantedClip<'a>> = clips
            .into_iter()
            .map(|(clip, outcome)| WantedClip { scores: moments_of(outcome, budget), clip, outcome })
            .collect();
        let result = self.read(&mut wanted, budget);
        self.sources.clear();
        self.sources.check_cancelled()?;
        if let Err(error) = result {
            for clip in wanted {
                clip.outcome.worst_moments.clear();
                clip.outcome.warnings.push(Warning::PicturesFailed { reason: error.reason().to_owned() });
            }
            return Ok(());
        }
        for clip in wanted {
            clip.outcome.worst_moments.sort_by(|a, b| a.score.total_cmp(&b.score));
        }
        Ok(())
    }

    fn read(&self, clips: &mut [WantedClip<'_>], budget: PictureBudget) -> Result<(), MomentError> {
        let all: BTreeSet<u64> = clips.iter().flat_map(|clip| clip.scores.keys().copied()).collect();
        let (Some(range), Some(format)) =
            (span(all.iter()), clips.first().map(|clip| clip.outcome.alignment.format))
        else {
            return Ok(());
        };
        let mut reference =
            self.open(self.reference, self.request.reference_offset, format, range.clone())?;
        let mut distorted = Vec::with_capacity(clips.len());
        for clip in clips.iter() {
            let source = span(clip.scores.keys())
                .map(|range| self.open(clip.clip, self.request.distorted_offset, format, range));
            distorted.push(source.transpose()?);
        }
        let mut pictures = [PictureBuffer::new(format), PictureBuffer::new(format)];
        let [of_reference, of_distorted] = &mut pictures;
        for frame in range {
            if self.sources.check_cancelled().is_err() {
                return Ok(());
            }
            reference.advance(frame, all.contains(&frame), of_reference)?;
            for (clip, source) in clips.iter_mut().zip(&mut distorted) {
                let Some(source) = source.as_mut().filter(|source| source.range.contains(&frame)) else {
                    continue;
                };
                let score = clip.scores.get(&frame).copied();
                source.advance(frame, score.is_some(), of_distorted)?;
                if let Some(score) = score {
                    clip.add((frame, score), self.reference, (of_reference, of_distorted), budget)?;
                }
            }
        }
        Ok(())
    }

    /// Nothing else uses the threads of the comparison now, so its clips share them.
    fn decoder_threads(&self) -> u32 {
        let clips = u32::try_from(self.request.distorted.len() + 1).unwrap_or(u32::MAX);
        (self.request.measuring_threads() / clips).clamp(1, MAX_DECODER_THREADS)
    }

    fn open(
        &self,
        clip: ProbedClip<'_>,
        offset: u64,
        format: PictureFormat,
        range: RangeInclusive<u64>,
    ) -> Result<MomentSource, InputError> {
        let options = ReadOptions {
            skip: offset + range.start(),
            take: Some(range.end() - range.start() + 1),
            decoder_threads: Some(self.decoder_threads()),
            scale_filter: self.request.scale_filter,
            activity: self.request.activity.clone(),
            ..ReadOptions::whole(format)
        };
        let source = input::open(clip.clip, clip.probe, &options, self.tools)?;
        self.sources.add(source.stop_handle());
        Ok(MomentSource { source, range })
    }
}

/// A clip that is open from its first moment to its last.
struct MomentSource {
    source: Box<dyn FrameSource>,
    range: RangeInclusive<u64>,
}

impl MomentSource {
    fn advance(
        &mut self,
        frame: u64,
        is_wanted: bool,
        picture: &mut PictureBuffer,
    ) -> Result<(), MomentError> {
        let is_there =
            if is_wanted { self.source.read(&mut picture.planes_mut())? } else { self.source.skip()? };
        if is_there { Ok(()) } else { Err(MomentError::Gone { frame }) }
    }
}

impl WantedClip<'_> {
    fn add(
        &mut self,
        moment: (u64, f64),
        reference_clip: ProbedClip<'_>,
        (reference, distorted): (&PictureBuffer, &PictureBuffer),
        budget: PictureBudget,
    ) -> Result<(), MomentError> {
        let (of_reference, of_distorted) =
            (ColourTags::of(reference_clip.probe), ColourTags::of(self.clip.probe));
        self.outcome.worst_moments.push(WorstMoment::encode(
            moment,
            TaggedPicture { picture: reference, tags: of_reference.or(of_distorted) },
            TaggedPicture { picture: distorted, tags: of_distorted.or(of_reference) },
            budget.max_bytes,
        )?);
        Ok(())
    }
}

/// The score of each moment by the first model.
fn moments_of(outcome: &ScoringOutcome, budget: PictureBudget) -> BTreeMap<u64, f64> {
    let choice = MomentChoice {
        count: budget.moments,
        min_distance: frames_of_a_second(outcome),
        max_per_shot: MAX_PER_SHOT,
    };
    let rows = worst_rows(outcome, choice).into_iter();
    rows.filter_map(|row| Some((outcome.frames[row], *outcome.models.first()?.scores.get(row)?))).collect()
}

/// From the first frame to the last; `None` if there are none.
fn span<'a>(mut frames: impl DoubleEndedIterator<Item = &'a u64>) -> Option<RangeInclusive<u64>> {
    let first = *frames.next()?;
    Some(first..=frames.next_back().copied().unwrap_or(first))
}
