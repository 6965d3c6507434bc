//! Calls of functions that need CPU features.
#![allow(unsafe_code, reason = "only here is it known which features the CPU has")]

use super::VifSums;
use super::avx2::Avx2Strips;
use super::log_table::LogTable;
use super::pictures::{Halved, Pair};
use super::statistic::GainLimit;
use crate::InstructionSet;

/// Kernels for AVX2. A value exists only on a CPU that has it.
#[derive(Debug)]
pub(super) struct Avx2Vif(Avx2Strips);

impl Avx2Vif {
    pub(super) fn new() -> Option<Self> {
        // SAFETY: the CPU has AVX2.
        InstructionSet::Avx2.is_available().then(|| Self(unsafe { Avx2Strips::new() }))
    }

    pub(super) fn measure_bytes(
        &mut self,
        pair: &Pair<'_, u8>,
        halved: &mut Halved,
        table: &LogTable,
        limit: GainLimit,
    ) -> VifSums {
        // SAFETY: `new` found that the CPU has AVX2.
        unsafe { self.0.measure_bytes(pair, halved, table, limit) }
    }

    pub(super) fn measure_words(
        &mut self,
        scale: usize,
        pair: &Pair<'_, u16>,
        halved: Option<&mut Halved>,
        table: &LogTable,
        limit: GainLimit,
    ) -> VifSums {
        // SAFETY: `new` found that the CPU has AVX2.
        unsafe { self.0.measure_words(scale, pair, halved, table, limit) }
    }
}
