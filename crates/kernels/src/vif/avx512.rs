//! VIF with AVX-512 and its instruction for sums of products of words.
//!
//! Data are laid out as for AVX2, with 16 columns in a vector and 32 in a block. Margins take half of a block, so that the last
//! block of a strip is half outside of it.

mod filter;
mod halve;
mod interleave;
mod logarithm;
mod moments;

use std::arch::x86_64::{__m512i, _mm512_setzero_si512};
use std::array;
use std::ops::Range;

use super::VifSums;
use super::bands::Band;
use super::filter::{MAX_PAIRS, SCALES, pairs, reach_in_pairs};
use super::log_table::LogPolynomials;
use super::pictures::Ladder;
use super::statistic::Scorer;
use super::strip::{RowReader, Strip};
use crate::PlaneSample;
use filter::{Weights, weights};
use logarithm::{DistortedAccumulator, Logarithm, ReferenceAccumulator};

/// Columns of a block.
const BLOCK: usize = 32;

/// Blocks of a strip with its margins.
const BLOCKS: usize = 8;

/// Columns of a strip without its margins.
const COLUMNS: usize = BLOCKS * BLOCK - 16;

/// Columns of a strip with its margins.
const WIDTH: usize = BLOCKS * BLOCK;

/// A pair of rows of a picture. For each block and parity of columns: the samples, and products. Products of bytes are one
/// word each, products of words two, the high one first.
#[derive(Clone, Debug)]
struct RowPair<const QUANTITIES: usize>([[[__m512i; QUANTITIES]; 2]; BLOCKS]);

/// Quantities of the reference: its samples and their squares.
const REFERENCE_BYTES: usize = 2;
const REFERENCE_WORDS: usize = 3;

/// Quantities of a distorted picture: its samples, their squares, and their products with the reference's.
const DISTORTED_BYTES: usize = 3;
const DISTORTED_WORDS: usize = 5;

/// A row between the passes. The block behind the last one is read by windows outside of the strip.
type Row = [[i16; BLOCK]; BLOCKS + 1];

/// Means, then high and low words of products.
const REFERENCE_ROWS: usize = 3;
const DISTORTED_ROWS: usize = 5;
type ReferenceRows = [Row; REFERENCE_ROWS];
type DistortedRows = [Row; DISTORTED_ROWS];

/// The mean and the variance of the reference at 16 columns.
type ReferenceMoments = [__m512i; 2];

/// The variance of the distorted picture at 16 columns, and its covariance with the reference.
type DistortedMoments = [__m512i; 2];

/// Pairs of rows of the reference whose moments are kept, so that all distorted pictures use them before they leave the cache.
/// Each distorted picture in turn has its own rows in the first-level cache.
const KEPT_PAIRS: usize = 4;

#[derive(Debug)]
pub(super) struct Avx512Strips {
    bytes: Windows<REFERENCE_BYTES, DISTORTED_BYTES>,
    words: Windows<REFERENCE_WORDS, DISTORTED_WORDS>,
    buffers: Box<Buffers>,
}

/// The pairs of rows under the windows of a reference and of its distorted pictures.
#[derive(Debug)]
struct Windows<const REFERENCE: usize, const DISTORTED: usize> {
    reference: RowRing<REFERENCE>,
    distorted: Vec<(RowRing<DISTORTED>, DistortedAccumulator)>,
}

/// The pair of rows at `position` is at `position + reach`, modulo the number of pairs under a window.
#[derive(Clone, Debug)]
struct RowRing<const QUANTITIES: usize>(Vec<RowPair<QUANTITIES>>);

#[derive(Debug)]
struct Buffers {
    weights: [Box<Weights>; SCALES],
    logarithm: Logarithm,
    /// Of the two rows of a pair.
    reference_rows: [ReferenceRows; 2],
    distorted_rows: [DistortedRows; 2],
    /// Means for the next scale.
    means: Row,
    /// Of the rows of the kept pairs.
    reference_moments: [[[[ReferenceMoments; 2]; BLOCKS]; 2]; KEPT_PAIRS],
    distorted_moments: [[DistortedMoments; 2]; BLOCKS],
}

impl<const QUANTITIES: usize> RowRing<QUANTITIES> {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn new() -> Self {
        Self(vec![RowPair([[[_mm512_setzero_si512(); QUANTITIES]; 2]; BLOCKS]); MAX_PAIRS])
    }

    /// The pairs under the windows around pair `middle`, of which `fill` reads the last.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn advance<const SCALE: usize>(
        &mut self,
        middle: usize,
        fill: impl FnOnce(isize, &mut RowPair<QUANTITIES>),
    ) -> [&RowPair<QUANTITIES>; MAX_PAIRS] {
        let (pairs, reach) = (const { pairs(SCALE) }, const { reach_in_pairs(SCALE) });
        fill(2 * (middle + reach).cast_signed(), &mut self.0[(middle + 2 * reach) % pairs]);
        array::from_fn(|pair| &self.0[(middle + pair) % pairs])
    }

    /// Reads the pairs under the window around pair `first` except the last.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn start<const SCALE: usize>(
        &mut self,
        first: usize,
        mut fill: impl FnMut(isize, &mut RowPair<QUANTITIES>),
    ) {
        let (pairs, reach) = (const { pairs(SCALE) }, const { reach_in_pairs(SCALE) });
        for slot in first..first + 2 * reach {
            fill(2 * (slot.cast_signed() - reach.cast_signed()), &mut self.0[slot % pairs]);
        }
    }
}

impl<const REFERENCE: usize, const DISTORTED: usize> Windows<REFERENCE, DISTORTED> {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn new() -> Self {
        Self { reference: RowRing::new(), distorted: Vec::new() }
    }

    /// Prepares for a band of so many distorted pictures.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn reset(&mut self, distorted: usize) {
        self.distorted.truncate(distorted);
        for (_, accumulator) in &mut self.distorted {
            *accumulator = DistortedAccumulator::new();
        }
        while self.distorted.len() < distorted {
            self.distorted.push((RowRing::new(), DistortedAccumulator::new()));
        }
    }
}

impl Avx512Strips {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn new(polynomials: &LogPolynomials) -> Self {
        let zero = _mm512_setzero_si512();
        let row = [[0; BLOCK]; BLOCKS + 1];
        let buffers = Buffers {
            weights: [weights(0), weights(1), weights(2), weights(3)],
            logarithm: Logarithm::new(polynomials),
            reference_rows: [[row; REFERENCE_ROWS]; 2],
            distorted_rows: [[row; DISTORTED_ROWS]; 2],
            means: row,
            reference_moments: [[[[[zero; 2]; 2]; BLOCKS]; 2]; KEPT_PAIRS],
            distorted_moments: [[[zero; 2]; 2]; BLOCKS],
        };
        Self { bytes: Windows::new(), words: Windows::new(), buffers: Box::new(buffers) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn measure_bytes(
        &mut self,
        ladder: &Ladder<'_, u8>,
        band: &mut Band<'_>,
        scorer: &Scorer,
        sums: &mut [VifSums],
    ) {
        let fill = &(
            |rows: [&[u8; WIDTH]; 2], blocks, pair: &mut _| interleave::reference_bytes(rows, blocks, pair),
            |reference: [&[u8; WIDTH]; 2], distorted: [&[u8; WIDTH]; 2], blocks, pair: &mut _| {
                interleave::distorted_bytes(reference, distorted, blocks, pair);
            },
        );
        self.buffers.measure::<u8, 0, REFERENCE_BYTES, DISTORTED_BYTES>(
            ladder,
            band,
            &mut self.bytes,
            fill,
            scorer,
            sums,
        );
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn measure_words(
        &mut self,
        scale: usize,
        ladder: &Ladder<'_, u16>,
        band: &mut Band<'_>,
        scorer: &Scorer,
        sums: &mut [VifSums],
    ) {
        let shift = ladder.shift;
        let fill = &(
            |rows: [&[u16; WIDTH]; 2], blocks, pair: &mut _| {
                interleave::reference_words(rows, shift, blocks, pair);
            },
            |reference: [&[u16; WIDTH]; 2], distorted: [&[u16; WIDTH]; 2], blocks, pair: &mut _| {
                interleave::distorted_words(reference, distorted, shift, blocks, pair);
            },
        );
        let Self { words, buffers, .. } = self;
        match scale {
            0 => buffers
                .measure::<u16, 0, REFERENCE_WORDS, DISTORTED_WORDS>(ladder, band, words, fill, scorer, sums),
            1 => buffers
                .measure::<u16, 1, REFERENCE_WORDS, DISTORTED_WORDS>(ladder, band, words, fill, scorer, sums),
            2 => buffers
                .measure::<u16, 2, REFERENCE_WORDS, DISTORTED_WORDS>(ladder, band, words, fill, scorer, sums),
            _ => buffers
                .measure::<u16, 3, REFERENCE_WORDS, DISTORTED_WORDS>(ladder, band, words, fill, scorer, sums),
        }
    }
}

impl Buffers {
    /// The functions `fill` make pairs of rows of so many blocks, of the reference and of a distorted picture.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn measure<T: PlaneSample, const SCALE: usize, const REFERENCE: usize, const DISTORTED: usize>(
        &mut self,
        ladder: &Ladder<'_, T>,
        band: &mut Band<'_>,
        windows: &mut Windows<REFERENCE, DISTORTED>,
        fill: &(
            impl Fn([&[T; WIDTH]; 2], usize, &mut RowPair<REFERENCE>),
            impl Fn([&[T; WIDTH]; 2], [&[T; WIDTH]; 2], usize, &mut RowPair<DISTORTED>),
        ),
        scorer: &Scorer,
        sums: &mut [VifSums],
    ) {
        let Self { weights, logarithm, .. } = self;
        let (weights, next_weights) = (&weights[SCALE], &weights[(SCALE + 1) % SCALES]);
        let (mut reference_reader, mut distorted_reader) = (RowReader::new(), RowReader::new());
        windows.reset(ladder.distorted.len());
        let Windows { reference, distorted } = windows;
        let mut accumulator = ReferenceAccumulator::new();
        let Range { start, end } = band.pairs;
        for strip in Strip::all(SCALE, ladder.width(), COLUMNS) {
            let blocks = strip.read_columns().div_ceil(BLOCK);
            let mut fill_reference = |at, pair: &mut _| {
                fill.0(reference_reader.rows(&ladder.reference, &strip, at), blocks, pair);
            };
            let mut other_reader = RowReader::new();
            let mut fill_distorted = |plane, at, pair: &mut _| {
                let reference = other_reader.rows(&ladder.reference, &strip, at);
                fill.1(reference, distorted_reader.rows(plane, &strip, at), blocks, pair);
            };
            reference.start::<SCALE>(start, &mut fill_reference);
            for (plane, (ring, _)) in ladder.distorted.iter().zip(&mut *distorted) {
                ring.start::<SCALE>(start, |at, pair| fill_distorted(plane, at, pair));
            }
            for first in (start..end).step_by(KEPT_PAIRS) {
                let kept = first..end.min(first + KEPT_PAIRS);
                for (middle, moments) in kept.clone().zip(&mut self.reference_moments) {
                    let window = reference.advance::<SCALE>(middle, &mut fill_reference);
                    filter::columns_of_pair::<SCALE, _, _>(
                        weights,
                        &window,
                        blocks,
                        &mut self.reference_rows,
                    );
                    let rows = self.reference_rows.iter().take(ladder.height() - 2 * middle);
                    for (rows, moments) in rows.zip(moments) {
                        moments::of_reference::<SCALE>(weights, rows, &strip, moments);
                        accumulator.add(&moments[..strip.columns.div_ceil(BLOCK)], logarithm);
                    }
                    if let Some(row) = band.halved.first_mut().and_then(|halved| halved.row_mut(middle)) {
                        halve::filter_columns::<SCALE, _, REFERENCE_ROWS>(
                            next_weights,
                            &window,
                            blocks,
                            &mut self.means,
                        );
                        halve::filter_rows::<SCALE>(next_weights, &self.means, &strip, row);
                    }
                }
                for (index, (ring, accumulator)) in distorted.iter_mut().enumerate() {
                    let plane = &ladder.distorted[index];
                    for (middle, moments) in kept.clone().zip(&self.reference_moments) {
                        let window =
                            ring.advance::<SCALE>(middle, |at, pair| fill_distorted(plane, at, pair));
                        filter::columns_of_pair::<SCALE, _, _>(
                            weights,
                            &window,
                            blocks,
                            &mut self.distorted_rows,
                        );
                        let rows = self.distorted_rows.iter().take(ladder.height() - 2 * middle);
                        for (rows, reference) in rows.zip(moments) {
                            let moments = &mut self.distorted_moments;
                            moments::of_distorted::<SCALE>(weights, rows, reference, &strip, moments);
                            let blocks = strip.columns.div_ceil(BLOCK);
                            accumulator.add(
                                &reference[..blocks],
                                &moments[..blocks],
                                scorer.limit,
                                logarithm,
                            );
                        }
                        if let Some(row) =
                            band.halved.get_mut(1 + index).and_then(|halved| halved.row_mut(middle))
                        {
                            halve::filter_columns::<SCALE, _, DISTORTED_ROWS>(
                                next_weights,
                                &window,
                                blocks,
                                &mut self.means,
                            );
                            halve::filter_rows::<SCALE>(next_weights, &self.means, &strip, row);
                        }
                    }
                }
            }
        }
        let samples = ladder.width() * (ladder.height().min(2 * end) - 2 * start);
        for (sums, (_, distorted)) in sums.iter_mut().zip(distorted) {
            *sums += distorted.sums(samples, &accumulator);
        }
    }
}
