//! The scores of one distorted clip before its outcome is built.

use super::lengths::Lengths;
use crate::engine::session::FrameScores;
use crate::shots::{FrameDifference, Shot, shots};

pub(super) struct ScoredClip {
    pub(super) scores: FrameScores,
    pub(super) lengths: Lengths,
    pub(super) shots: Vec<Shot>,
}

impl ScoredClip {
    /// `differences` are those of the reference, which may be longer.
    pub(super) fn new(scores: FrameScores, lengths: Lengths, differences: &[FrameDifference]) -> Self {
        let paired = usize::try_from(lengths.paired()).unwrap_or(usize::MAX).min(differences.len());
        Self { scores, lengths, shots: shots(&differences[..paired]) }
    }
}
