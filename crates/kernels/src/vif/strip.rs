//! Vertical strips of pictures.
//!
//! Kernels take a scale strip by strip, and a strip from its top to its bottom, so that everything between reading a sample
//! and adding to the sums stays in the first-level cache. A strip reads beyond its own columns as far as windows reach.

use super::VifSums;
use super::filter::{mirror, reach, reach_in_pairs};
use super::prefetch::prefetch;
use crate::{Plane, PlaneSample};

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
    /// Strips of up to `columns` columns, which is an even number.
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

    /// Columns of the strip and its margins.
    pub(super) fn read_columns(&self) -> usize {
        self.columns + 2 * Self::margin(self.scale)
    }

    fn prefetch<T>(&self, row: &[T]) {
        let start = self.start.saturating_sub(Self::margin(self.scale));
        prefetch(&row[start..row.len().min(start + self.read_columns())]);
    }

    /// The columns of `row` that are read, mirrored at the picture's edges in `buffer` if need be.
    #[inline]
    pub(super) fn read<'a, T: PlaneSample, const WIDTH: usize>(
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
    fn mirror_into<T: PlaneSample, const WIDTH: usize>(&self, row: &[T], buffer: &mut [T; WIDTH]) {
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

/// Pairs of rows of one picture's strips, for a kernel that reads `WIDTH` columns.
pub(super) struct RowReader<T, const WIDTH: usize> {
    buffers: [[T; WIDTH]; 2],
}

impl<T: PlaneSample, const WIDTH: usize> RowReader<T, WIDTH> {
    pub(super) fn new() -> Self {
        Self { buffers: [[T::default(); WIDTH]; 2] }
    }

    #[inline]
    pub(super) fn rows<'a>(
        &'a mut self,
        plane: &Plane<'a, T>,
        strip: &Strip,
        at: isize,
    ) -> [&'a [T; WIDTH]; 2] {
        let height = plane.height();
        for position in [at + Self::AHEAD, at + Self::AHEAD + 1] {
            strip.prefetch(plane.row(strip.row(position, height)));
        }
        let [first, second] = [at, at + 1].map(|position| plane.row(strip.row(position, height)));
        let [one, two] = &mut self.buffers;
        [strip.read(first, one), strip.read(second, two)]
    }

    /// Rows that are fetched before they are read.
    const AHEAD: isize = 4;
}

/// Sums of the logarithms of a reference as kernels take them: from the upper bits of floating-point numbers and
/// [`LogTable::correction`].
///
/// [`LogTable::correction`]: super::log_table::LogTable::correction
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReferenceSums {
    pub den: i64,
    /// Values that were added to `den`.
    pub logs: i64,
    /// Samples that took a logarithm.
    pub log_samples: i64,
}

impl ReferenceSums {
    /// What the logarithm of a reference without variance is with the bias of exponents.
    const NOISE_LOG: i64 = (1023 + 17) * 2048;

    /// The sums of `samples` samples of the reference and of a distorted picture, whose sums are `num_log` and `num_non_log`.
    pub(super) fn with(&self, samples: usize, num_log: i64, num_non_log: i64) -> VifSums {
        VifSums {
            num_log,
            den_log: self.den - Self::NOISE_LOG * self.logs,
            num_non_log,
            den_non_log: samples.cast_signed() as i64 - self.log_samples,
        }
    }
}
