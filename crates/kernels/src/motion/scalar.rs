//! The specification of the kernels, one row at a time.

use super::FILTER;
use crate::PlaneSample;

/// The difference of the earlier row and this one, which replaces it.
pub(super) fn difference<T: PlaneSample>(earlier: &mut [T], row: &[T], differences: &mut [i32]) {
    for ((difference, earlier), &sample) in differences.iter_mut().zip(earlier).zip(row) {
        let [from, to] = [*earlier, sample].map(|sample| Into::<u32>::into(sample).cast_signed());
        *difference = from - to;
        *earlier = sample;
    }
}

/// The vertical pass, which brings samples of any depth to the position of 8 bits.
#[allow(clippy::cast_possible_truncation)] // The filter's gain is one.
pub(super) fn vertical(depth: u32, rows: [&[i32]; 5], blurred: &mut [i32]) {
    for (x, blurred) in blurred.iter_mut().enumerate() {
        let sum: i64 = rows.iter().zip(FILTER).map(|(row, tap)| i64::from(row[x]) * i64::from(tap)).sum();
        *blurred = ((sum + (1 << (depth - 1))) >> depth) as i32;
    }
}

/// The horizontal pass, and the sum of the magnitudes.
pub(super) fn horizontal(row: &[i32]) -> u64 {
    let blurred = (0..row.len()).map(|x| {
        let taps = [mirrored_before(x, 2), mirrored_before(x, 1), x]
            .into_iter()
            .chain([1, 2].map(|after| mirrored_after(x + after, row.len())));
        let sum: i64 = taps.zip(FILTER).map(|(x, tap)| i64::from(row[x]) * i64::from(tap)).sum();
        ((sum + (1 << 15)) >> 16).unsigned_abs()
    });
    blurred.sum()
}

/// `x - offset`, mirrored at the first sample.
pub(super) fn mirrored_before(x: usize, offset: usize) -> usize {
    x.abs_diff(offset)
}

/// `x`, mirrored at the last sample.
pub(super) fn mirrored_after(x: usize, length: usize) -> usize {
    x.min(2 * length - 2 - x)
}
