//! Cubed magnitudes, summed over a row.

use crate::adm::shifts::{CubeShifts, rounded};

pub(in crate::adm) fn cubes_fine(bands: [&[i16]; 3]) -> [u64; 3] {
    bands.map(|row| row.iter().map(|coefficient| u64::from(coefficient.unsigned_abs()).pow(3)).sum())
}

pub(in crate::adm) fn cubes_coarse(shifts: &CubeShifts, bands: [&[i32]; 3]) -> [u64; 3] {
    let cube = |coefficient: &i32| {
        let magnitude = u64::from(coefficient.unsigned_abs());
        let square = (magnitude * magnitude + (1 << shifts.square)) >> shifts.square;
        rounded(square * magnitude, shifts.cube)
    };
    // Pictures stay far below the limit of 64 bits; any other coefficients wrap around, as in vectors.
    bands.map(|row| row.iter().map(cube).fold(0, u64::wrapping_add))
}
