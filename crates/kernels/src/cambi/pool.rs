//! The mean of the largest responses.

use super::raster::Raster;

/// Responses are 0 or at least 0.5 less a rounding, so they are multiples of 2^-25. Sums below this are exact in any order.
const EXACT_SUM: f64 = (1_u32 << 28) as f64;

/// How many of the largest responses are averaged.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)] // As in libvmaf.
pub(super) fn pooled_count(share: f64, pixels: usize) -> usize {
    ((share * pixels as f64) as usize).clamp(1, pixels)
}

/// The specification of pooling: the mean of the `count` largest responses, with `buffer` for intermediate results.
///
/// The sum is of double precision. It depends on the order only if it is large, and then the order is that in which libvmaf's
/// selection leaves the responses.
#[allow(clippy::cast_precision_loss)] // As in libvmaf.
pub(super) fn mean_of_largest(responses: &Raster<f32>, count: usize, buffer: &mut Vec<f32>) -> f64 {
    buffer.clear();
    buffer.extend(responses.rows().flatten());
    let total: f64 = buffer.iter().copied().map(f64::from).sum();
    if total < EXACT_SUM && count < buffer.len() {
        buffer.select_nth_unstable_by(count, |a, b| b.total_cmp(a));
    } else {
        partition_as_libvmaf(buffer, count);
    }
    let sum: f64 = buffer[..count].iter().copied().map(f64::from).sum();
    sum / count as f64
}

/// Moves the `count` largest values to the front. The order within both parts is determined: Hoare's selection with the value
/// at `count` as the pivot.
fn partition_as_libvmaf(values: &mut [f32], count: usize) {
    if count == values.len() {
        return;
    }
    // Both are inclusive; the upper one is shifted by one, so that it does not go below zero.
    let (mut first, mut end) = (0, values.len());
    while first + 1 < end {
        let pivot = values[count];
        let (mut left, mut right) = (first, end);
        loop {
            while values[left] > pivot {
                left += 1;
            }
            while values[right - 1] < pivot {
                right -= 1;
            }
            if left < right {
                values.swap(left, right - 1);
                left += 1;
                right -= 1;
            }
            if left >= right {
                break;
            }
        }
        if right <= count {
            first = left;
        }
        if count < left {
            end = right;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_values_move_to_the_front() {
        let values: Vec<f32> =
            (0..1000_u16).map(|index| f32::from(index.wrapping_mul(40_503) >> 4)).collect();
        let mut sorted = values.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        for count in [1, 2, 3, 333, 600, 999, 1000] {
            let mut partitioned = values.clone();
            partition_as_libvmaf(&mut partitioned, count);
            let mut front = partitioned[..count].to_vec();
            front.sort_by(|a, b| b.total_cmp(a));
            assert_eq!(front, sorted[..count], "{count}");
        }
    }

    #[test]
    fn at_least_one_response_is_pooled() {
        assert_eq!([pooled_count(0.0001, 100), pooled_count(0.6, 101), pooled_count(1.0, 7)], [1, 60, 7]);
    }
}
