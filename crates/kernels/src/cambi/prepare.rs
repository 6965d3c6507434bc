//! From a plane to samples of 10 bits with their dithering averaged out, and to the mask of pixels in flat surroundings.

use super::raster::Raster;
use crate::{Plane, Sample};

/// Pixels of the square whose flatness decides about its centre.
pub(super) const SQUARE: usize = 7;
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

impl Preparation {
    /// More bits than these are not dithered.
    const DITHERED_DEPTH: u32 = 9;

    pub(super) fn is_dithered(self) -> bool {
        self.depth <= Self::DITHERED_DEPTH
    }

    pub(super) fn ten_bits(self, sample: u32) -> u32 {
        match self.depth {
            0..=10 => sample << (10 - self.depth),
            depth => (sample + (1 << (depth - 11))) >> (depth - 10),
        }
    }
}

/// The flatness that is required in pictures of this size.
pub(super) fn required_flatness(width: usize, height: usize) -> u8 {
    let blocks = (width >> 6) * (height >> 6);
    let doublings: u8 = (0..32).find(|&doublings| 1 << doublings >= blocks).unwrap_or(32);
    // Between 7 and 56, so this is libvmaf's division by shifting.
    (48 - 33 + 3 * doublings) >> 1
}

/// The specification of the step from a plane to the first scale.
#[allow(clippy::cast_possible_truncation)] // Samples have at most 1024.
pub(super) fn prepare<T: Sample>(
    plane: &Plane<'_, T>,
    preparation: Preparation,
    image: &mut Raster<u16>,
    mask: &mut Raster<u8>,
) {
    let (width, height) = (plane.width(), plane.height());
    let ten_bits = |x: usize, y: usize| preparation.ten_bits(plane.row(y)[x].into());
    let sample = |x: usize, y: usize| {
        if !preparation.is_dithered() {
            return ten_bits(x, y) as u16;
        }
        let (right, below) = ((x + 1).min(width - 1), (y + 1).min(height - 1));
        ((ten_bits(x, y) + ten_bits(right, y) + ten_bits(x, below) + ten_bits(right, below)) >> 2) as u16
    };
    let full: Vec<Vec<u16>> = (0..height).map(|y| (0..width).map(|x| sample(x, y)).collect()).collect();
    let is_flat = |x: usize, y: usize| {
        (x + 1 == width || full[y][x] == full[y][x + 1]) && (y + 1 == height || full[y][x] == full[y + 1][x])
    };
    let step = if preparation.halve { 2 } else { 1 };
    for (row, y) in (0..height).step_by(step).enumerate() {
        for (column, x) in (0..width).step_by(step).enumerate() {
            image.row_mut(row)[column] = full[y][x];
            let lines = y.saturating_sub(HALF_SQUARE)..(y + HALF_SQUARE + 1).min(height);
            let flat: usize = lines
                .map(|y| {
                    let columns = x.saturating_sub(HALF_SQUARE)..(x + HALF_SQUARE + 1).min(width);
                    columns.filter(|&x| is_flat(x, y)).count()
                })
                .sum();
            mask.row_mut(row)[column] = u8::from(flat > usize::from(preparation.flatness));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_pictures_need_more_flatness() {
        assert_eq!(required_flatness(216, 50), 7);
        assert_eq!(required_flatness(1920, 1080), 21);
        assert_eq!(required_flatness(3840, 2160), 24);
        assert_eq!(required_flatness(7680, 4320), 27);
    }
}
