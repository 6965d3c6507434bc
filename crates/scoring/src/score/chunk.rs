//! Cuts a clip into chunks that can be scored separately, on several machines too, and merges their scores.
//!
//! A score depends on one pair of frames, except for motion, which depends on neighbouring frames of the reference. The models
//! for high frame rates use the widest window: motion of frame `i` averages `i` and `i - 1`, each of which takes the smaller
//! of two differences between frames that are two apart. The window reaches four frames back and one ahead:
//!
//! ```text
//! motion3[i] = (motion2[i] + motion2[i - 1]) / 2
//! motion2[i] = min(sad[i - 1], sad[i + 1])          sad[i] compares frame i with frame i - 2
//! ```
//!
//! So a chunk is read from [`LEAD`] frames before it to [`TAIL`] frames after it, and its scores equal those of one pass in
//! every bit. Three frames of lead are not enough, as `three_frames_of_lead_would_not_be_enough` shows.

use std::ops::Range;

use crate::engine::session::FrameScores;

/// Frames of the reference that must be read before a chunk.
pub const LEAD: u64 = 4;
/// Frames of the reference that must be read after a chunk.
pub const TAIL: u64 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The frames that are scored.
    pub frames: Range<u64>,
    /// Frames of the reference to read before them.
    pub lead: u64,
    /// Frames of the reference to read after them.
    pub tail: u64,
}

impl Chunk {
    /// A whole clip of any length.
    pub fn whole() -> Self {
        Self { frames: 0..u64::MAX, lead: 0, tail: 0 }
    }

    /// The frames of the reference that are read.
    pub fn read_range(&self) -> Range<u64> {
        self.frames.start - self.lead..self.frames.end.saturating_add(self.tail)
    }
}

/// Cuts `frames` frames into at most `count` chunks of nearly equal size. No chunk is smaller than the frames that must be
/// read around it, so a short clip has fewer.
pub fn plan(frames: u64, count: u32) -> Vec<Chunk> {
    let count = u64::from(count).min(frames / (LEAD + TAIL)).max(1);
    let start = |index: u64| {
        // In 128 bits, because frames times chunks may not fit into 64.
        u64::try_from(u128::from(frames) * u128::from(index) / u128::from(count)).unwrap_or(frames)
    };
    (0..count)
        .map(|index| {
            let range = start(index)..start(index + 1);
            Chunk { lead: LEAD.min(range.start), tail: TAIL.min(frames - range.end), frames: range }
        })
        .collect()
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// A frame is missing or duplicated.
    #[error("frame {expected} is expected next, not {}", found.map_or("nothing".to_owned(), |frame| format!("frame {frame}")))]
    Frames { expected: u64, found: Option<u64> },
    #[error("the chunk from frame {frame} on has other models or features than the first")]
    Unlike { frame: u64 },
}

/// Merges the scores of chunks in any order. Every `step`-th of `frames` frames must be there exactly once.
pub fn merge(mut parts: Vec<FrameScores>, frames: u64, step: u64) -> Result<FrameScores, MergeError> {
    // A chunk that is smaller than the step may have no scored frame.
    parts.retain(|part| !part.frames.is_empty());
    parts.sort_by_key(|part| part.frames.first().copied());
    let mut parts = parts.into_iter();
    let mut whole = parts.next().unwrap_or_default();
    for part in parts {
        append(&mut whole, part)?;
    }
    let step = usize::try_from(step).unwrap_or(usize::MAX).max(1);
    let mut found = whole.frames.iter().copied();
    for expected in (0..frames).step_by(step) {
        let found = found.next();
        if found != Some(expected) {
            return Err(MergeError::Frames { expected, found });
        }
    }
    match found.next() {
        Some(extra) => Err(MergeError::Frames { expected: frames, found: Some(extra) }),
        None => Ok(whole),
    }
}

fn append(whole: &mut FrameScores, part: FrameScores) -> Result<(), MergeError> {
    let frame = part.frames.first().copied().unwrap_or(0);
    let alike = whole.models.len() == part.models.len()
        && whole.features.keys().eq(part.features.keys())
        && whole.models.iter().zip(&part.models).all(|(a, b)| a.intervals.is_some() == b.intervals.is_some());
    if !alike {
        return Err(MergeError::Unlike { frame });
    }
    whole.frames.extend(part.frames);
    for (whole, part) in whole.models.iter_mut().zip(part.models) {
        whole.scores.extend(part.scores);
        if let (Some(whole), Some(part)) = (&mut whole.intervals, part.intervals) {
            whole.extend(part);
        }
    }
    for (whole, part) in whole.features.values_mut().zip(part.features.into_values()) {
        whole.extend(part);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scores(frames: Range<u64>) -> FrameScores {
        FrameScores { frames: frames.collect(), ..FrameScores::default() }
    }

    proptest! {
        #[test]
        fn every_frame_is_in_exactly_one_chunk(frames in 0_u64..5_000, count in 0_u32..40) {
            let chunks = plan(frames, count);
            prop_assert!(chunks.len() <= count.max(1) as usize);
            let covered: Vec<u64> = chunks.iter().flat_map(|chunk| chunk.frames.clone()).collect();
            prop_assert_eq!(covered, (0..frames).collect::<Vec<_>>());
        }

        #[test]
        fn every_chunk_reads_the_window_of_motion(frames in 1_u64..5_000, count in 1_u32..40) {
            for chunk in plan(frames, count) {
                prop_assert!(chunk.lead == LEAD || chunk.read_range().start == 0);
                prop_assert!(chunk.tail == TAIL || chunk.read_range().end == frames);
                prop_assert!(chunk.read_range().end <= frames);
            }
        }

        #[test]
        fn chunks_in_any_order_make_the_whole(frames in 1_u64..500, count in 1_u32..9, turn in 0_usize..9) {
            let mut parts: Vec<_> = plan(frames, count).into_iter().map(|chunk| scores(chunk.frames)).collect();
            let turn = turn % parts.len();
            parts.rotate_left(turn);
            prop_assert_eq!(merge(parts, frames, 1), Ok(scores(0..frames)));
        }
    }

    #[test]
    fn a_missing_chunk_is_an_error() {
        let missing = merge(vec![scores(0..5), scores(10..15)], 15, 1);
        assert_eq!(missing, Err(MergeError::Frames { expected: 5, found: Some(10) }));
        let short = merge(vec![scores(0..5)], 6, 1);
        assert_eq!(short, Err(MergeError::Frames { expected: 5, found: None }));
    }

    #[test]
    fn a_duplicated_chunk_is_an_error() {
        assert!(merge(vec![scores(0..5), scores(0..5)], 5, 1).is_err());
        assert!(merge(vec![scores(0..5), scores(4..10)], 10, 1).is_err());
    }

    #[test]
    fn a_clip_of_three_frames_is_not_cut() {
        assert_eq!(plan(3, 7), [Chunk { frames: 0..3, lead: 0, tail: 0 }]);
    }
}
