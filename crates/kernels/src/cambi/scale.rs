//! From one scale to the next: the mode filter and halving.

use super::raster::Raster;

/// The value that occurs twice, or the smallest.
pub(super) fn mode(a: u16, b: u16, c: u16) -> u16 {
    if a == b || a == c {
        a
    } else if b == c {
        b
    } else {
        a.min(b).min(c)
    }
}

/// The specification of the filter: the mode of three neighbours across, then down. The first and the last row are copied.
pub(super) fn filter_mode(image: &Raster<u16>, filtered: &mut Raster<u16>) {
    let (width, height) = (image.width(), image.height());
    filtered.resize(width, height);
    let across = |x: usize, y: usize| {
        let row = image.row(y);
        if x == 0 || x + 1 == width { row[x] } else { mode(row[x - 1], row[x], row[x + 1]) }
    };
    for y in 0..height {
        if y == 0 || y + 1 == height {
            filtered.row_mut(y).copy_from_slice(image.row(y));
            continue;
        }
        for x in 0..width {
            filtered.row_mut(y)[x] = mode(across(x, y - 1), across(x, y), across(x, y + 1));
        }
    }
}

/// Every second row and column.
pub(super) fn halve<T: Copy + Default>(from: &Raster<T>, to: &mut Raster<T>) {
    let (width, height) = (from.width().div_ceil(2), from.height().div_ceil(2));
    to.resize(width, height);
    for y in 0..height {
        for (to, from) in to.row_mut(y).iter_mut().zip(from.row(2 * y).iter().step_by(2)) {
            *to = *from;
        }
    }
}
