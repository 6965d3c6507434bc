//! From a plane to samples of 10 bits with their dithering averaged out, and to the mask of pixels in flat surroundings.
//!
//! Rows stream through buffers that stay in the cache: the full-size picture is never stored if only every second row and
//! column is used.

use super::raster::{ROW_PADDING, Raster, keep_every_second};
use crate::{Plane, PlaneSample};

/// Pixels of the square whose flatness decides about its centre.
const SQUARE: usize = 7;
const HALF_SQUARE: usize = SQUARE / 2;

/// How a plane becomes samples of 10 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Preparation {
    /// Bits of a sample.
    pub(super) depth: u32,
    /// Pixels of a square that are equal to their right and lower neighbours must be more than this.
    pub(super) flatness: u8,
    /// Keep every second row and column.
    pub(super) halve: bool,
}

/// A sample exceeds the largest value of its depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleTooLarge;

impl Preparation {
    /// More bits than these are not dithered.
    const DITHERED_DEPTH: u32 = 9;

    fn is_dithered(self) -> bool {
        self.depth <= Self::DITHERED_DEPTH
    }
}

/// The flatness that is required in pictures of this size.
pub(super) fn required_flatness(width: usize, height: usize) -> u8 {
    let blocks = (width >> 6) * (height >> 6);
    let doublings: u8 = (0..32).find(|&doublings| 1 << doublings >= blocks).unwrap_or(32);
    // Between 7 and 56, so this is libvmaf's division by shifting.
    (48 - 33 + 3 * doublings) >> 1
}

/// The buffers of the step.
#[derive(Clone, Debug)]
pub(super) struct Preparer {
    preparation: Preparation,
    /// Two rows of 10 bits, each with its last sample repeated.
    row: Vec<u16>,
    next_row: Vec<u16>,
    /// Two rows without dithering, likewise.
    smooth: Vec<u16>,
    next_smooth: Vec<u16>,
    /// For the last rows, which pixels are equal to their neighbours.
    flat: [Vec<u8>; SQUARE],
    /// For each column, the number of those, with `HALF_SQUARE` zeroes on both sides.
    columns: Vec<u8>,
    mask: Vec<u8>,
}

impl Preparer {
    pub(super) fn new(width: usize, preparation: Preparation) -> Self {
        let length = width + ROW_PADDING;
        Self {
            preparation,
            row: vec![0; length],
            next_row: vec![0; length],
            smooth: vec![0; length],
            next_smooth: vec![0; length],
            flat: std::array::from_fn(|_| vec![0; length]),
            columns: vec![0; length],
            mask: vec![0; length],
        }
    }

    #[inline(always)]
    pub(super) fn prepare<T: PlaneSample>(
        &mut self,
        plane: &Plane<'_, T>,
        image: &mut Raster<u16>,
        mask: &mut Raster<u8>,
    ) -> Result<(), SampleTooLarge> {
        let (width, height) = (plane.width(), plane.height());
        let Preparation { depth, flatness, halve } = self.preparation;
        let step = if halve { 2 } else { 1 };
        self.flat.iter_mut().for_each(|row| row.fill(0));
        self.columns.fill(0);
        let mut bits = convert(plane.row(0), depth, &mut self.next_row);
        for y in 0..height + HALF_SQUARE {
            if y < height {
                if y == 0 {
                    std::mem::swap(&mut self.row, &mut self.next_row);
                    bits |= convert(plane.row(1.min(height - 1)), depth, &mut self.next_row);
                    smooth(&self.row, &self.next_row, width, self.preparation, &mut self.next_smooth);
                }
                // `next_row` is row y + 1, and `next_smooth` row y: both move on.
                std::mem::swap(&mut self.smooth, &mut self.next_smooth);
                std::mem::swap(&mut self.row, &mut self.next_row);
                bits |= convert(plane.row((y + 2).min(height - 1)), depth, &mut self.next_row);
                smooth(&self.row, &self.next_row, width, self.preparation, &mut self.next_smooth);
                if y % step == 0 {
                    keep(&self.smooth, image.row_mut(y / step), halve);
                }
            }
            let below = if y + 1 < height { &self.next_smooth } else { &self.smooth };
            count_flat(&self.smooth, below, width, y < height, &mut self.flat[y % SQUARE], &mut self.columns);
            let Some(centre) = y.checked_sub(HALF_SQUARE).filter(|centre| centre % step == 0) else {
                continue;
            };
            sum_columns(&self.columns, width, flatness, &mut self.mask);
            keep(&self.mask, mask.row_mut(centre / step), halve);
        }
        if bits >> depth == 0 { Ok(()) } else { Err(SampleTooLarge) }
    }
}

#[inline(always)]
fn keep<T: Copy>(from: &[T], to: &mut [T], halve: bool) {
    if halve { keep_every_second(from, to) } else { to.copy_from_slice(&from[..to.len()]) }
}

/// Converts a row to 10 bits and repeats its last sample. Returns all bits that occur.
#[inline(always)]
fn convert<T: PlaneSample>(row: &[T], depth: u32, converted: &mut [u16]) -> u32 {
    // Constants, so that the compiler can use 16 bits where they suffice.
    let bits = match depth {
        8 => convert_by(row, converted, |sample| sample << 2),
        9 => convert_by(row, converted, |sample| sample << 1),
        10 => convert_by(row, converted, |sample| sample),
        12 => convert_by(row, converted, |sample| (sample + 2) >> 2),
        16 => convert_by(row, converted, |sample| (sample + 32) >> 6),
        _ => convert_by(row, converted, |sample| (sample + (1 << (depth - 11))) >> (depth - 10)),
    };
    converted[row.len()] = converted[row.len() - 1];
    bits
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // Samples of 10 bits are at most 1024.
fn convert_by<T: PlaneSample>(row: &[T], converted: &mut [u16], ten_bits: impl Fn(u32) -> u32) -> u32 {
    let mut bits = 0;
    for (converted, &sample) in converted.iter_mut().zip(row) {
        let sample: u32 = sample.into();
        bits |= sample;
        *converted = ten_bits(sample) as u16;
    }
    bits
}

/// The mean of four neighbours, and the last sample once more.
#[inline(always)]
fn smooth(row: &[u16], below: &[u16], width: usize, preparation: Preparation, smooth: &mut [u16]) {
    if preparation.is_dithered() {
        let (row, below) = (&row[..=width], &below[..=width]);
        let pairs = row.iter().zip(&row[1..]).zip(below.iter().zip(&below[1..]));
        for (mean, ((a, b), (c, d))) in smooth.iter_mut().zip(pairs) {
            *mean = ((a + b) + (c + d)) >> 2;
        }
    } else {
        smooth[..width].copy_from_slice(&row[..width]);
    }
    smooth[width] = smooth[width - 1];
}

/// Replaces the oldest row of flat pixels, in `flat` and in the counts of columns. Behind the picture, no pixel is flat.
#[inline(always)]
#[allow(clippy::needless_bitwise_bool)] // Branches would not be vectorized.
fn count_flat(
    row: &[u16],
    below: &[u16],
    width: usize,
    is_inside: bool,
    flat: &mut [u8],
    columns: &mut [u8],
) {
    let columns = &mut columns[HALF_SQUARE..][..width];
    let flat = &mut flat[..width];
    if !is_inside {
        for (count, flat) in columns.iter_mut().zip(flat) {
            *count -= *flat;
            *flat = 0;
        }
        return;
    }
    let (row, right, below) = (&row[..width], &row[1..=width], &below[..width]);
    for (index, (count, flat)) in columns.iter_mut().zip(flat).enumerate() {
        let is_flat = u8::from((row[index] == right[index]) & (row[index] == below[index]));
        *count = count.wrapping_add(is_flat).wrapping_sub(*flat);
        *flat = is_flat;
    }
}

/// Whether the squares around the pixels of a row are flat.
#[inline(always)]
#[allow(clippy::many_single_char_names)] // The columns of a square.
fn sum_columns(columns: &[u8], width: usize, flatness: u8, mask: &mut [u8]) {
    let column = |offset: usize| &columns[offset..][..width];
    let (a, b, c, d, e, f, g) = (column(0), column(1), column(2), column(3), column(4), column(5), column(6));
    for (x, mask) in mask[..width].iter_mut().enumerate() {
        let sum = (a[x] + b[x]) + (c[x] + d[x]) + (e[x] + f[x]) + g[x];
        *mask = u8::from(sum > flatness);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The specification of the step.
    pub(in crate::cambi) fn specified<T: PlaneSample>(
        plane: &Plane<'_, T>,
        preparation: Preparation,
        image: &mut Raster<u16>,
        mask: &mut Raster<u8>,
    ) {
        let (width, height) = (plane.width(), plane.height());
        let ten_bits = |x: usize, y: usize| {
            let sample: u32 = plane.row(y)[x].into();
            match preparation.depth {
                0..=10 => sample << (10 - preparation.depth),
                depth => (sample + (1 << (depth - 11))) >> (depth - 10),
            }
        };
        let sample = |x: usize, y: usize| {
            if !preparation.is_dithered() {
                return ten_bits(x, y);
            }
            let (right, below) = ((x + 1).min(width - 1), (y + 1).min(height - 1));
            (ten_bits(x, y) + ten_bits(right, y) + ten_bits(x, below) + ten_bits(right, below)) >> 2
        };
        let full: Vec<Vec<u32>> = (0..height).map(|y| (0..width).map(|x| sample(x, y)).collect()).collect();
        let is_flat = |x: usize, y: usize| {
            (x + 1 == width || full[y][x] == full[y][x + 1])
                && (y + 1 == height || full[y][x] == full[y + 1][x])
        };
        let step = if preparation.halve { 2 } else { 1 };
        for (row, y) in (0..height).step_by(step).enumerate() {
            for (column, x) in (0..width).step_by(step).enumerate() {
                image.row_mut(row)[column] = u16::try_from(full[y][x]).unwrap();
                let lines = y.saturating_sub(HALF_SQUARE)..(y + HALF_SQUARE + 1).min(height);
                let flat_in = |y: usize| {
                    let columns = x.saturating_sub(HALF_SQUARE)..(x + HALF_SQUARE + 1).min(width);
                    columns.filter(|&x| is_flat(x, y)).count()
                };
                let flat: usize = lines.map(flat_in).sum();
                mask.row_mut(row)[column] = u8::from(flat > usize::from(preparation.flatness));
            }
        }
    }

    #[test]
    fn larger_pictures_need_more_flatness() {
        assert_eq!(required_flatness(216, 50), 7);
        assert_eq!(required_flatness(1920, 1080), 21);
        assert_eq!(required_flatness(3840, 2160), 24);
        assert_eq!(required_flatness(7680, 4320), 27);
    }
}
