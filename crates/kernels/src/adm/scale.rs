//! One scale, row by row: transform, decouple, and sum what is left, what was added and what the reference has.
//!
//! Rows of bands live only until the row below them is decoupled, because masking needs it; only the approximation, which the
//! next scale transforms, is kept as a whole.

use std::ops::Range;

use super::geometry::Axis;
use super::kernels::{Coefficient, CoefficientSource, padded};
use super::shifts::{ScaleShifts, rounded};
use crate::Plane;
use crate::simd::Simd;

/// Integer sums of one scale, in the order horizontal, vertical, diagonal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScaleSums {
    pub(super) reference: [u64; 3],
    pub(super) restored: [u64; 3],
    pub(super) added: [u64; 3],
}

/// Rows of an image of which only a part may be stored.
pub(super) trait Rows<T> {
    /// At least the columns that were asked for.
    fn row(&self, y: usize, columns: &Range<usize>) -> &[T];
}

impl<T> Rows<T> for Plane<'_, T> {
    fn row(&self, y: usize, columns: &Range<usize>) -> &[T] {
        &Plane::row(self, y)[columns.clone()]
    }
}

/// The band of low frequencies in both directions, as far as it was computed.
#[derive(Clone, Debug)]
pub(super) struct Approximation<C> {
    samples: Vec<C>,
    stride: usize,
    columns: Range<usize>,
    rows: Range<usize>,
}

impl<C: Copy + Default> Approximation<C> {
    pub(super) fn new(columns: &Axis, rows: &Axis) -> Self {
        let stride = padded(columns.computed.len());
        Self {
            samples: vec![C::default(); stride * rows.computed.len()],
            stride,
            columns: columns.computed.clone(),
            rows: rows.computed.clone(),
        }
    }

    fn row_mut(&mut self, y: usize) -> &mut [C] {
        &mut self.samples[(y - self.rows.start) * self.stride..][..self.stride]
    }
}

impl<C> Rows<C> for Approximation<C> {
    fn row(&self, y: usize, columns: &Range<usize>) -> &[C] {
        let row = &self.samples[(y - self.rows.start) * self.stride..][..self.stride];
        &row[columns.start - self.columns.start..columns.end - self.columns.start]
    }
}

type Bands<C> = [Vec<C>; 3];

fn bands<C: Copy + Default>(length: usize) -> Bands<C> {
    [(); 3].map(|()| vec![C::default(); padded(length)])
}

fn parts<C>(bands: &Bands<C>, from: usize) -> [&[C]; 3] {
    [&bands[0][from..], &bands[1][from..], &bands[2][from..]]
}

fn parts_mut<C>(bands: &mut Bands<C>) -> [&mut [C]; 3] {
    bands.each_mut().map(Vec::as_mut_slice)
}

/// The masking rows of one part of the distorted image, and of the other part the coefficients that they mask.
#[derive(Clone, Debug)]
struct Masked<C> {
    /// Of the last three rows, by row modulo 3. They start one column before the first that is scored.
    shares: [Vec<i32>; 3],
    /// Of the last two rows, by row modulo 2.
    excesses: [Vec<i32>; 2],
    coefficients: [Bands<C>; 2],
}

impl<C: Coefficient> Masked<C> {
    fn new(columns: &Axis) -> Self {
        let row = || vec![0; padded(columns.masking.len() + 2)];
        Self {
            shares: [(); 3].map(|()| row()),
            excesses: [(); 2].map(|()| row()),
            coefficients: [(); 2].map(|()| bands(columns.masking.len())),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Scale<C> {
    columns: Axis,
    rows: Axis,
    shifts: ScaleShifts,
    gain: u32,
    low: Vec<C>,
    high: Vec<C>,
    images: [Bands<C>; 2],
    /// What is left of the reference, masked by what was added.
    restored: Masked<C>,
    /// What was added, masked by what is left.
    added: Masked<C>,
    measures_added: bool,
}

impl<C: Coefficient> Scale<C> {
    pub(super) fn new(
        columns: &Axis,
        rows: &Axis,
        shifts: ScaleShifts,
        gain: u32,
        measures_added: bool,
    ) -> Self {
        let row = || vec![C::default(); padded(2 * columns.computed.len() + 2)];
        Self {
            columns: columns.clone(),
            rows: rows.clone(),
            shifts,
            gain,
            low: row(),
            high: row(),
            images: [(); 2].map(|()| bands(columns.computed.len())),
            restored: Masked::new(columns),
            added: Masked::new(columns),
            measures_added,
        }
    }

    pub(super) fn shifts(&self) -> &ScaleShifts {
        &self.shifts
    }

    /// The scored columns and rows.
    pub(super) fn scored(&self) -> [usize; 2] {
        [self.columns.scored.len(), self.rows.scored.len()]
    }

    pub(super) fn measure<S: CoefficientSource<Coefficient = C>>(
        &mut self,
        simd: Simd,
        depth: u32,
        sources: [&impl Rows<S>; 2],
        approximations: &mut [Approximation<C>; 2],
    ) -> ScaleSums {
        let mut sums = ScaleSums::default();
        for y in self.rows.computed.clone() {
            for (image, source) in sources.into_iter().enumerate() {
                self.transform(simd, depth, y, image, source, approximations[image].row_mut(y));
            }
            if !self.rows.masking.contains(&y) {
                continue;
            }
            self.decouple(simd, y);
            if self.rows.scored.contains(&y) {
                let row = C::cubes(
                    simd,
                    &self.shifts,
                    self.columns.scored.len(),
                    parts(&self.images[0], self.columns.scored.start - self.columns.computed.start),
                );
                add(&mut sums.reference, row, self.shifts.cubes.row);
            }
            // The row above has its lower neighbour now, and the last row of a band is its own.
            let above = y.checked_sub(1).filter(|above| self.rows.scored.contains(above));
            let last = Some(y).filter(|y| y + 1 == self.rows.band && self.rows.scored.contains(y));
            for complete in [above, last].into_iter().flatten() {
                add(
                    &mut sums.restored,
                    self.contrast(simd, complete, &self.restored),
                    self.shifts.contrast.row,
                );
                if self.measures_added {
                    add(
                        &mut sums.added,
                        self.contrast(simd, complete, &self.added),
                        self.shifts.contrast.row,
                    );
                }
            }
        }
        sums
    }

    fn transform<S: CoefficientSource<Coefficient = C>>(
        &mut self,
        simd: Simd,
        depth: u32,
        y: usize,
        image: usize,
        source: &impl Rows<S>,
        approximation: &mut [C],
    ) {
        let Range { start, end } = self.columns.read;
        let taps = self.rows.taps(y).map(|tap| source.row(tap, &self.columns.read));
        // Both passes start one sample before the first coefficient's own, which at the border is a mirrored one.
        let lead = usize::from(start == 0);
        S::vertical(simd, depth, taps, &mut self.low[lead..], &mut self.high[lead..]);
        for row in [&mut self.low, &mut self.high] {
            if lead == 1 {
                row[0] = row[2];
            }
            if end == self.columns.source {
                let after = lead + end - start;
                row[after] = row[after - 1];
                row[after + 1] = row[after - 2];
            }
        }
        let length = self.columns.computed.len();
        let [horizontal, vertical, diagonal] = &mut self.images[image];
        C::horizontal(simd, &self.shifts, length, &self.low, approximation, vertical);
        C::horizontal(simd, &self.shifts, length, &self.high, horizontal, diagonal);
    }

    fn decouple(&mut self, simd: Simd, y: usize) {
        let length = self.columns.masking.len();
        let from = self.columns.masking.start - self.columns.computed.start;
        let [restored, added] = [&mut self.restored, &mut self.added];
        C::decouple(
            simd,
            self.gain,
            length,
            self.images.each_ref().map(|bands| parts(bands, from)),
            parts_mut(&mut restored.coefficients[y % 2]),
            parts_mut(&mut added.coefficients[y % 2]),
        );
        // Shares start one column before the first that is scored, which at the border of a band does not exist.
        let lead = 1 - (self.columns.scored.start - self.columns.masking.start);
        let mask = |masked: &mut Masked<C>, masking: &Masked<C>| {
            let shares = &mut masked.shares[y % 3];
            let excesses = &mut masked.excesses[y % 2];
            let bands = parts(&masking.coefficients[y % 2], 0);
            C::masking(simd, &self.shifts, length, bands, &mut shares[lead..], excesses);
            if lead == 1 {
                shares[0] = shares[2];
            }
            if self.columns.scored.end == self.columns.band {
                shares[lead + length] = shares[lead + length - 1];
            }
        };
        mask(restored, added);
        if self.measures_added {
            mask(added, restored);
        }
    }

    /// Row `y`, whose neighbours are mirrored without the row itself at the top and with it at the bottom.
    fn contrast(&self, simd: Simd, y: usize, masked: &Masked<C>) -> [u64; 3] {
        let above = y.checked_sub(1).unwrap_or(1);
        let below = (y + 1).min(self.rows.band - 1);
        let from = self.columns.scored.start - self.columns.masking.start;
        C::contrast(
            simd,
            &self.shifts,
            self.columns.scored.len(),
            parts(&masked.coefficients[y % 2], from),
            [above, y, below].map(|y| masked.shares[y % 3].as_slice()),
            &masked.excesses[y % 2][from..],
        )
    }
}

fn add(sums: &mut [u64; 3], row: [u64; 3], shift: u32) {
    for (sum, row) in sums.iter_mut().zip(row) {
        *sum += rounded(row, shift);
    }
}
