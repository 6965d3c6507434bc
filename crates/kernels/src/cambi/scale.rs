//! From one scale to the next: the mode filter and halving.

use super::raster::{ROW_PADDING, Raster, keep_every_second};

/// The filter: the mode of three neighbours across, then down. The first and the last row are copied.
#[derive(Clone, Debug)]
pub(super) struct ModeFilter {
    /// The filter's results across for three rows.
    across: [Vec<u16>; 3],
}

impl ModeFilter {
    pub(super) fn new(width: usize) -> Self {
        Self { across: std::array::from_fn(|_| vec![0; width + ROW_PADDING]) }
    }

    #[inline(always)]
    pub(super) fn filter(&mut self, image: &Raster<u16>, filtered: &mut Raster<u16>) {
        let (width, height) = (image.width(), image.height());
        filtered.resize(width, height);
        filtered.row_mut(0).copy_from_slice(image.row(0));
        filtered.row_mut(height - 1).copy_from_slice(image.row(height - 1));
        for y in 0..height {
            self.across.rotate_left(1);
            filter_across(image.row(y), &mut self.across[2]);
            if y < 2 {
                continue;
            }
            let [above, centre, below] = self.across.each_ref().map(|row| &row[..width]);
            for (x, sample) in filtered.row_mut(y - 1).iter_mut().enumerate() {
                *sample = mode(above[x], centre[x], below[x]);
            }
        }
    }
}

/// The value that occurs twice, or the smallest.
#[inline(always)]
#[allow(clippy::needless_bitwise_bool)] // Branches would not be vectorized.
fn mode(a: u16, b: u16, c: u16) -> u16 {
    let smallest = a.min(b).min(c);
    let of_last = if b == c { b } else { smallest };
    if (a == b) | (a == c) { a } else { of_last }
}

#[inline(always)]
fn filter_across(row: &[u16], filtered: &mut [u16]) {
    let width = row.len();
    filtered[0] = row[0];
    filtered[width - 1] = row[width - 1];
    if width < 3 {
        return;
    }
    let (left, centre, right) = (&row[..width - 2], &row[1..width - 1], &row[2..]);
    for (x, sample) in filtered[1..width - 1].iter_mut().enumerate() {
        *sample = mode(left[x], centre[x], right[x]);
    }
}

/// Every second row and column.
#[inline(always)]
pub(super) fn halve<T: Copy + Default>(from: &Raster<T>, to: &mut Raster<T>) {
    to.resize(from.width().div_ceil(2), from.height().div_ceil(2));
    for y in 0..to.height() {
        keep_every_second(from.padded_row(2 * y), to.row_mut(y));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The specification of the filter.
    pub(in crate::cambi) fn specified(image: &Raster<u16>, filtered: &mut Raster<u16>) {
        let (width, height) = (image.width(), image.height());
        let most_frequent = |values: [u16; 3]| {
            let occurs_twice = |value: &&u16| values.iter().filter(|other| other == value).count() > 1;
            values.iter().find(occurs_twice).or(values.iter().min()).copied().unwrap()
        };
        let across = |x: usize, y: usize| {
            let row = image.row(y);
            if x == 0 || x + 1 == width { row[x] } else { most_frequent([row[x - 1], row[x], row[x + 1]]) }
        };
        filtered.resize(width, height);
        for y in 0..height {
            let is_copied = y == 0 || y + 1 == height;
            for x in 0..width {
                filtered.row_mut(y)[x] = if is_copied {
                    image.row(y)[x]
                } else {
                    most_frequent([across(x, y - 1), across(x, y), across(x, y + 1)])
                };
            }
        }
    }
}
