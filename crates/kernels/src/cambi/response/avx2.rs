//! Responses with AVX2.
//!
//! Counts are stored by column, one byte for each sample, so that counts of neighbouring samples are neighbours. The counts of
//! 32 samples around that of a pixel are summed over the columns of its window and kept in two registers; as long as the sample
//! of the next pixel is among them, the window moves by one addition and one subtraction.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cvtepi32_ps, _mm_cvtepu16_epi32, _mm_cvtsi128_si64, _mm_madd_epi16, _mm_max_epu16,
    _mm_mul_ps, _mm_mullo_epi16, _mm_set1_epi16, _mm_setr_ps, _mm_shufflelo_epi16, _mm256_add_epi16,
    _mm256_cvtepu8_epi16, _mm256_setzero_si256, _mm256_sub_epi16,
};

use safe_unaligned_simd::x86_64::{_mm_loadu_si64, _mm_loadu_si128, _mm_storeu_ps, _mm256_storeu_si256};

use super::super::contrast::Contrast;
use super::super::pool::ResponseTotals;
use super::super::raster::Raster;

/// Steps that one vector holds on either side of a sample.
pub(in super::super) const MAX_STEPS: u16 = 4;
const STEPS: usize = MAX_STEPS as usize;

/// Samples whose counts are summed together.
const SPAN: usize = 32;

/// Rows between two rows of a column of counts: a cache line more than a power of two would be, since columns of the same
/// sample would compete for the same lines of the cache.
const LINE: usize = 64;

/// For each column of the picture and each sample, how often the sample occurs in the rows of the window.
#[derive(Clone, Debug)]
pub(in super::super) struct ColumnCounts {
    counts: Vec<u8>,
    stride: usize,
    /// The first sample that is counted.
    first: u16,
    /// How many are.
    samples: u16,
    /// For each sample that is counted, the weights of its steps.
    weights: Vec<[i16; STEPS]>,
    /// Reciprocals of counts, as many as a window has pixels.
    reciprocals: Vec<f32>,
    window: usize,
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
        let lines = (usize::from(end - first) + 2 * SPAN).div_ceil(LINE);
        let stride = (lines | 1) * LINE;
        let weights = (first..end).map(|sample| {
            let weights = if visible.contains(&sample) { contrast.weights(sample) } else { &[] };
            std::array::from_fn(|step| weights.get(step).copied().unwrap_or(0))
        });
        Some(Self {
            counts: vec![0; stride * (width + window + 1)],
            stride,
            first,
            samples: end - first,
            weights: weights.collect(),
            reciprocals: contrast.reciprocals().to_vec(),
            window,
        })
    }

    fn index(&self, sample: u16) -> Option<usize> {
        let index = sample.wrapping_sub(self.first);
        (index < self.samples).then_some(usize::from(index))
    }

    /// Counts a row of pixels, and no longer counts another.
    #[inline]
    fn slide(&mut self, entering: Option<(&[u16], &[u8])>, leaving: Option<(&[u16], &[u8])>, width: usize) {
        const GROUP: usize = 8;
        let nothing: (&[u16], &[u8]) = (&[], &[]);
        let ((entering, entering_mask), (leaving, leaving_mask)) =
            (entering.unwrap_or(nothing), leaving.unwrap_or(nothing));
        let any = |mask: &[u8], start: usize| {
            mask.get(start..).is_some_and(|mask| match mask.first_chunk::<GROUP>() {
                Some(group) => u64::from_ne_bytes(*group) != 0,
                None => mask.iter().any(|&flat| flat != 0),
            })
        };
        for start in (0..width).step_by(GROUP) {
            if !any(entering_mask, start) && !any(leaving_mask, start) {
                continue;
            }
            for x in start..(start + GROUP).min(width) {
                let enters = entering_mask.get(x).is_some_and(|&flat| flat != 0);
                let leaves = leaving_mask.get(x).is_some_and(|&flat| flat != 0);
                if enters && leaves && entering[x] == leaving[x] {
                    continue;
                }
                let column = (x + self.window / 2 + 1) * self.stride + SPAN;
                if enters && let Some(index) = self.index(entering[x]) {
                    self.counts[column + index] += 1;
                }
                if leaves && let Some(index) = self.index(leaving[x]) {
                    self.counts[column + index] -= 1;
                }
            }
        }
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

    #[target_feature(enable = "avx2")]
    #[inline]
    fn column(counts: &[u8], at: usize) -> Self {
        let half = |at: usize| _mm256_cvtepu8_epi16(load(counts, at));
        Self { low: half(at), high: half(at + SPAN / 2) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn plus(self, other: Self) -> Self {
        Self { low: _mm256_add_epi16(self.low, other.low), high: _mm256_add_epi16(self.high, other.high) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn minus(self, other: Self) -> Self {
        Self { low: _mm256_sub_epi16(self.low, other.low), high: _mm256_sub_epi16(self.high, other.high) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store(self) -> [u16; SPAN] {
        let mut sums = [[0; SPAN / 2]; 2];
        _mm256_storeu_si256(&mut sums[0], self.low);
        _mm256_storeu_si256(&mut sums[1], self.high);
        *sums.as_flattened().first_chunk().unwrap_or(&[0; SPAN])
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(counts: &[u8], at: usize) -> __m128i {
    _mm_loadu_si128(counts[at..].first_chunk::<16>().unwrap_or(&[0; 16]))
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
    let mut totals = ResponseTotals::default();
    responses.resize(width, height);
    let used = columns.stride * (width + columns.window + 1);
    columns.counts[..used].fill(0);
    let row = |y: usize| (image.row(y), mask.row(y));
    for y in 0..half.min(height) {
        columns.slide(Some(row(y)), None, width);
    }
    for y in 0..height {
        let entering = (y + half < height).then(|| row(y + half));
        columns.slide(entering, y.checked_sub(half + 1).map(row), width);
        respond_row(image.row(y), mask.row(y), columns, responses.row_mut(y), &mut totals);
    }
    totals
}

#[target_feature(enable = "avx2")]
fn respond_row(
    image: &[u16],
    mask: &[u8],
    columns: &ColumnCounts,
    responses: &mut [f32],
    totals: &mut ResponseTotals,
) {
    let ColumnCounts { counts, stride, window, .. } = columns;
    let (stride, window) = (*stride, *window);
    responses.fill(0.0);
    let mut sums = Sums::zero();
    // The pixel that `sums` belongs to, and the first of its samples.
    let (mut centre, mut first) = (usize::MAX, 0);
    for (x, response) in responses.iter_mut().enumerate() {
        if mask[x] == 0 {
            continue;
        }
        let Some(index) = columns.index(image[x]) else { continue };
        let weights = &columns.weights[index];
        if *weights == [0; STEPS] {
            continue;
        }
        // Columns have `SPAN` more samples before the first.
        let place = index + SPAN;
        let is_near = centre <= x && x - centre <= window / 2;
        if is_near && place >= first + STEPS && place + STEPS < first + SPAN {
            // The column before the window of the first pixel exists and is zero.
            while centre < x {
                let leaving = Sums::column(counts, (centre + 1) * stride + first);
                centre += 1;
                let entering = Sums::column(counts, (centre + window) * stride + first);
                sums = sums.plus(entering).minus(leaving);
            }
        } else {
            (centre, first) = (x, place - SPAN / 2);
            sums = Sums::zero();
            for column in x + 1..=x + window {
                sums = sums.plus(Sums::column(counts, column * stride + first));
            }
        }
        *response = largest_response(&sums.store(), place - first, weights, &columns.reciprocals);
        totals.add(*response);
    }
}

/// The largest response to the steps around the sample at `place`.
#[target_feature(enable = "avx2")]
#[inline]
#[allow(clippy::cast_possible_wrap)] // Counts are at most 4225.
fn largest_response(counts: &[u16; SPAN], place: usize, weights: &[i16; STEPS], reciprocals: &[f32]) -> f32 {
    let four = |at: usize| _mm_loadu_si64(counts[at..].first_chunk::<4>().unwrap_or(&[0; 4]));
    let above = four(place + 1);
    let below = _mm_shufflelo_epi16::<0b00_01_10_11>(four(place - STEPS));
    let others = _mm_max_epu16(above, below);
    let lanes = _mm_cvtsi128_si64(others);
    if lanes == 0 {
        return 0.0;
    }
    let same = counts[place];
    // 16-bit products do not overflow: weights are at most 4.
    let weighted = _mm_mullo_epi16(_mm_loadu_si64(weights), _mm_set1_epi16(same as i16));
    // The upper half of each lane is zero, so this is a product of 32 bits.
    let products = _mm_madd_epi16(_mm_cvtepu16_epi32(others), _mm_cvtepu16_epi32(weighted));
    let reciprocal = |shift: u32| {
        let other = (lanes >> shift) as u16;
        reciprocals.get(usize::from(same) + usize::from(other)).copied().unwrap_or(0.0)
    };
    let reciprocals = _mm_setr_ps(reciprocal(0), reciprocal(16), reciprocal(32), reciprocal(48));
    let mut responses = [0.0; 4];
    _mm_storeu_ps(&mut responses, _mm_mul_ps(_mm_cvtepi32_ps(products), reciprocals));
    responses[0].max(responses[1]).max(responses[2].max(responses[3]))
}
