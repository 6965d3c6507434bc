//! The rows of the kernels for instruction sets.

use super::avx2::{self, LEAD};
use super::kernels::Rows;
use super::scalar;
use crate::InstructionSet;
use crate::simd::{Simd, dispatch};

/// The largest depth whose differences can be added in 16 bits.
const MAX_DEPTH: u32 = 12;

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
            let row = || vec![0; width.next_multiple_of(16) + 16];
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
        dispatch!(self.simd, (), avx2::difference_bytes(earlier, row, differences));
    }

    fn sum(&mut self, rows: [usize; 5]) -> u64 {
        self.sum_of_rows(rows)
    }
}

impl Rows<u16> for VectorRows {
    fn difference(&mut self, y: usize, earlier: &mut [u16], row: &[u16]) {
        let differences = &mut self.differences[y % 5];
        dispatch!(self.simd, (), avx2::difference_words(earlier, row, differences));
    }

    fn sum(&mut self, rows: [usize; 5]) -> u64 {
        self.sum_of_rows(rows)
    }
}

impl VectorRows {
    fn sum_of_rows(&mut self, rows: [usize; 5]) -> u64 {
        let slices = rows.map(|row| self.differences[row % 5].as_slice());
        let (width, blurred) = (self.width, &mut self.blurred);
        let saturated =
            dispatch!(self.simd, true, avx2::vertical(self.depth, width, slices, &mut blurred[LEAD..]));
        if saturated {
            return self.sum_exactly(rows);
        }
        for offset in 1..=LEAD {
            blurred[LEAD - offset] = blurred[LEAD + offset];
            blurred[LEAD + width - 1 + offset] = blurred[LEAD + width - 1 - offset];
        }
        dispatch!(self.simd, 0, avx2::horizontal(width, blurred))
    }
}
