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

/// Calls the kernel for the instruction set: `dispatch!(simd, scalar(..), avx2(..))`, and `avx512(..)` behind that if there is one.
///
/// The calls of functions with CPU features in its expansion are the only unsafe code of this crate.
macro_rules! dispatch {
    ($simd:expr, $scalar:expr, $avx2:expr, $avx512:expr) => {
        match $simd.set() {
            #[cfg(target_arch = "x86_64")]
            crate::InstructionSet::Avx512 => {
                // SAFETY: a `Simd` is only made for an instruction set that this CPU has.
                #[allow(unsafe_code)]
                let result = unsafe { $avx512 };
                result
            }
            _ => crate::simd::dispatch!($simd, $scalar, $avx2),
        }
    };
    ($simd:expr, $scalar:expr, $avx2:expr) => {
        match $simd.set() {
            #[cfg(target_arch = "x86_64")]
            set if set >= crate::InstructionSet::Avx2 => {
                // SAFETY: a `Simd` is only made for an instruction set that this CPU has, and the better ones include AVX2.
                #[allow(unsafe_code)]
                let result = unsafe { $avx2 };
                result
            }
            _ => $scalar,
        }
    };
}

pub(crate) use dispatch;
