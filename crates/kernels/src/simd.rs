//! The check that makes calls of functions for an instruction set sound.

use crate::InstructionSet;

/// This CPU does not have the instruction set that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this CPU does not have {0}")]
pub struct UnavailableInstructionSet(pub InstructionSet);

/// An instruction set that this CPU has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simd(InstructionSet);

impl Simd {
    pub(crate) fn new(set: InstructionSet) -> Result<Self, UnavailableInstructionSet> {
        if set.is_available() { Ok(Self(set)) } else { Err(UnavailableInstructionSet(set)) }
    }

    pub(crate) fn set(self) -> InstructionSet {
        self.0
    }
}
