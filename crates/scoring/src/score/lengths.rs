//! Decides which lengths may be compared. Pure.
//!
//! A clip that is longer than the other is not read to its end, because that could take hours and would change nothing. So
//! the length of the longer one is what its file says about it, or else a lower bound. The shorter one was read to its end,
//! which its source has verified: a clip that broke off is an error and not a short clip.

use std::fmt;
use std::path::Path;

use super::ScoreError;

/// The number of frames of a clip after its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameCount {
    Exactly(u64),
    /// The clip was read this far, and has at least one frame more than the other.
    AtLeast(u64),
    /// By the duration and the frame rate of a clip that was not read to its end.
    About(u64),
}

impl FrameCount {
    /// The number, which for [`Self::AtLeast`] is a lower bound and for [`Self::About`] an estimate.
    pub const fn number(self) -> u64 {
        match self {
            Self::Exactly(frames) | Self::AtLeast(frames) | Self::About(frames) => frames,
        }
    }

    pub const fn is_exact(self) -> bool {
        matches!(self, Self::Exactly(_))
    }

    /// Of a clip that was not read to its end, what its file says about its length.
    #[must_use]
    pub(super) fn or_as_the_file_says(self, exactly: Option<u64>, estimate: Option<u64>) -> Self {
        match (self, exactly, estimate) {
            (Self::AtLeast(_), Some(frames), _) => Self::Exactly(frames),
            (Self::AtLeast(bound), None, Some(frames)) if frames > bound => Self::About(frames),
            _ => self,
        }
    }
}

impl fmt::Display for FrameCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(frames) => write!(f, "{frames}"),
            Self::AtLeast(frames) => write!(f, "at least {frames}"),
            Self::About(frames) => write!(f, "about {frames}"),
        }
    }
}

/// Frames by which the estimates of two short clips may differ: the sound goes on for twenty seconds.
const UNCERTAIN_FRAMES: u64 = 500;

/// Numbers of frames of two clips, after their offsets. Once frames were read, at least one of them is exact, and the other is larger if it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) reference: FrameCount,
    pub(super) distorted: FrameCount,
}

impl Lengths {
    pub(super) const fn exactly(reference: u64, distorted: u64) -> Self {
        Self { reference: FrameCount::Exactly(reference), distorted: FrameCount::Exactly(distorted) }
    }

    /// Frames that both clips have.
    pub(super) fn paired(self) -> u64 {
        match (self.reference, self.distorted) {
            (FrameCount::Exactly(reference), FrameCount::Exactly(distorted)) => reference.min(distorted),
            (FrameCount::Exactly(frames), _) | (_, FrameCount::Exactly(frames)) => frames,
            (reference, distorted) => reference.number().min(distorted.number()),
        }
    }

    /// Refuses clips that must not be compared. Paths and offsets are for the message.
    pub(super) fn check(
        self,
        shortest: bool,
        (reference, reference_offset): (&Path, u64),
        (distorted, distorted_offset): (&Path, u64),
    ) -> Result<(), ScoreError> {
        if self.reference == FrameCount::Exactly(0) {
            return Err(ScoreError::NoFrames { path: reference.to_owned(), offset: reference_offset });
        }
        if self.distorted == FrameCount::Exactly(0) {
            return Err(ScoreError::NoFrames { path: distorted.to_owned(), offset: distorted_offset });
        }
        if self.differ() && !shortest {
            return Err(ScoreError::LengthsDiffer {
                reference: reference.to_owned(),
                reference_frames: self.reference,
                distorted: distorted.to_owned(),
                distorted_frames: self.distorted,
            });
        }
        Ok(())
    }

    /// Whether the clips certainly have different lengths. Of two clips that were both not read to their end that is
    /// certain only if their estimates are far apart: a duration includes the sound, which may be longer than the pictures.
    fn differ(self) -> bool {
        match (self.reference, self.distorted) {
            (FrameCount::About(reference), FrameCount::About(distorted)) => {
                let (shorter, longer) = (reference.min(distorted), reference.max(distorted));
                longer > shorter.saturating_mul(2).saturating_add(UNCERTAIN_FRAMES)
            }
            (reference, distorted) => {
                (reference.is_exact() || distorted.is_exact()) && reference != distorted
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use FrameCount::{About, AtLeast, Exactly};
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::exact(Exactly(3), Some(9), Some(8), Exactly(3))]
    #[case::by_the_size_of_the_file(AtLeast(4), Some(9), Some(8), Exactly(9))]
    #[case::by_its_duration(AtLeast(4), None, Some(8), About(8))]
    #[case::by_a_duration_that_is_wrong(AtLeast(4), None, Some(2), AtLeast(4))]
    #[case::unknown(AtLeast(4), None, None, AtLeast(4))]
    fn the_file_tells_the_length_of_a_clip_that_was_not_read(
        #[case] read: FrameCount,
        #[case] exactly: Option<u64>,
        #[case] estimate: Option<u64>,
        #[case] expected: FrameCount,
    ) {
        assert_eq!(read.or_as_the_file_says(exactly, estimate), expected);
    }

    #[rstest]
    #[case(Exactly(3), Exactly(3), None, 3)]
    #[case(Exactly(3), Exactly(5), Some(("3", "5")), 3)]
    #[case(Exactly(3), AtLeast(4), Some(("3", "at least 4")), 3)]
    #[case(About(900), Exactly(3), Some(("about 900", "3")), 3)]
    #[case(AtLeast(4), AtLeast(4), None, 4)]
    #[case::before_a_frame_is_read(About(9000), About(300), Some(("about 9000", "about 300")), 300)]
    #[case::longer_sound(About(900), About(300), None, 300)]
    fn lengths_differ_when_one_clip_ended_and_the_other_goes_on(
        #[case] reference: FrameCount,
        #[case] distorted: FrameCount,
        #[case] message: Option<(&str, &str)>,
        #[case] paired: u64,
    ) {
        let lengths = Lengths { reference, distorted };
        let (ours, theirs) = ((Path::new("r"), 0), (Path::new("d"), 0));
        let refused = lengths.check(false, ours, theirs).err().map(|error| error.to_string());
        let expected = message.map(|(ours, theirs)| format!("r has {ours} frames and d has {theirs} (after"));
        assert_eq!(refused.is_some(), expected.is_some());
        assert!(refused.unwrap_or_default().starts_with(&expected.unwrap_or_default()));
        assert!(lengths.check(true, ours, theirs).is_ok());
        assert_eq!(lengths.paired(), paired);
    }
}
