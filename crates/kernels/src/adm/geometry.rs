//! Which coefficients of each scale are read, summed and carried to the next scale.
//!
//! A scale halves its source in both directions and gives four bands of that size. Only the inner part of the bands is scored,
//! and a coefficient depends on four source rows and columns, so the outer part of every scale need not be computed: the areas
//! are derived from the coarsest scale to the finest.

use std::ops::Range;

pub(super) const SCALES: usize = 4;

/// From this size on, libvmaf reads only samples that exist at all four scales.
pub(super) const MIN_SIZE: usize = 33;

/// The part of a band at each side that is not scored.
const BORDER: f64 = 0.1;

/// One direction of one scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// Size of the image that is transformed.
    pub(super) source: usize,
    /// Size of the bands.
    pub(super) band: usize,
    /// Coefficients that are summed.
    pub(super) scored: Range<usize>,
    /// Those and their neighbours, which mask them.
    pub(super) masking: Range<usize>,
    /// Those and what the next scale reads.
    pub(super) computed: Range<usize>,
    /// The samples of the source that `computed` depends on.
    pub(super) read: Range<usize>,
}

impl Axis {
    fn new(source: usize) -> Self {
        let band = source.div_ceil(2);
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // Truncated towards zero like libvmaf's, also for the negative value of a very small band.
        let inset = (band as f64 * BORDER - 0.5) as usize;
        let scored = inset..band - inset;
        let masking = scored.start.saturating_sub(1)..(scored.end + 1).min(band);
        Self { source, band, scored, computed: masking.clone(), masking, read: 0..source }
    }

    /// All scales of an image of this size.
    pub(super) fn scales(size: usize) -> [Self; SCALES] {
        let mut source = size;
        let mut axes = [(); SCALES].map(|()| {
            let axis = Self::new(source);
            source = axis.band;
            axis
        });
        for scale in (0..SCALES).rev() {
            let coarser = &mut axes[scale];
            let computed = coarser.computed.clone();
            coarser.read = (2 * computed.start).saturating_sub(1)..(2 * computed.end + 1).min(coarser.source);
            let read = coarser.read.clone();
            if let Some(finer) = scale.checked_sub(1).map(|finer| &mut axes[finer]) {
                finer.computed = finer.computed.start.min(read.start)..finer.computed.end.max(read.end);
            }
        }
        axes
    }

    /// The four source positions of a coefficient. At the start the image is mirrored without its first sample, at the end
    /// with its last.
    pub(super) fn taps(&self, coefficient: usize) -> [usize; 4] {
        let mirrored = |position: usize| position.min(2 * self.source - 1 - position);
        let first = 2 * coefficient;
        [if first == 0 { 1 } else { first - 1 }, first, first + 1, first + 2].map(mirrored)
    }
}

/// Logarithm to base 2, rounded up.
pub(super) fn ceil_log2(value: usize) -> u32 {
    value.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_computes_what_the_next_one_reads() {
        for size in MIN_SIZE..2000 {
            let axes = Axis::scales(size);
            for (axis, coarser) in axes.iter().zip(&axes[1..]) {
                for coefficient in coarser.computed.clone() {
                    for tap in coarser.taps(coefficient) {
                        assert!(axis.computed.contains(&tap), "{size}: {tap} of {axis:?}");
                        assert!(coarser.read.contains(&tap), "{size}: {tap} of {coarser:?}");
                    }
                }
                assert!(axis.computed.end <= axis.band);
            }
        }
    }

    #[test]
    fn logarithms_are_rounded_up() {
        assert_eq!([1, 2, 3, 4, 5, 1024, 1025].map(ceil_log2), [0, 1, 2, 2, 3, 10, 11]);
    }
}
