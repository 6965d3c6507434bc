//! Responses with AVX2.
//!
//! Counts are stored by column, one byte for each sample, so that counts of neighbouring samples are neighbours. The counts of
//! 32 samples around that of a pixel are summed over the columns of its window and kept in two registers; as long as the sample
//! of the next pixel is among them, the window moves by adding the difference of two columns. The responses to the counts are
//! computed afterwards, four pixels at a time.

use std::arch::x86_64::{
    __m128i, __m256, __m256d, __m256i, _mm_and_si128, _mm_cmpgt_epi8, _mm_cmpgt_ps, _mm_cvtsi128_si64,
    _mm_max_epu16, _mm_movemask_epi8, _mm_movemask_ps, _mm_or_si128, _mm_packs_epi16, _mm_setzero_ps,
    _mm_shufflelo_epi16, _mm256_add_epi16, _mm256_add_epi32, _mm256_add_pd, _mm256_castpd_ps,
    _mm256_castps_pd, _mm256_castps_si256, _mm256_castps256_ps128, _mm256_castsi256_ps,
    _mm256_castsi256_si128, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32, _mm256_cvtepi8_epi16, _mm256_cvtepi32_ps,
    _mm256_cvtepu8_epi16, _mm256_cvtps_pd, _mm256_div_ps, _mm256_extracti128_si256, _mm256_max_ps,
    _mm256_mul_ps, _mm256_mulhi_epu16, _mm256_mullo_epi16, _mm256_permute_ps, _mm256_permute2x128_si256,
    _mm256_permute4x64_pd, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_pd, _mm256_setzero_si256,
    _mm256_sub_epi8, _mm256_sub_epi32, _mm256_testz_si256, _mm256_unpackhi_epi16, _mm256_unpackhi_ps,
    _mm256_unpacklo_epi16, _mm256_unpacklo_ps,
};

use safe_unaligned_simd::x86_64::{
    _mm_loadu_si64, _mm_loadu_si128, _mm_storeu_ps, _mm256_loadu_si256, _mm256_storeu_pd, _mm256_storeu_si256,
};

use super::super::contrast::Contrast;
use super::super::pool::ResponseTotals;
use super::super::raster::{ROW_PADDING, Raster};

/// Steps that one vector holds on either side of a sample.
const MAX_STEPS: u16 = 4;
const STEPS: usize = MAX_STEPS as usize;

/// Samples whose counts are summed together.
const SPAN: usize = 32;

/// Pixels whose responses are computed together.
const GROUP: usize = 4;

const CACHE_LINE: usize = 64;

/// Four numbers of 16 bits, one for each step.
type Four = u64;
/// Four ones.
const EACH: Four = 0x0001_0001_0001_0001;

/// For each column of the picture and each sample, how often the sample occurs in the rows of the window.
#[derive(Clone, Debug)]
pub(in super::super) struct ColumnCounts {
    counts: Vec<u8>,
    /// An odd number of cache lines, so that the same sample of different columns has different places in the cache.
    stride: usize,
    /// The first sample that is counted.
    first: u16,
    /// How many are.
    samples: u16,
    /// For each sample that is counted, the weights of its steps.
    weights: Vec<Four>,
    window: usize,
    row: RowCounts,
    /// The mask of a row of which nothing counts.
    no_mask: Vec<u8>,
    /// Counts whose reciprocals in libvmaf's table are next above or below the quotient.
    rounded_up: Vec<i32>,
    rounded_down: Vec<i32>,
}

/// The counts for each pixel of a row.
#[derive(Clone, Debug)]
struct RowCounts {
    /// Pixels a step away. Zero where there is no response.
    others: Vec<Four>,
    /// Pixels with the same sample, four times. Never zero.
    same: Vec<Four>,
    weights: Vec<Four>,
}

impl ColumnCounts {
    /// `None` if there are more steps than a vector holds.
    pub(in super::super) fn new(contrast: &Contrast, width: usize, window: usize) -> Option<Self> {
        let steps = contrast.steps();
        if steps > MAX_STEPS {
            return None;
        }
        let visible = contrast.visible();
        let first = visible.start.saturating_sub(steps);
        let end = if visible.is_empty() { first } else { visible.end + steps };
        let lines = (usize::from(end - first) + 2 * SPAN).div_ceil(CACHE_LINE);
        let stride = (lines | 1) * CACHE_LINE;
        let weights = |sample: u16| {
            let weights = if visible.contains(&sample) { contrast.weights(sample) } else { &[] };
            (0..STEPS).rev().fold(0, |four, step| {
                four << 16 | weights.get(step).map_or(0, |&weight| u64::from(weight.unsigned_abs()))
            })
        };
        let rounded = |bits: i32| {
            let reciprocals = contrast.reciprocals().iter().zip(0_u16..).skip(1);
            let counts = reciprocals.filter(move |&(reciprocal, count)| {
                reciprocal.to_bits().cast_signed() - (1.0 / f32::from(count)).to_bits().cast_signed() == bits
            });
            counts.map(|(_, count)| i32::from(count)).collect()
        };
        let length = width + ROW_PADDING;
        Some(Self {
            counts: vec![0; stride * (width + window + 1)],
            stride,
            first,
            samples: end - first,
            weights: (first..end).map(weights).collect(),
            window,
            no_mask: vec![0; length],
            row: RowCounts { others: vec![0; length], same: vec![EACH; length], weights: vec![0; length] },
            rounded_up: rounded(1),
            rounded_down: rounded(-1),
        })
    }

    fn index(&self, sample: u16) -> Option<usize> {
        let index = sample.wrapping_sub(self.first);
        (index < self.samples).then_some(usize::from(index))
    }

    /// Counts a row of pixels, and no longer counts another.
    #[target_feature(enable = "avx2")]
    fn slide(&mut self, entering: MaskedRow<'_>, leaving: MaskedRow<'_>, width: usize) {
        for start in (0..width).step_by(CHANGES) {
            let mut changes = entering.changes(&leaving, start);
            while changes != 0 {
                let x = start + changes.trailing_zeros() as usize;
                changes &= changes - 1;
                if x >= width {
                    break;
                }
                let column = (x + self.window / 2 + 1) * self.stride + SPAN;
                if entering.mask[x] != 0
                    && let Some(index) = self.index(entering.image[x])
                {
                    self.counts[column + index] += 1;
                }
                if leaving.mask[x] != 0
                    && let Some(index) = self.index(leaving.image[x])
                {
                    self.counts[column + index] -= 1;
                }
            }
        }
    }
}

/// Pixels whose changes are found together.
const CHANGES: usize = 16;

/// A row with its padding; pixels outside of the mask do not count.
#[derive(Clone, Copy)]
struct MaskedRow<'a> {
    image: &'a [u16],
    mask: &'a [u8],
}

impl MaskedRow<'_> {
    /// A bit for each pixel that counts in one row only, or has another sample.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn changes(&self, other: &Self, start: usize) -> u32 {
        let mask = |row: &Self| _mm_loadu_si128(row.mask[start..].first_chunk().unwrap_or(&[0_u8; CHANGES]));
        let image =
            |row: &Self| _mm256_loadu_si256(row.image[start..].first_chunk().unwrap_or(&[0_u16; CHANGES]));
        let (flat, other_flat) = (mask(self), mask(other));
        let equal = _mm256_cmpeq_epi16(image(self), image(other));
        let equal = _mm_packs_epi16(_mm256_castsi256_si128(equal), _mm256_extracti128_si256::<1>(equal));
        let counted = _mm_or_si128(flat, other_flat);
        let unchanged = _mm_and_si128(_mm_and_si128(flat, other_flat), equal);
        // Masks are 0 or 1.
        let changed = _mm_cmpgt_epi8(counted, unchanged);
        _mm_movemask_epi8(changed).cast_unsigned()
    }
}

/// The counts of [`SPAN`] samples in a window.
#[derive(Clone, Copy)]
struct Sums {
    low: __m256i,
    high: __m256i,
}

impl Sums {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn zero() -> Self {
        Self { low: _mm256_setzero_si256(), high: _mm256_setzero_si256() }
    }

    /// Adds a column.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn enter(self, counts: &[u8], at: usize) -> Self {
        let column: &[u8; SPAN] = column(counts, at);
        let (low, high) = (column.first_chunk().unwrap_or(&[0; 16]), column.last_chunk().unwrap_or(&[0; 16]));
        Self {
            low: _mm256_add_epi16(self.low, _mm256_cvtepu8_epi16(_mm_loadu_si128::<[u8; 16]>(low))),
            high: _mm256_add_epi16(self.high, _mm256_cvtepu8_epi16(_mm_loadu_si128::<[u8; 16]>(high))),
        }
    }

    /// Adds a column and subtracts another.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn slide(self, counts: &[u8], entering: usize, leaving: usize) -> Self {
        // Counts of a column are at most 65, so their difference has a sign.
        let entering = _mm256_loadu_si256(column(counts, entering));
        let change = _mm256_sub_epi8(entering, _mm256_loadu_si256(column(counts, leaving)));
        let (low, high) = (_mm256_castsi256_si128(change), _mm256_extracti128_si256::<1>(change));
        Self {
            low: _mm256_add_epi16(self.low, _mm256_cvtepi8_epi16(low)),
            high: _mm256_add_epi16(self.high, _mm256_cvtepi8_epi16(high)),
        }
    }

    /// Three times 16 sums, from the first, the ninth and the seventeenth, so that any nine neighbours are stored at once: a load
    /// from two stores would wait for both.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn store(self, sums: &mut [[u16; SPAN / 2]; 3]) {
        _mm256_storeu_si256(&mut sums[0], self.low);
        _mm256_storeu_si256(&mut sums[1], _mm256_permute2x128_si256::<0x21>(self.low, self.high));
        _mm256_storeu_si256(&mut sums[2], self.high);
    }
}

#[inline(always)]
fn column(counts: &[u8], at: usize) -> &[u8; SPAN] {
    counts[at..].first_chunk().unwrap_or(&[0; SPAN])
}

/// The responses; see [`super::respond`].
#[target_feature(enable = "avx2")]
pub(crate) fn respond(
    image: &Raster<u16>,
    mask: &Raster<u8>,
    columns: &mut ColumnCounts,
    responses: &mut Raster<f32>,
) -> ResponseTotals {
    let (width, height) = (image.width(), image.height());
    let half = columns.window / 2;
    responses.resize(width, height);
    let used = columns.stride * (width + columns.window + 1);
    columns.counts[..used].fill(0);
    columns.row.others.fill(0);
    let row = |y: usize| MaskedRow { image: image.padded_row(y), mask: mask.padded_row(y) };
    let no_mask = std::mem::take(&mut columns.no_mask);
    // Any image, since nothing of it counts.
    let nothing = MaskedRow { image: image.padded_row(0), mask: &no_mask };
    for y in 0..half.min(height) {
        columns.slide(row(y), nothing, width);
    }
    let mut totals = Totals { sum: _mm256_setzero_pd(), positive: 0 };
    for y in 0..height {
        let entering = if y + half < height { row(y + half) } else { nothing };
        let leaving = y.checked_sub(half + 1).map_or(nothing, row);
        columns.slide(entering, leaving, width);
        count_row(image.row(y), mask.row(y), columns);
        respond_to_counts(columns, &mut totals, responses.padded_row_mut(y), width);
    }
    columns.no_mask = no_mask;
    let mut sums = [0.0; 4];
    _mm256_storeu_pd(&mut sums, totals.sum);
    ResponseTotals { sum: sums.iter().sum(), positive: totals.positive as usize }
}

/// Fills the counts of a row where others than the pixel's own are not zero.
#[target_feature(enable = "avx2")]
fn count_row(image: &[u16], mask: &[u8], columns: &mut ColumnCounts) {
    let ColumnCounts { counts, stride, first: first_sample, weights, window, row, .. } = columns;
    let (stride, window) = (*stride, *window);
    let mut sums = Sums::zero();
    let mut stored = [[0_u16; SPAN / 2]; 3];
    // The pixel that `sums` belongs to, and the first of its samples.
    let (mut centre, mut first) = (usize::MAX / 2, 0);
    // Where the first column of its window leaves, and how far behind the next one enters.
    let (mut leaving, window_length) = (0, window * stride);
    let results = row.others.iter_mut().zip(&mut row.same).zip(&mut row.weights);
    let pixels = image.iter().zip(mask).zip(results).enumerate();
    for (x, ((&sample, &flat), ((others, same), own_weights))) in pixels {
        if flat == 0 {
            continue;
        }
        let index = usize::from(sample.wrapping_sub(*first_sample));
        let weights = weights.get(index).copied().unwrap_or(0);
        if weights == 0 {
            continue;
        }
        // Columns have `SPAN` more samples before the first.
        let place = index + SPAN;
        // Not near if `centre` is beyond all pixels.
        let is_near = x.wrapping_sub(centre) <= window / 2;
        if is_near && place.wrapping_sub(first + STEPS) < SPAN - 2 * STEPS {
            while centre < x {
                sums = sums.slide(counts, leaving + window_length, leaving);
                leaving += stride;
                centre += 1;
            }
        } else {
            (centre, first) = (x, place - SPAN / 2);
            // There is a column before the first, which is zero.
            leaving = (x + 1) * stride + first;
            sums = Sums::zero();
            for column in x + 1..=x + window {
                sums = sums.enter(counts, column * stride + first);
            }
        }
        sums.store(&mut stored);
        // The sum of the sample `STEPS` below, in the part that has all nine.
        let lowest = place - first - STEPS;
        let lowest = lowest + lowest / 8 * 8;
        let nine = nine(stored.as_flattened(), lowest);
        let counts =
            _mm_max_epu16(four(nine, STEPS + 1), _mm_shufflelo_epi16::<0b00_01_10_11>(four(nine, 0)));
        *others = _mm_cvtsi128_si64(counts).cast_unsigned();
        *same = Four::from(nine[STEPS]) * EACH;
        *own_weights = weights;
    }
}

/// A sample's sum and those of `STEPS` samples on both sides.
type Nine = [u16; 2 * STEPS + 1];

#[inline(always)]
fn nine(sums: &[u16], at: usize) -> &Nine {
    sums[at..].first_chunk().unwrap_or(&[0; 2 * STEPS + 1])
}

#[target_feature(enable = "avx2")]
#[inline]
fn four(nine: &Nine, at: usize) -> __m128i {
    _mm_loadu_si64(nine[at..].first_chunk::<4>().unwrap_or(&[0; 4]))
}

/// Sums of doubles are exact, whatever their order, up to what matters in [`super::super::pool`].
struct Totals {
    sum: __m256d,
    positive: u32,
}

/// The responses to the counts of a row, which become zero.
#[target_feature(enable = "avx2")]
fn respond_to_counts(columns: &mut ColumnCounts, totals: &mut Totals, responses: &mut [f32], width: usize) {
    let ColumnCounts { row, rounded_up, rounded_down, .. } = columns;
    let groups = row.others.as_chunks_mut::<GROUP>().0.iter_mut();
    let groups = groups.zip(row.same.as_chunks::<GROUP>().0).zip(row.weights.as_chunks::<GROUP>().0);
    let groups = groups.zip(responses.as_chunks_mut::<GROUP>().0).take(width.div_ceil(GROUP));
    for (((others, same), weights), responses) in groups {
        let counts = _mm256_loadu_si256(others);
        if _mm256_testz_si256(counts, counts) != 0 {
            *responses = [0.0; GROUP];
            continue;
        }
        *others = [0; GROUP];
        let same = _mm256_loadu_si256(same);
        // Weights are at most 4 and counts at most 4225, so neither products nor sums overflow.
        let weighted = _mm256_mullo_epi16(_mm256_loadu_si256(weights), same);
        let both = _mm256_add_epi16(counts, same);
        let zero = _mm256_setzero_si256();
        let (low, high) = (_mm256_mullo_epi16(weighted, counts), _mm256_mulhi_epu16(weighted, counts));
        // The first and third pixel, and the second and fourth.
        let even = step_responses(
            _mm256_unpacklo_epi16(low, high),
            _mm256_unpacklo_epi16(both, zero),
            rounded_up,
            rounded_down,
        );
        let odd = step_responses(
            _mm256_unpackhi_epi16(low, high),
            _mm256_unpackhi_epi16(both, zero),
            rounded_up,
            rounded_down,
        );
        let pairs = _mm256_max_ps(_mm256_unpacklo_ps(even, odd), _mm256_unpackhi_ps(even, odd));
        let largest = _mm256_max_ps(pairs, _mm256_permute_ps::<0b01_00_11_10>(pairs));
        let packed = _mm256_permute4x64_pd::<0b00_00_10_00>(_mm256_castps_pd(largest));
        let packed = _mm256_castps256_ps128(_mm256_castpd_ps(packed));
        _mm_storeu_ps(responses, packed);
        totals.sum = _mm256_add_pd(totals.sum, _mm256_cvtps_pd(packed));
        totals.positive += _mm_movemask_ps(_mm_cmpgt_ps(packed, _mm_setzero_ps())).count_ones();
    }
}

/// Products times reciprocals of sums, with those roundings of the reciprocals that libvmaf's table has.
#[target_feature(enable = "avx2")]
#[inline]
fn step_responses(products: __m256i, sums: __m256i, rounded_up: &[i32], rounded_down: &[i32]) -> __m256 {
    let quotients = _mm256_div_ps(_mm256_set1_ps(1.0), _mm256_cvtepi32_ps(sums));
    let mut reciprocals = _mm256_castps_si256(quotients);
    // Comparisons give -1 where they are true.
    for &count in rounded_up {
        reciprocals = _mm256_sub_epi32(reciprocals, _mm256_cmpeq_epi32(sums, _mm256_set1_epi32(count)));
    }
    for &count in rounded_down {
        reciprocals = _mm256_add_epi32(reciprocals, _mm256_cmpeq_epi32(sums, _mm256_set1_epi32(count)));
    }
    _mm256_mul_ps(_mm256_cvtepi32_ps(products), _mm256_castsi256_ps(reciprocals))
}
