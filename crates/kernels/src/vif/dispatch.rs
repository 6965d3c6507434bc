//! Calls of functions that need CPU features.
#![allow(unsafe_code, reason = "only here is it known which features the CPU has")]

use std::fmt::Debug;

use super::VifSums;
use super::avx2::Avx2Strips;
use super::avx512::Avx512Strips;
use super::log_table::{LogPolynomials, LogTable};
use super::pictures::{Halved, Pair};
use super::statistic::GainLimit;
use crate::InstructionSet;

/// Measures one scale strip by strip, and fills the next one.
pub(super) trait StripKernel: Debug + Send {
    fn measure_bytes(
        &mut self,
        pair: &Pair<'_, u8>,
        halved: &mut Halved,
        table: &LogTable,
        limit: GainLimit,
    ) -> VifSums;

    /// The last scale has no next one.
    fn measure_words(
        &mut self,
        scale: usize,
        pair: &Pair<'_, u16>,
        halved: Option<&mut Halved>,
        table: &LogTable,
        limit: GainLimit,
    ) -> VifSums;
}

/// The kernel for an instruction set, if there is one and the CPU has it.
pub(super) fn kernel(set: InstructionSet, table: &LogTable) -> Option<Box<dyn StripKernel>> {
    if set == InstructionSet::Scalar || !set.is_available() {
        return None;
    }
    let polynomials = if set == InstructionSet::Avx512 { LogPolynomials::new(table) } else { None };
    Some(match polynomials {
        // SAFETY: the CPU has AVX-512 with VNNI.
        Some(polynomials) => Box::new(Avx512Kernel(unsafe { Avx512Strips::new(&polynomials) })),
        // SAFETY: the CPU has AVX2, as every one with AVX-512 has.
        None => Box::new(Avx2Kernel(unsafe { Avx2Strips::new() })),
    })
}

/// A value exists only on a CPU that has AVX2.
#[derive(Debug)]
struct Avx2Kernel(Avx2Strips);

impl StripKernel for Avx2Kernel {
    fn measure_bytes(
        &mut self,
        pair: &Pair<'_, u8>,
        halved: &mut Halved,
        table: &LogTable,
        limit: GainLimit,
    ) -> VifSums {
        // SAFETY: the CPU has AVX2.
        unsafe { self.0.measure_bytes(pair, halved, table, limit) }
    }

    fn measure_words(
        &mut self,
        scale: usize,
        pair: &Pair<'_, u16>,
        halved: Option<&mut Halved>,
        table: &LogTable,
        limit: GainLimit,
    ) -> VifSums {
        // SAFETY: the CPU has AVX2.
        unsafe { self.0.measure_words(scale, pair, halved, table, limit) }
    }
}

/// A value exists only on a CPU that has AVX-512 with VNNI.
#[derive(Debug)]
struct Avx512Kernel(Avx512Strips);

impl StripKernel for Avx512Kernel {
    fn measure_bytes(
        &mut self,
        pair: &Pair<'_, u8>,
        halved: &mut Halved,
        _table: &LogTable,
        limit: GainLimit,
    ) -> VifSums {
        // SAFETY: the CPU has AVX-512 with VNNI.
        unsafe { self.0.measure_bytes(pair, halved, limit) }
    }

    fn measure_words(
        &mut self,
        scale: usize,
        pair: &Pair<'_, u16>,
        halved: Option<&mut Halved>,
        _table: &LogTable,
        limit: GainLimit,
    ) -> VifSums {
        // SAFETY: the CPU has AVX-512 with VNNI.
        unsafe { self.0.measure_words(scale, pair, halved, limit) }
    }
}
