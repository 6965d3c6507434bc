//! Calls of functions that need CPU features.
#![allow(unsafe_code, reason = "only here is it known which features the CPU has")]

use std::fmt::Debug;

use super::VifSums;
use super::avx2::Avx2Strips;
use super::avx512::Avx512Strips;
use super::bands::Band;
use super::log_table::{LogPolynomials, LogTable};
use super::pictures::Ladder;
use super::statistic::Scorer;
use crate::InstructionSet;

/// Measures bands of one scale strip by strip, and fills the next one. Sums of each distorted picture are added.
pub(super) trait StripKernel: Debug + Send {
    fn measure_bytes(
        &mut self,
        ladder: &Ladder<'_, u8>,
        band: &mut Band<'_>,
        scorer: &Scorer,
        sums: &mut [VifSums],
    );

    fn measure_words(
        &mut self,
        scale: usize,
        ladder: &Ladder<'_, u16>,
        band: &mut Band<'_>,
        scorer: &Scorer,
        sums: &mut [VifSums],
    );
}

/// Kernels for an instruction set that the CPU has.
#[derive(Debug)]
pub(super) struct StripKernels {
    /// For AVX-512. It is not used with a logarithm that no polynomials reach.
    polynomials: Option<LogPolynomials>,
    kernels: Vec<Box<dyn StripKernel>>,
}

impl StripKernels {
    /// `None` if there is no kernel for the instruction set, or the CPU does not have it.
    pub(super) fn new(set: InstructionSet, table: &LogTable) -> Option<Self> {
        if set == InstructionSet::Scalar || !set.is_available() {
            return None;
        }
        let polynomials = if set == InstructionSet::Avx512 { LogPolynomials::new(table) } else { None };
        let kernels = vec![kernel(polynomials.as_ref())];
        Some(Self { polynomials, kernels })
    }

    /// A kernel for each of so many threads. Those of helping threads are kept only until the next call.
    pub(super) fn of_threads(&mut self, threads: usize) -> &mut [Box<dyn StripKernel>] {
        self.kernels.resize_with(threads.max(1), || kernel(self.polynomials.as_ref()));
        &mut self.kernels
    }
}

/// Only [`StripKernels`] calls this, which exists only on a CPU that has AVX2, and which has polynomials only on one with
/// AVX-512.
fn kernel(polynomials: Option<&LogPolynomials>) -> Box<dyn StripKernel> {
    match polynomials {
        // SAFETY: the CPU has AVX-512 with VNNI.
        Some(polynomials) => Box::new(Avx512Kernel(unsafe { Avx512Strips::new(polynomials) })),
        // SAFETY: the CPU has AVX2, as every one with AVX-512 has.
        None => Box::new(Avx2Kernel(unsafe { Avx2Strips::new() })),
    }
}

/// A value exists only on a CPU that has AVX2.
#[derive(Debug)]
struct Avx2Kernel(Avx2Strips);

/// A value exists only on a CPU that has AVX-512 with VNNI.
#[derive(Debug)]
struct Avx512Kernel(Avx512Strips);

macro_rules! strip_kernel {
    ($kernel:ty) => {
        impl StripKernel for $kernel {
            fn measure_bytes(
                &mut self,
                ladder: &Ladder<'_, u8>,
                band: &mut Band<'_>,
                scorer: &Scorer,
                sums: &mut [VifSums],
            ) {
                // SAFETY: a value of this type exists only on a CPU that has the features of the function.
                unsafe { self.0.measure_bytes(ladder, band, scorer, sums) }
            }

            fn measure_words(
                &mut self,
                scale: usize,
                ladder: &Ladder<'_, u16>,
                band: &mut Band<'_>,
                scorer: &Scorer,
                sums: &mut [VifSums],
            ) {
                // SAFETY: as above.
                unsafe { self.0.measure_words(scale, ladder, band, scorer, sums) }
            }
        }
    };
}

strip_kernel!(Avx2Kernel);
strip_kernel!(Avx512Kernel);
