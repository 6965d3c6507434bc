//! Vertical strips of a pair of pictures.
//!
//! Kernels take a scale strip by strip, and a strip from its top to its bottom, so that everything between reading a sample
//! and adding to the sums stays in the first-level cache. A strip reads beyond its own columns as far as windows reach.

use super::VifSums;
use super::filter::{mirror, reach, reach_in_pairs};
use crate::Sample;

/// Columns that a block of a row has.
pub(super) const BLOCK: usize = 16;

/// The part of a strip that a row is read for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    pub scale: usize,
    /// The first column.
    pub start: usize,
    /// Columns within the picture.
    pub columns: usize,
}

impl Strip {
    /// Strips of up to `columns` columns, which is a multiple of [`BLOCK`].
    pub(super) fn all(scale: usize, width: usize, columns: usize) -> impl Iterator<Item = Self> {
        (0..width).step_by(columns).map(move |start| Self {
            scale,
            start,
            columns: columns.min(width - start),
        })
    }

    /// Columns before the strip that are read, and as many behind it.
    pub(super) const fn margin(scale: usize) -> usize {
        2 * reach_in_pairs(scale)
    }

    /// Blocks that hold the strip with its margins.
    pub(super) fn read_blocks(&self) -> usize {
        (self.columns + 2 * Self::margin(self.scale)).div_ceil(BLOCK)
    }

    /// Blocks that hold the strip itself.
    pub(super) fn blocks(&self) -> usize {
        self.columns.div_ceil(BLOCK)
    }

    /// The columns of `row` that are read, mirrored at the picture's edges in `buffer` if need be.
    #[inline]
    pub(super) fn read<'a, T: Sample, const WIDTH: usize>(
        &self,
        row: &'a [T],
        buffer: &'a mut [T; WIDTH],
    ) -> &'a [T; WIDTH] {
        let inside = self.start.checked_sub(Self::margin(self.scale)).and_then(|start| row.get(start..));
        inside.and_then(|columns| columns.first_chunk()).unwrap_or_else(|| {
            self.mirror_into(row, buffer);
            buffer
        })
    }

    #[cold]
    fn mirror_into<T: Sample, const WIDTH: usize>(&self, row: &[T], buffer: &mut [T; WIDTH]) {
        let (margin, reach) = (Self::margin(self.scale), reach(self.scale));
        let first = self.start.saturating_sub(margin);
        let last = (self.start + WIDTH - margin).min(row.len());
        let place = |column: usize| column + margin - self.start;
        buffer[place(first)..place(last)].copy_from_slice(&row[first..last]);
        if first == 0 {
            for distance in 1..=reach.min(place(0)) {
                buffer[place(0) - distance] = row[distance];
            }
        }
        if last == row.len() {
            for (distance, sample) in buffer[place(last)..].iter_mut().take(reach).enumerate() {
                *sample = row[last - 2 - distance];
            }
        }
    }

    /// The row that stands for row `position` of `height`. Rows beyond the windows' reach are never used.
    pub(super) fn row(&self, position: isize, height: usize) -> usize {
        let reach = reach(self.scale).cast_signed();
        mirror(position.clamp(-reach, height.cast_signed() - 1 + reach), height)
    }
}

/// Sums of which one part is known without looking at samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogSums {
    /// Of entries of the table and of exponents: of signal and noise less those of noise, and of the reference.
    pub num_entries: i64,
    pub num_exponents: i64,
    pub den_entries: i64,
    pub den_exponents: i64,
    /// Values that were added to `den_entries`.
    pub logs: i64,
    pub num_non_log: i64,
    /// Samples that took a logarithm.
    pub log_samples: i64,
}

impl LogSums {
    /// What the exponent of an `f64` and the shift to 16 bits add to an exponent.
    const BIAS: i64 = 1023 + 15;

    pub(super) fn sums(&self, samples: usize) -> VifSums {
        VifSums {
            num_log: self.num_entries + 2048 * self.num_exponents,
            den_log: self.den_entries + 2048 * (self.den_exponents - (Self::BIAS + 17) * self.logs),
            num_non_log: self.num_non_log,
            den_non_log: samples.cast_signed() as i64 - self.log_samples,
        }
    }
}
