//! The calls of functions that are compiled for an instruction set. All unsafe code of the crate is here.

use crate::InstructionSet;

/// Proves that this CPU has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// `None` if the instruction set is below AVX2, or the CPU does not have AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn new(set: InstructionSet) -> Option<Self> {
        let is_available = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
        (set >= InstructionSet::Avx2 && is_available).then_some(Self(()))
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn new(_: InstructionSet) -> Option<Self> {
        None
    }
}

/// Declares methods of [`Avx2`] that call functions for AVX2 and FMA.
macro_rules! avx2_functions {
    ($($(#[$attribute:meta])* fn $name:ident $(<$generic:ident>)? ($($argument:ident: $type:ty),* $(,)?)
        $(-> $result:ty)? = $path:path;)*) => {
        impl Avx2 {
            $(
                #[allow(unsafe_code)]
                $(#[$attribute])*
                pub(super) fn $name $(<$generic: crate::PlaneSample>)? (self, $($argument: $type),*) $(-> $result)? {
                    // SAFETY: `self` proves that the CPU has the features that the function is compiled for.
                    unsafe { $path($($argument),*) }
                }
            )*
        }
    };
}

pub(crate) use avx2_functions;
