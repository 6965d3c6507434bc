//! Why a job has no score.

use serde::{Deserialize, Serialize};

/// One word, with its number on the wire. 1 to 19: the job is at fault and a repetition fails again. 20 to 39: the
/// machine or the network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// Nothing is at the input's address.
    InputNotFound = 1,
    /// Outside the scoring roots, or the store denies access.
    InputDenied = 2,
    /// Cannot be decoded, is cut short, or has another shape than told.
    InputInvalid = 3,
    /// Beyond a limit.
    InputTooLarge = 4,
    /// Different frame counts or sizes.
    ClipsDiffer = 5,
    /// There is no such model.
    ModelNotFound = 6,
    /// It does not load, or is not the one that was asked for.
    ModelInvalid = 7,
    /// An option is unknown or contradicts another.
    OptionsInvalid = 8,
    /// The input's or the model's store does not answer.
    SourceUnreachable = 20,
    /// The worker was ended for its memory.
    OutOfMemory = 21,
    /// The worker died.
    WorkerCrashed = 22,
    /// The worker made no progress for too long.
    WorkerStalled = 23,
    /// No room for the inputs.
    ScratchFull = 24,
    /// The report could not be written.
    ReportNotWritten = 25,
    /// A fault of ours.
    Internal = 26,
    /// A word of a later release; the number beside it says whose fault it is.
    #[serde(other)]
    Other = 39,
}

impl Reason {
    /// Its number on the wire.
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// Whether another attempt may succeed.
    pub const fn may_pass(self) -> bool {
        self.number() >= 20
    }
}
