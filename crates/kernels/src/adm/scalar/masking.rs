//! What a coefficient contributes to the masking of its neighbourhood.
//!
//! The threshold of a coefficient is the sum over the bands of a thirtieth of the eight neighbours and a fifteenth of the
//! coefficient itself, each rounded. Two rows per row of coefficients are enough for it: the thirtieths, of which nine are
//! added, and what the fifteenth of the middle one has more.

/// Fixed-point thirtieth and fifteenth at scale 0 and at the other scales.
const FINE_SHARES: [i32; 2] = [4369, 8738];
const COARSE_SHARES: [i64; 2] = [143_165_577, 286_331_153];
/// A half as libvmaf stores it, in 32 bits with a sign: shares at scales 1 to 3 are too low by one.
const COARSE_ROUNDING: i64 = i32::MIN as i64;

/// The magnitude of a coefficient of scale 0 times its weight.
#[allow(clippy::cast_possible_truncation)] // Like libvmaf's.
fn weighted_fine(coefficient: i16, weights: [u32; 3], band: usize) -> i32 {
    const ROUNDING: [i32; 3] = [1 << 14, 1 << 14, u16::MAX as i32];
    let weighted = i32::from(coefficient) * weights[band].cast_signed() + ROUNDING[band];
    i32::from((weighted >> [15, 15, 17][band]) as i16).abs()
}

/// A part of a weighted magnitude.
fn part_fine(part: i32, weighted: i32) -> i32 {
    (part * weighted + (1 << 11)) >> 12
}

/// With all bits of fifteenths; [`wrap_fifteenths`] comes after it.
pub(in crate::adm) fn masking_fine(
    weights: [u32; 3],
    bands: [&[i16]; 3],
    shares: &mut [i32],
    excesses: &mut [i32],
) {
    for x in 0..bands[0].len() {
        let (mut share, mut excess) = (0, 0);
        for (band, row) in bands.iter().enumerate() {
            let weighted = weighted_fine(row[x], weights, band);
            let [thirtieth, fifteenth] = FINE_SHARES.map(|part| part_fine(part, weighted));
            share += thirtieth;
            excess += fifteenth - thirtieth;
        }
        shares[x] = share;
        excesses[x] = excess;
    }
}

/// Lets the fifteenths of columns wrap around at 16 bits, as [`super::super::MaskingOverflow`] says.
#[allow(clippy::cast_possible_truncation)]
pub(in crate::adm) fn wrap_fifteenths(weights: [u32; 3], bands: [&[i16]; 3], excesses: &mut [i32]) {
    for x in 0..bands[0].len() {
        for (band, row) in bands.iter().enumerate() {
            let fifteenth = part_fine(FINE_SHARES[1], weighted_fine(row[x], weights, band));
            excesses[x] += i32::from(fifteenth as i16) - fifteenth;
        }
    }
}

/// A coefficient times its weight.
#[allow(clippy::cast_possible_truncation)] // Like libvmaf's.
pub(super) fn weighted(coefficient: i32, weight: u32) -> i32 {
    ((i64::from(weight) * i64::from(coefficient) + (1 << 27)) >> 28) as i32
}

#[allow(clippy::cast_possible_truncation)] // Like libvmaf's.
pub(in crate::adm) fn masking_coarse(
    weights: [u32; 3],
    bands: [&[i32]; 3],
    shares: &mut [i32],
    excesses: &mut [i32],
) {
    for x in 0..bands[0].len() {
        let (mut share, mut excess) = (0_i32, 0_i32);
        for (band, row) in bands.iter().enumerate() {
            let weighted = i64::from(weighted(row[x], weights[band]).unsigned_abs());
            let [thirtieth, fifteenth] =
                COARSE_SHARES.map(|part| ((part * weighted + COARSE_ROUNDING) >> 32) as i32);
            share = share.wrapping_add(thirtieth);
            excess = excess.wrapping_add(fifteenth - thirtieth);
        }
        shares[x] = share;
        excesses[x] = excess;
    }
}
