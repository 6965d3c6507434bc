//! VIF with AVX2.
//!
//! A vector has the 8 even or the 8 odd columns of a block of 16. Rows are kept in pairs: a lane of 32 bits has the samples
//! of one column in two rows, so that one multiplication with pairs of weights takes two rows. The same vector serves the two
//! windows around both rows, with different weights. Between the passes a row is kept as words in natural order, and
//! the horizontal pass does with pairs of columns what the vertical pass does with pairs of rows.
//!
//! All words are signed. A mean or a half of a product that has 16 bits is kept less 32768: as the weights of a window add up
//! to 65536, its sum is less by 2^31, which drops out or is put back by the value that a sum starts from. A product of 32
//! bits is kept as two words, and `(sum(w * v) + 2^15) >> 16` is `sum(w * high) + ((sum(w * low) + 2^15) >> 16)`.

mod filter;
mod halve;
mod interleave;
mod logarithm;
mod moments;

use std::arch::x86_64::{__m256i, _mm256_setzero_si256};
use std::array;

use super::VifSums;
use super::filter::{MAX_PAIRS, SCALES, pairs, reach_in_pairs};
use super::log_table::LogTable;
use super::pictures::{Halved, Pair};
use super::statistic::GainLimit;
use super::strip::{RowReader, Strip};
use crate::PlaneSample;
use filter::{Weights, weights};
use logarithm::LogAccumulator;

/// Columns of a block.
const BLOCK: usize = 16;

/// Blocks of a strip with its margins.
const BLOCKS: usize = 9;

/// Columns of a strip without its margins.
const COLUMNS: usize = (BLOCKS - 1) * BLOCK;

/// Columns of a strip with its margins.
const WIDTH: usize = BLOCKS * BLOCK;

/// A pair of rows. For each block and parity of columns: the reference, the distorted picture, and their products. Products of
/// bytes are one word each (`QUANTITIES` 5), products of words two (8), the high one first.
#[derive(Clone, Debug)]
struct RowPair<const QUANTITIES: usize>([[[__m256i; QUANTITIES]; 2]; BLOCKS]);

const OF_BYTES: usize = 5;
const OF_WORDS: usize = 8;

/// A row between the passes: means of the reference and of the distorted picture, then high and low words of the products.
type Row = [[i16; BLOCK]; BLOCKS];
type Rows = [Row; OF_WORDS];

/// The variances of the reference and the distorted picture, and their covariance, at 8 columns.
type Variances = [__m256i; 3];

#[derive(Debug)]
pub(super) struct Avx2Strips {
    byte_pairs: Vec<RowPair<OF_BYTES>>,
    word_pairs: Vec<RowPair<OF_WORDS>>,
    buffers: Box<Buffers>,
}

#[derive(Debug)]
struct Buffers {
    weights: [Box<Weights>; SCALES],
    /// Of the two rows of a pair.
    rows: [Rows; 2],
    /// Means for the next scale.
    means: [Row; 2],
    variances: [[Variances; 2]; BLOCKS - 1],
}

impl Avx2Strips {
    #[target_feature(enable = "avx2")]
    pub(super) fn new() -> Self {
        let zero = _mm256_setzero_si256();
        let buffers = Buffers {
            weights: [weights(0), weights(1), weights(2), weights(3)],
            rows: [[[[0; BLOCK]; BLOCKS]; OF_WORDS]; 2],
            means: [[[0; BLOCK]; BLOCKS]; 2],
            variances: [[[zero; 3]; 2]; BLOCKS - 1],
        };
        Self {
            byte_pairs: vec![RowPair([[[zero; OF_BYTES]; 2]; BLOCKS]); MAX_PAIRS],
            word_pairs: vec![RowPair([[[zero; OF_WORDS]; 2]; BLOCKS]); MAX_PAIRS],
            buffers: Box::new(buffers),
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn measure_bytes(
        &mut self,
        pair: &Pair<'_, u8>,
        halved: &mut Halved,
        table: &LogTable,
        limit: GainLimit,
    ) -> VifSums {
        let Self { byte_pairs, buffers, .. } = self;
        let mut read = RowReader::<_, WIDTH>::new(pair);
        let fill = |strip: &Strip, at: isize, rows: &mut RowPair<OF_BYTES>| {
            interleave::bytes(read.rows(strip, at), strip.read_columns().div_ceil(BLOCK), rows);
        };
        buffers.measure::<0, OF_BYTES>(pair, byte_pairs, fill, Some(halved), table, limit)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn measure_words(
        &mut self,
        scale: usize,
        pair: &Pair<'_, u16>,
        halved: Option<&mut Halved>,
        table: &LogTable,
        limit: GainLimit,
    ) -> VifSums {
        let Self { word_pairs, buffers, .. } = self;
        let mut read = RowReader::<_, WIDTH>::new(pair);
        let fill = |strip: &Strip, at: isize, rows: &mut RowPair<OF_WORDS>| {
            interleave::words(read.rows(strip, at), pair.shift, strip.read_columns().div_ceil(BLOCK), rows);
        };
        match scale {
            0 => buffers.measure::<0, OF_WORDS>(pair, word_pairs, fill, halved, table, limit),
            1 => buffers.measure::<1, OF_WORDS>(pair, word_pairs, fill, halved, table, limit),
            2 => buffers.measure::<2, OF_WORDS>(pair, word_pairs, fill, halved, table, limit),
            _ => buffers.measure::<3, OF_WORDS>(pair, word_pairs, fill, halved, table, limit),
        }
    }
}

impl Buffers {
    /// `fill` reads the pair of rows that starts at an even position, which may be outside the picture.
    #[target_feature(enable = "avx2")]
    fn measure<const SCALE: usize, const QUANTITIES: usize>(
        &mut self,
        pair: &Pair<'_, impl PlaneSample>,
        row_pairs: &mut [RowPair<QUANTITIES>],
        mut fill: impl FnMut(&Strip, isize, &mut RowPair<QUANTITIES>),
        mut halved: Option<&mut Halved>,
        table: &LogTable,
        limit: GainLimit,
    ) -> VifSums {
        let (pairs, reach) = (const { pairs(SCALE) }, const { reach_in_pairs(SCALE) });
        let ring = &mut row_pairs[..pairs];
        let Self { weights, rows, means, variances } = self;
        let (weights, next_weights) = (&weights[SCALE], &weights[(SCALE + 1) % SCALES]);
        let mut sums = VifSums::default();
        for strip in Strip::all(SCALE, pair.width(), COLUMNS) {
            let mut accumulator = LogAccumulator::new(limit);
            for (ahead, rows) in ring[..2 * reach].iter_mut().enumerate() {
                fill(&strip, 2 * (ahead.cast_signed() - reach.cast_signed()), rows);
            }
            for middle in 0..pair.height().div_ceil(2) {
                let newest = middle + reach;
                fill(&strip, 2 * newest.cast_signed(), &mut ring[(middle + 2 * reach) % pairs]);
                let window: [&RowPair<QUANTITIES>; MAX_PAIRS] =
                    array::from_fn(|pair| &ring[(middle + pair) % pairs]);
                filter::columns_of_pair::<SCALE, QUANTITIES>(
                    weights,
                    &window,
                    strip.read_columns().div_ceil(BLOCK),
                    rows,
                );
                for rows in rows.iter().take(pair.height() - 2 * middle) {
                    moments::variances::<SCALE>(weights, rows, &strip, variances);
                    accumulator.add(&variances[..strip.columns.div_ceil(BLOCK)], table);
                }
                if let Some(halved) = halved.as_deref_mut()
                    && middle < halved.height
                {
                    halve::filter_columns::<SCALE, QUANTITIES>(
                        next_weights,
                        &window,
                        strip.read_columns().div_ceil(BLOCK),
                        means,
                    );
                    halve::filter_rows::<SCALE>(next_weights, means, &strip, middle, halved);
                }
            }
            sums += accumulator.sums(strip.columns * pair.height());
        }
        sums
    }
}
