//! Decides which lengths may be compared. Pure.

use std::path::Path;

use super::ScoreError;

/// Numbers of frames of two clips, after their offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) reference: u64,
    pub(super) distorted: u64,
}

impl Lengths {
    /// Frames that both clips have.
    pub(super) fn paired(self) -> u64 {
        self.reference.min(self.distorted)
    }

    /// Refuses clips that must not be compared. Paths and offsets are for the message.
    pub(super) fn check(
        self,
        shortest: bool,
        (reference, reference_offset): (&Path, u64),
        (distorted, distorted_offset): (&Path, u64),
    ) -> Result<(), ScoreError> {
        if self.reference == 0 {
            return Err(ScoreError::NoFrames { path: reference.to_owned(), offset: reference_offset });
        }
        if self.distorted == 0 {
            return Err(ScoreError::NoFrames { path: distorted.to_owned(), offset: distorted_offset });
        }
        if self.reference != self.distorted && !shortest {
            return Err(ScoreError::LengthsDiffer {
                reference: reference.to_owned(),
                reference_frames: self.reference,
                distorted: distorted.to_owned(),
                distorted_frames: self.distorted,
            });
        }
        Ok(())
    }
}
