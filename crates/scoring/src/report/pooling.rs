//! Pools the values of all frames.
//!
//! Mean, harmonic mean, minimum and maximum have the same bits as libvmaf's: one sum from the first frame to the last, divided
//! once. Another order of summation would give other last digits, so the scores of chunks are merged before they are pooled.
//!
//! - **harmonic mean**: `n / Σ 1/(x + 1) − 1`, so that a single score of zero does not make the result zero.
//! - **standard deviation**: of the population (divided by `n`), because all frames are known.
//! - **percentiles**: linear interpolation between order statistics at rank `q · (n − 1)`, the default of `NumPy`. The named
//!   frame is the nearer of the two neighbours, or the worse one if both are equally near.

use serde::Serialize;
use vmafx_job::PooledScores;

/// A pooled value and its frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FrameValue {
    pub value: f64,
    /// The frame with this value, or with the nearest one.
    pub frame: u64,
}

/// All poolings of one model or feature.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pooled {
    /// Arithmetic mean.
    pub mean: f64,
    /// Harmonic mean of the values plus one, minus one.
    pub harmonic_mean: f64,
    /// Standard deviation of the population.
    pub stddev: f64,
    /// The lowest value, at its first frame.
    pub min: FrameValue,
    /// The highest value, at its first frame.
    pub max: FrameValue,
    pub p1: FrameValue,
    pub p5: FrameValue,
    pub p10: FrameValue,
    /// The median.
    pub p50: FrameValue,
}

/// Without the frames.
impl From<&Pooled> for PooledScores {
    fn from(pooled: &Pooled) -> Self {
        Self {
            mean: pooled.mean,
            harmonic_mean: pooled.harmonic_mean,
            min: pooled.min.value,
            max: pooled.max.value,
            stddev: pooled.stddev,
            p1: pooled.p1.value,
            p5: pooled.p5.value,
            p10: pooled.p10.value,
            p50: pooled.p50.value,
        }
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolingError {
    #[error("no frame was scored")]
    Empty,
    #[error("there are {values} values for {frames} frames")]
    Uneven { frames: usize, values: usize },
}

/// Pools the values of the frames. With infinite values (`ciede` of equal pictures) the results may be infinite.
pub fn pool(frames: &[u64], values: &[f64]) -> Result<Pooled, PoolingError> {
    if frames.len() != values.len() {
        return Err(PoolingError::Uneven { frames: frames.len(), values: values.len() });
    }
    let ordered = Ordered::new(frames, values).ok_or(PoolingError::Empty)?;
    let count = count(values);
    let mean = mean(values);
    let reciprocals: f64 = values.iter().fold(0.0, |sum, value| sum + 1.0 / (value + 1.0));
    let squares: f64 = values.iter().fold(0.0, |sum, value| sum + (value - mean) * (value - mean));
    Ok(Pooled {
        mean,
        harmonic_mean: count / reciprocals - 1.0,
        stddev: (squares / count).sqrt(),
        min: ordered.first,
        max: ordered.highest(),
        p1: ordered.percentile(0.01),
        p5: ordered.percentile(0.05),
        p10: ordered.percentile(0.10),
        p50: ordered.percentile(0.50),
    })
}

/// The arithmetic mean as libvmaf computes it; NaN if there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |sum, value| sum + value) / count(values)
}

#[allow(clippy::cast_precision_loss)] // Exact up to 2^53 frames: nine million years at 30 frames per second.
fn count(values: &[f64]) -> f64 {
    values.len() as f64
}

/// Values in ascending order; of equal ones the earlier frame first. Never empty.
struct Ordered {
    first: FrameValue,
    all: Vec<FrameValue>,
}

impl Ordered {
    fn new(frames: &[u64], values: &[f64]) -> Option<Self> {
        let mut all: Vec<FrameValue> =
            frames.iter().zip(values).map(|(&frame, &value)| FrameValue { value, frame }).collect();
        all.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.frame.cmp(&b.frame)));
        Some(Self { first: *all.first()?, all })
    }

    /// The highest value, at its first frame.
    fn highest(&self) -> FrameValue {
        let top = self.all.last().map_or(self.first.value, |one| one.value);
        let at = self.all.partition_point(|one| one.value.total_cmp(&top).is_lt());
        self.at(at)
    }

    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn percentile(&self, q: f64) -> FrameValue {
        let rank = q * (self.all.len() - 1) as f64;
        let (below, above) = (self.at(rank.floor() as usize), self.at(rank.ceil() as usize));
        let fraction = rank - rank.floor();
        let nearest = if fraction > 0.5 { above } else { below };
        // Checked first, because infinity minus infinity is NaN.
        if fraction == 0.0 || below.value.total_cmp(&above.value).is_eq() {
            return nearest;
        }
        FrameValue { value: below.value + (above.value - below.value) * fraction, frame: nearest.frame }
    }

    fn at(&self, rank: usize) -> FrameValue {
        self.all.get(rank).copied().unwrap_or(self.first)
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, clippy::cast_precision_loss)] // Values are exact, and counts are small.
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn pool_all(values: &[f64]) -> Pooled {
        let frames: Vec<u64> = (0..values.len() as u64).collect();
        pool(&frames, values).unwrap()
    }

    fn at(value: f64, frame: u64) -> FrameValue {
        FrameValue { value, frame }
    }

    #[test]
    fn a_small_list_pools_to_what_a_calculator_says() {
        let pooled = pool(&[0, 2, 4, 6], &[40.0, 10.0, 30.0, 20.0]).unwrap();
        assert!((pooled.mean - 25.0).abs() < 1e-12);
        // 4 / (1/41 + 1/11 + 1/31 + 1/21) - 1
        assert!((pooled.harmonic_mean - 19.494_276_141_281_59).abs() < 1e-12, "{}", pooled.harmonic_mean);
        assert!((pooled.stddev - 125.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!((pooled.min, pooled.max), (at(10.0, 2), at(40.0, 0)));
        // Rank 0.1 * 3 = 0.3: three tenths of the way from 10 to 20, nearer to the first.
        assert!((pooled.p10.value - 13.0).abs() < 1e-12);
        assert_eq!(pooled.p10.frame, 2);
        // Rank 1.5: equally near to 20 (frame 6) and 30 (frame 4); the worse one is named.
        assert_eq!(pooled.p50, at(25.0, 6));
    }

    #[test]
    fn one_frame_is_all_of_its_poolings() {
        let pooled = pool(&[7], &[93.25]).unwrap();
        let only = at(93.25, 7);
        assert_eq!([pooled.min, pooled.max, pooled.p1, pooled.p5, pooled.p10, pooled.p50], [only; 6]);
        assert_eq!((pooled.mean, pooled.stddev), (93.25, 0.0));
    }

    #[test]
    fn of_equal_values_the_first_frame_is_named() {
        let pooled = pool_all(&[5.0, 1.0, 5.0, 1.0]);
        assert_eq!((pooled.min, pooled.max), (at(1.0, 1), at(5.0, 0)));
    }

    #[test]
    fn the_mean_is_the_plain_sum_from_first_to_last() {
        // Pairwise or compensated summation gives 1.0 here; libvmaf's loop does not.
        let values = [1e16, 1.0, -1e16, 3.0];
        assert_eq!(pool_all(&values).mean.to_bits(), 0.75_f64.to_bits());
    }

    #[test]
    fn equal_pictures_have_an_infinite_ciede_and_pooling_says_so() {
        let pooled = pool_all(&[f64::INFINITY, f64::INFINITY, 45.0]);
        assert_eq!((pooled.mean, pooled.p50.value, pooled.min.value), (f64::INFINITY, f64::INFINITY, 45.0));
    }

    #[rstest]
    #[case::nothing(&[], &[], PoolingError::Empty)]
    #[case::more_frames(&[0, 1], &[1.0], PoolingError::Uneven { frames: 2, values: 1 })]
    #[case::more_values(&[], &[1.0], PoolingError::Uneven { frames: 0, values: 1 })]
    fn what_cannot_be_pooled_is_refused(
        #[case] frames: &[u64],
        #[case] values: &[f64],
        #[case] why: PoolingError,
    ) {
        assert_eq!(pool(frames, values), Err(why));
    }

    proptest! {
        #[test]
        fn poolings_keep_their_order(values in prop::collection::vec(0.0..110.0_f64, 1..300)) {
            let pooled = pool_all(&values);
            let rising = [pooled.min, pooled.p1, pooled.p5, pooled.p10, pooled.p50, pooled.max];
            prop_assert!(rising.is_sorted_by(|a, b| a.value <= b.value), "{rising:?}");
            let slack = 1e-9;
            prop_assert!(pooled.min.value <= pooled.harmonic_mean + slack);
            prop_assert!(pooled.harmonic_mean <= pooled.mean + slack);
            prop_assert!(pooled.mean <= pooled.max.value + slack);
            prop_assert!(pooled.stddev <= (pooled.max.value - pooled.min.value) / 2.0 + slack);
        }

        #[test]
        fn a_named_frame_has_the_value_or_is_next_to_it(values in prop::collection::vec(0.0..110.0_f64, 1..300)) {
            let pooled = pool_all(&values);
            let of = |placed: FrameValue| values[usize::try_from(placed.frame).unwrap()];
            prop_assert_eq!(of(pooled.min), pooled.min.value);
            prop_assert_eq!(of(pooled.max), pooled.max.value);
            for (placed, q) in [(pooled.p1, 0.01), (pooled.p5, 0.05), (pooled.p10, 0.1), (pooled.p50, 0.5)] {
                let below = values.iter().filter(|&&value| value < of(placed)).count() as f64;
                prop_assert!((below - q * (values.len() - 1) as f64).abs() <= 0.5 + 1e-9, "{placed:?}");
            }
        }

        #[test]
        fn the_order_of_frames_does_not_move_a_percentile(mut values in prop::collection::vec(0.0..110.0_f64, 1..100)) {
            let forward = pool_all(&values);
            values.reverse();
            let backward = pool_all(&values);
            prop_assert_eq!(forward.p1.value, backward.p1.value);
            prop_assert_eq!(forward.p50.value, backward.p50.value);
            prop_assert_eq!(forward.min.value, backward.min.value);
        }

        #[test]
        fn no_list_of_floats_panics(values in prop::collection::vec(any::<f64>(), 1..50)) {
            pool_all(&values);
        }
    }
}
