//! Where a coefficient's share in its own masking threshold wraps around at 16 bits.
//!
//! At scale 0 the fifteenth of a coefficient exceeds 16 bits if neighbouring samples alternate between black and white, as in a
//! checkerboard or in noise of two values. libvmaf's C code stores it in 16 bits. Its vector code keeps all bits, but takes only
//! as many columns as fill its vectors and leaves the rest of a row to the C code.

use crate::InstructionSet;

/// The arithmetic of libvmaf that ADM follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskingOverflow {
    /// All columns wrap around: libvmaf's C code.
    Everywhere,
    /// The columns behind the last whole group of six scored ones: libvmaf's code for AVX2.
    Avx2,
    /// The columns behind the last whole group of fourteen scored ones: libvmaf's code for AVX-512.
    Avx512,
}

impl MaskingOverflow {
    /// What libvmaf does with this instruction set.
    pub fn of(set: InstructionSet) -> Self {
        match set {
            InstructionSet::Scalar => Self::Everywhere,
            InstructionSet::Avx2 => Self::Avx2,
            InstructionSet::Avx512 => Self::Avx512,
        }
    }

    /// What libvmaf does on this CPU, whatever instruction set our kernels use.
    pub fn of_libvmaf() -> Self {
        Self::of(InstructionSet::of_libvmaf())
    }

    /// How many of the scored columns of a row, from the first on, do not wrap around.
    pub(super) fn exact_columns(self, scored: usize) -> usize {
        match self {
            Self::Everywhere => 0,
            Self::Avx2 => scored - scored % 6,
            Self::Avx512 => scored - scored % 14,
        }
    }
}
