//! The mean of the largest responses.

use super::raster::Raster;

/// Responses are 0 or at least 0.5 less a rounding, so they are multiples of 2^-25. Sums below this are exact in any order.
const EXACT_SUM: f64 = (1_u32 << 28) as f64;

/// How many of the largest responses are averaged.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)] // As in libvmaf.
pub(super) fn pooled_count(share: f64, pixels: usize) -> usize {
    ((share * pixels as f64) as usize).clamp(1, pixels)
}

/// What is known of all responses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ResponseTotals {
    pub(super) sum: f64,
    /// Responses above 0.
    pub(super) positive: usize,
}

impl ResponseTotals {
    pub(super) fn add(&mut self, response: f32) {
        self.sum += f64::from(response);
        self.positive += usize::from(response > 0.0);
    }
}

/// The buffers of pooling.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    values: Vec<f32>,
    /// How many values have a prefix, in parts that are added at last: equal values follow each other, and additions to the same
    /// place would wait for each other.
    prefixes: Vec<[u32; PARTS]>,
    /// How many values with the prefix of the smallest one that is pooled have a suffix.
    suffixes: Vec<u32>,
}

const PARTS: usize = 4;
/// Bits of a value that are not in its prefix, so that there are 256 prefixes between powers of two.
const SUFFIX_BITS: u32 = 15;
/// The prefix of 0.25: responses are larger.
const FIRST_PREFIX: u32 = 0x3e80_0000 >> SUFFIX_BITS;
/// The prefix of 65536: responses are smaller.
const END_PREFIX: u32 = 0x4780_0000 >> SUFFIX_BITS;

/// The prefix of a response, from 0; 0 has that of 0.25.
#[inline(always)]
fn prefix(value: f32) -> usize {
    ((value.to_bits() >> SUFFIX_BITS).clamp(FIRST_PREFIX, END_PREFIX - 1) - FIRST_PREFIX) as usize
}

impl Pool {
    pub(super) fn new(pixels: usize) -> Self {
        Self {
            values: Vec::with_capacity(pixels),
            prefixes: vec![[0; PARTS]; (END_PREFIX - FIRST_PREFIX) as usize],
            suffixes: vec![0; 1 << SUFFIX_BITS],
        }
    }

    /// The mean of the `count` largest responses.
    ///
    /// The sum is of double precision. It depends on the order only if it is large, and then the order is that in which
    /// libvmaf's selection leaves the responses.
    #[inline(always)]
    #[allow(clippy::cast_precision_loss)] // As in libvmaf.
    pub(super) fn mean_of_largest(
        &mut self,
        responses: &Raster<f32>,
        totals: ResponseTotals,
        count: usize,
    ) -> f64 {
        let sum = if totals.sum >= EXACT_SUM {
            self.values.clear();
            self.values.extend(responses.rows().flatten());
            partition_as_libvmaf(&mut self.values, count);
            self.values[..count].iter().copied().map(f64::from).sum()
        } else if totals.positive <= count {
            totals.sum
        } else {
            self.exact_sum_of_largest(responses, count)
        };
        sum / count as f64
    }

    /// There are more than `count` responses above 0.
    #[inline(always)]
    fn exact_sum_of_largest(&mut self, responses: &Raster<f32>, count: usize) -> f64 {
        const GUESSES: usize = 4;
        const SAMPLED_ROWS: usize = 8;
        // A prefix that is right for some rows is right for all, or nearly.
        let mut prefix = self.prefix_of_smallest(responses, SAMPLED_ROWS, count / SAMPLED_ROWS);
        for guess in 0.. {
            if guess == GUESSES {
                prefix = self.prefix_of_smallest(responses, 1, count);
            }
            let range = PrefixRange::new(prefix);
            let sums = range.sums(responses);
            if sums.above > count {
                prefix += 1;
            } else if sums.above + sums.inside < count {
                prefix -= 1;
            } else {
                self.suffixes.fill(0);
                responses.rows().for_each(|row| self.count_suffixes(row, range.first, range.end));
                return sums.sum_above + self.sum_of_suffixes(prefix, count - sums.above);
            }
        }
        0.0
    }

    /// The prefix of the smallest of the `count` largest responses in every `step`th row.
    #[inline(always)]
    fn prefix_of_smallest(&mut self, responses: &Raster<f32>, step: usize, count: usize) -> usize {
        self.prefixes.fill([0; PARTS]);
        for row in responses.rows().step_by(step) {
            let (chunks, rest) = row.as_chunks::<PARTS>();
            for chunk in chunks {
                for (part, &value) in chunk.iter().enumerate() {
                    self.prefixes[prefix(value)][part] += 1;
                }
            }
            for &value in rest {
                self.prefixes[prefix(value)][0] += 1;
            }
        }
        let mut above = 0;
        let reaches = |values: &[u32; PARTS]| {
            above += values.iter().sum::<u32>() as usize;
            above >= count
        };
        self.prefixes.iter().rposition(reaches).unwrap_or(0)
    }

    /// Counts the suffixes of the values from `first` to below `end`.
    #[inline(always)]
    fn count_suffixes(&mut self, row: &[f32], first: f32, end: f32) {
        const MASK: u32 = (1 << SUFFIX_BITS) - 1;
        // Equal values often follow each other, and are counted together.
        let (mut last, mut values) = (0, 0);
        for value in row {
            if (first..end).contains(value) {
                let suffix = (value.to_bits() & MASK) as usize;
                if suffix != last {
                    self.suffixes[last] += values;
                    (last, values) = (suffix, 0);
                }
                values += 1;
            }
        }
        self.suffixes[last] += values;
    }

    /// The sum of the `count` largest values with this prefix.
    #[allow(clippy::cast_possible_truncation)] // Prefixes and suffixes have less than 32 bits.
    fn sum_of_suffixes(&self, prefix: usize, count: usize) -> f64 {
        let (mut sum, mut rest) = (0.0, count as u32);
        for (suffix, &values) in self.suffixes.iter().enumerate().rev() {
            let taken = values.min(rest);
            let bits = (prefix as u32 + FIRST_PREFIX) << SUFFIX_BITS | suffix as u32;
            sum += f64::from(f32::from_bits(bits)) * f64::from(taken);
            rest -= taken;
            if rest == 0 {
                break;
            }
        }
        sum
    }
}

/// The values with a prefix.
#[derive(Clone, Copy)]
struct PrefixRange {
    first: f32,
    end: f32,
}

/// The values above a range and in it.
struct PrefixSums {
    above: usize,
    inside: usize,
    sum_above: f64,
}

impl PrefixRange {
    #[allow(clippy::cast_possible_truncation)] // A prefix has less than 32 bits.
    fn new(prefix: usize) -> Self {
        let bits = (prefix as u32 + FIRST_PREFIX) << SUFFIX_BITS;
        Self { first: f32::from_bits(bits), end: f32::from_bits(bits + (1 << SUFFIX_BITS)) }
    }

    #[inline(always)]
    fn sums(self, responses: &Raster<f32>) -> PrefixSums {
        const LANES: usize = 8;
        let (mut sums, mut above, mut from_first) = ([0.0; LANES], [0_u32; LANES], [0_u32; LANES]);
        for row in responses.rows() {
            let (chunks, rest) = row.as_chunks::<LANES>();
            let mut last = [0.0; LANES];
            last[..rest.len()].copy_from_slice(rest);
            for chunk in chunks.iter().chain([&last]) {
                for lane in 0..LANES {
                    let value = chunk[lane];
                    sums[lane] += f64::from(if value >= self.end { value } else { 0.0 });
                    above[lane] += u32::from(value >= self.end);
                    from_first[lane] += u32::from(value >= self.first);
                }
            }
        }
        let count = |lanes: [u32; LANES]| lanes.iter().sum::<u32>() as usize;
        let above = count(above);
        PrefixSums { above, inside: count(from_first) - above, sum_above: sums.iter().sum() }
    }
}

/// Moves the `count` largest values to the front. The order within both parts is determined: Hoare's selection with the value
/// at `count` as the pivot.
fn partition_as_libvmaf(values: &mut [f32], count: usize) {
    if count == values.len() {
        return;
    }
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

    fn responses() -> Raster<f32> {
        let mut responses = Raster::new(97, 31);
        for y in 0..31_u16 {
            for (x, response) in (0_u16..).zip(responses.row_mut(y.into())) {
                let index = x + 97 * y;
                *response = f32::from(index.wrapping_mul(40_503) >> 4) / 37.0;
                if *response < 12.0 {
                    *response = 0.0;
                }
            }
        }
        responses
    }

    #[test]
    fn every_count_has_the_sum_of_sorted_values() {
        let responses = responses();
        let mut totals = ResponseTotals::default();
        responses.rows().flatten().for_each(|&response| totals.add(response));
        let mut sorted: Vec<f32> = responses.rows().flatten().copied().collect();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mut pool = Pool::new(97 * 31);
        for count in (1..=sorted.len()).step_by(7) {
            let sum: f64 = sorted[..count].iter().copied().map(f64::from).sum();
            let expected = sum / f64::from(u32::try_from(count).unwrap());
            let found = pool.mean_of_largest(&responses, totals, count);
            assert_eq!(found.to_bits(), expected.to_bits(), "{count}");
        }
    }

    #[test]
    fn the_largest_values_move_to_the_front() {
        let values: Vec<f32> = responses().rows().flatten().copied().collect();
        let mut sorted = values.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        for count in [1, 2, 3, 333, 600, 999, values.len()] {
            let mut partitioned = values.clone();
            partition_as_libvmaf(&mut partitioned, count);
            partitioned[..count].sort_by(|a, b| b.total_cmp(a));
            assert!(
                partitioned[..count].iter().zip(&sorted).all(|(a, b)| a.to_bits() == b.to_bits()),
                "{count}"
            );
        }
    }

    #[test]
    fn at_least_one_response_is_pooled() {
        assert_eq!([pooled_count(0.0001, 100), pooled_count(0.6, 101), pooled_count(1.0, 7)], [1, 60, 7]);
    }
}
