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

use super::VifSums;
use super::filter::{MAX_PAIRS, SCALES, pairs, reach_in_pairs};
use super::log_table::LogPolynomials;
use super::pictures::{Halved, Pair};
use super::statistic::GainLimit;
use super::strip::{RowReader, Strip};
use crate::PlaneSample;
use filter::{Weights, weights};
use logarithm::{LogAccumulator, Logarithm};

/// Columns of a block.
const BLOCK: usize = 32;

/// Blocks of a strip with its margins.
const BLOCKS: usize = 8;

/// Columns of a strip without its margins.
const COLUMNS: usize = BLOCKS * BLOCK - 16;

/// Columns of a strip with its margins.
const WIDTH: usize = BLOCKS * BLOCK;

/// A pair of rows. For each block and parity of columns: the reference, the distorted picture, and their products. Products of
/// bytes are one word each (`QUANTITIES` 5), products of words two (8), the high one first.
#[derive(Clone, Debug)]
struct RowPair<const QUANTITIES: usize>([[[__m512i; QUANTITIES]; 2]; BLOCKS]);

const OF_BYTES: usize = 5;
const OF_WORDS: usize = 8;

/// A row between the passes: means of the reference and of the distorted picture, then high and low words of the products.
/// The block behind the last one is read by windows outside of the strip.
type Row = [[i16; BLOCK]; BLOCKS + 1];
type Rows = [Row; OF_WORDS];

/// The variances of the reference and the distorted picture, and their covariance, at 16 columns.
type Variances = [__m512i; 3];

#[derive(Debug)]
pub(super) struct Avx512Strips {
    byte_pairs: Vec<RowPair<OF_BYTES>>,
    word_pairs: Vec<RowPair<OF_WORDS>>,
    buffers: Box<Buffers>,
}

#[derive(Debug)]
struct Buffers {
    weights: [Box<Weights>; SCALES],
    logarithm: Logarithm,
    /// Of the two rows of a pair.
    rows: [Rows; 2],
    /// Means for the next scale.
    means: [Row; 2],
    variances: [[Variances; 2]; BLOCKS],
}

impl Avx512Strips {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn new(polynomials: &LogPolynomials) -> Self {
        let zero = _mm512_setzero_si512();
        let buffers = Buffers {
            weights: [weights(0), weights(1), weights(2), weights(3)],
            logarithm: Logarithm::new(polynomials),
            rows: [[[[0; BLOCK]; BLOCKS + 1]; OF_WORDS]; 2],
            means: [[[0; BLOCK]; BLOCKS + 1]; 2],
            variances: [[[zero; 3]; 2]; BLOCKS],
        };
        Self {
            byte_pairs: vec![RowPair([[[zero; OF_BYTES]; 2]; BLOCKS]); MAX_PAIRS],
            word_pairs: vec![RowPair([[[zero; OF_WORDS]; 2]; BLOCKS]); MAX_PAIRS],
            buffers: Box::new(buffers),
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn measure_bytes(
        &mut self,
        pair: &Pair<'_, u8>,
        halved: &mut Halved,
        limit: GainLimit,
    ) -> VifSums {
        let Self { byte_pairs, buffers, .. } = self;
        let mut read = RowReader::<_, WIDTH>::new(pair);
        let fill = |strip: &Strip, at: isize, rows: &mut RowPair<OF_BYTES>| {
            interleave::bytes(read.rows(strip, at), strip.read_columns().div_ceil(BLOCK), rows);
        };
        buffers.measure::<0, OF_BYTES>(pair, byte_pairs, fill, Some(halved), limit)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn measure_words(
        &mut self,
        scale: usize,
        pair: &Pair<'_, u16>,
        halved: Option<&mut Halved>,
        limit: GainLimit,
    ) -> VifSums {
        let Self { word_pairs, buffers, .. } = self;
        let mut read = RowReader::<_, WIDTH>::new(pair);
        let fill = |strip: &Strip, at: isize, rows: &mut RowPair<OF_WORDS>| {
            interleave::words(read.rows(strip, at), pair.shift, strip.read_columns().div_ceil(BLOCK), rows);
        };
        match scale {
            0 => buffers.measure::<0, OF_WORDS>(pair, word_pairs, fill, halved, limit),
            1 => buffers.measure::<1, OF_WORDS>(pair, word_pairs, fill, halved, limit),
            2 => buffers.measure::<2, OF_WORDS>(pair, word_pairs, fill, halved, limit),
            _ => buffers.measure::<3, OF_WORDS>(pair, word_pairs, fill, halved, limit),
        }
    }
}

impl Buffers {
    /// `fill` reads the pair of rows that starts at an even position, which may be outside the picture.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn measure<const SCALE: usize, const QUANTITIES: usize>(
        &mut self,
        pair: &Pair<'_, impl PlaneSample>,
        row_pairs: &mut [RowPair<QUANTITIES>],
        mut fill: impl FnMut(&Strip, isize, &mut RowPair<QUANTITIES>),
        mut halved: Option<&mut Halved>,
        limit: GainLimit,
    ) -> VifSums {
        let (pairs, reach) = (const { pairs(SCALE) }, const { reach_in_pairs(SCALE) });
        let ring = &mut row_pairs[..pairs];
        let Self { weights, logarithm, rows, means, variances } = self;
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
                    accumulator.add(&variances[..strip.columns.div_ceil(BLOCK)], logarithm);
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
