//! Cubed contrasts above the masking threshold, summed over a row.

use super::masking::weighted;
use crate::adm::shifts::{ContrastShifts, rounded};

/// `shares` are the rows above, at and below the coefficients, and start one column before them.
fn threshold(shares: [&[i32]; 3], excesses: &[i32], x: usize) -> i32 {
    let neighbourhood = shares.iter().flat_map(|row| &row[x..x + 3]);
    neighbourhood.fold(excesses[x], |sum, &share| sum.wrapping_add(share))
}

fn cube(weighted: i32, threshold: i32, band: usize, shifts: &ContrastShifts) -> u64 {
    let contrast = weighted.wrapping_abs().wrapping_sub(threshold << shifts.threshold[band]).max(0);
    let contrast = u64::from(contrast.unsigned_abs());
    let square = rounded(contrast * contrast, shifts.square[band]) & u64::from(u32::MAX);
    rounded(square * contrast, shifts.cube[band])
}

pub(in crate::adm) fn contrast_fine(
    weights: [u32; 3],
    shifts: &ContrastShifts,
    bands: [&[i16]; 3],
    shares: [&[i32]; 3],
    excesses: &[i32],
) -> [u64; 3] {
    let mut sums = [0; 3];
    for x in 0..bands[0].len() {
        let threshold = threshold(shares, excesses, x);
        for band in 0..3 {
            let weighted = i32::from(bands[band][x]).wrapping_mul(weights[band].cast_signed());
            sums[band] += cube(weighted, threshold, band, shifts);
        }
    }
    sums
}

pub(in crate::adm) fn contrast_coarse(
    weights: [u32; 3],
    shifts: &ContrastShifts,
    bands: [&[i32]; 3],
    shares: [&[i32]; 3],
    excesses: &[i32],
) -> [u64; 3] {
    let mut sums = [0; 3];
    for x in 0..bands[0].len() {
        let threshold = threshold(shares, excesses, x);
        for band in 0..3 {
            sums[band] += cube(weighted(bands[band][x], weights[band]), threshold, band, shifts);
        }
    }
    sums
}
