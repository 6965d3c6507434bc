//! The rows of the kernels for instruction sets, and what these kernels share.

use super::kernels::Rows;
use super::{FILTER, avx2, avx512, scalar};
use crate::InstructionSet;
use crate::simd::{Simd, dispatch};

/// The largest depth whose differences can be added in 16 bits.
const MAX_DEPTH: u32 = 12;

/// Mirrored samples before the first column of a blurred row, and behind the last one.
const LEAD: usize = 2;

/// Defines a kernel for the difference of the earlier row and this one, which replaces it.
macro_rules! difference {
    ($features:literal, $name:ident, $sample:ty, |$before:ident, $now:ident| $subtract:expr, $store:path) => {
        #[target_feature(enable = $features)]
        pub(super) fn $name(earlier: &mut [$sample], row: &[$sample], differences: &mut [i16]) {
            let whole = row.len() - row.len() % LANES;
            let (before, before_rest) = earlier.split_at_mut(whole);
            let (now, now_rest) = row.split_at(whole);
            let (first, rest) = differences.split_at_mut(whole);
            let vectors = before.as_chunks_mut::<LANES>().0.iter_mut().zip(now.as_chunks::<LANES>().0);
            for (($before, $now), difference) in vectors.zip(first.as_chunks_mut::<LANES>().0) {
                $store(difference, $subtract);
                *$before = *$now;
            }
            for ((before, now), difference) in before_rest.iter_mut().zip(now_rest).zip(rest) {
                #[allow(clippy::cast_possible_truncation)] // At most 12 bits and a sign.
                let value = (i32::from(*before) - i32::from(*now)) as i16;
                *difference = value;
                *before = *now;
            }
        }
    };
}

pub(super) use difference;

/// The horizontal pass from column `from` on, and the sum of the magnitudes. `row` starts two samples before the first.
pub(super) fn rest_of_sum(from: usize, length: usize, row: &[i16]) -> u64 {
    let magnitudes = row[from..length + 2 * LEAD].windows(5).map(|window| {
        let sum: i32 = window.iter().zip(FILTER).map(|(&value, tap)| i32::from(value) * i32::from(tap)).sum();
        u64::from(((sum + (1 << 15)) >> 16).unsigned_abs())
    });
    magnitudes.sum()
}

#[derive(Clone, Debug)]
pub(super) struct VectorRows {
    simd: Simd,
    depth: u32,
    width: usize,
    /// By row modulo 5.
    differences: [Vec<i16>; 5],
    /// With mirrored samples at both ends.
    blurred: Vec<i16>,
}

impl VectorRows {
    pub(super) fn new(simd: Simd, width: usize, depth: u32) -> Option<Self> {
        (simd.set() >= InstructionSet::Avx2 && depth <= MAX_DEPTH).then(|| {
            let row = || vec![0; width.next_multiple_of(32) + 32];
            Self { simd, depth, width, differences: [(); 5].map(|()| row()), blurred: row() }
        })
    }

    /// A row of which a blurred difference does not fit into 16 bits.
    #[cold]
    fn sum_exactly(&self, rows: [usize; 5]) -> u64 {
        let rows = rows.map(|row| -> Vec<i32> {
            self.differences[row % 5][..self.width].iter().copied().map(i32::from).collect()
        });
        let mut blurred = vec![0; self.width];
        scalar::vertical(self.depth, rows.each_ref().map(Vec::as_slice), &mut blurred);
        scalar::horizontal(&blurred)
    }
}

impl Rows<u8> for VectorRows {
    fn difference(&mut self, y: usize, earlier: &mut [u8], row: &[u8]) {
        let differences = &mut self.differences[y % 5];
        dispatch!(
            self.simd,
            (),
            avx2::difference_bytes(earlier, row, differences),
            avx512::difference_bytes(earlier, row, differences)
        );
    }

    fn sum(&mut self, rows: [usize; 5]) -> u64 {
        self.sum_of_rows(rows)
    }
}

impl Rows<u16> for VectorRows {
    fn difference(&mut self, y: usize, earlier: &mut [u16], row: &[u16]) {
        let differences = &mut self.differences[y % 5];
        dispatch!(
            self.simd,
            (),
            avx2::difference_words(earlier, row, differences),
            avx512::difference_words(earlier, row, differences)
        );
    }

    fn sum(&mut self, rows: [usize; 5]) -> u64 {
        self.sum_of_rows(rows)
    }
}

impl VectorRows {
    fn sum_of_rows(&mut self, rows: [usize; 5]) -> u64 {
        let slices = rows.map(|row| self.differences[row % 5].as_slice());
        let (width, blurred) = (self.width, &mut self.blurred);
        let saturated = dispatch!(
            self.simd,
            true,
            avx2::vertical(self.depth, width, slices, &mut blurred[LEAD..]),
            avx512::vertical(self.depth, width, slices, &mut blurred[LEAD..])
        );
        if saturated {
            return self.sum_exactly(rows);
        }
        for offset in 1..=LEAD {
            blurred[LEAD - offset] = blurred[LEAD + offset];
            blurred[LEAD + width - 1 + offset] = blurred[LEAD + width - 1 - offset];
        }
        dispatch!(self.simd, 0, avx2::horizontal(width, blurred), avx512::horizontal(width, blurred))
    }
}
