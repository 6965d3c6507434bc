//! Splits distorted coefficients into what is left of the reference and what was added to it.
//!
//! A reference coefficient is scaled by the ratio of the distorted to the reference one, within 0 and 1. Where the two are
//! nearly parallel as vectors of a horizontal and a vertical coefficient, the distortion is an enhancement, and the ratio may
//! reach the gain limit.

/// The square of the cosine of one degree, in single precision.
#[allow(clippy::excessive_precision, clippy::unreadable_literal)]
pub(in crate::adm) const PARALLEL: f32 = 0.99969541350954785;

/// Whether the angle between two vectors is below one degree, in the precisions of libvmaf.
#[allow(clippy::cast_precision_loss)]
fn is_parallel(reference: [i32; 2], distorted: [i32; 2]) -> bool {
    let product = |a: [i32; 2], b: [i32; 2]| {
        let dot = i64::from(a[0]) * i64::from(b[0]) + i64::from(a[1]) * i64::from(b[1]);
        f64::from(dot as f32)
    };
    let dot = product(reference, distorted);
    let limit = f64::from(PARALLEL) * product(reference, reference) * product(distorted, distorted);
    dot >= 0.0 && dot * dot >= limit
}

/// The unity of ratios.
const ONE: i64 = 1 << 15;

/// `distorted / reference` from a reciprocal that is truncated to 30 bits behind the point, and from the 15 leading bits of
/// the reference.
fn ratio(reference: i32, distorted: i32) -> i64 {
    if reference == 0 {
        return ONE;
    }
    let magnitude = i64::from(reference.unsigned_abs());
    let excess_bits = 17_u32.saturating_sub(reference.unsigned_abs().leading_zeros());
    let leading = (magnitude + ((1 << excess_bits) >> 1)) >> excess_bits;
    let product = (1 << 30) / leading * i64::from(distorted) * i64::from(reference.signum());
    ((product + (1 << (14 + excess_bits))) >> (15 + excess_bits)).clamp(0, ONE)
}

/// What is left of the reference.
#[allow(clippy::cast_possible_truncation)] // No farther from zero than the reference or the distorted coefficient.
fn restored(reference: i32, distorted: i32, gain: Option<u32>) -> i32 {
    let ratio = ratio(reference, distorted);
    let restored = (ratio * i64::from(reference) + ONE / 2) >> 15;
    let Some(gain) = gain.filter(|_| ratio > 0) else { return restored as i32 };
    let enhanced = restored * i64::from(gain);
    let restored = match reference.signum() {
        1 => enhanced.min(distorted.into()),
        -1 => enhanced.max(distorted.into()),
        _ => restored,
    };
    restored as i32
}

/// Bands are in the order horizontal, vertical, diagonal.
pub(in crate::adm) fn decouple_coarse(
    gain: u32,
    reference: [&[i32]; 3],
    distorted: [&[i32]; 3],
    restored_rows: [&mut [i32]; 3],
    added_rows: [&mut [i32]; 3],
) {
    for x in 0..reference[0].len() {
        let vector = |bands: [&[i32]; 3]| [bands[0][x], bands[1][x]];
        let gain = is_parallel(vector(reference), vector(distorted)).then_some(gain);
        for band in 0..3 {
            let (reference, distorted) = (reference[band][x], distorted[band][x]);
            let left = restored(reference, distorted, gain);
            restored_rows[band][x] = left;
            added_rows[band][x] = distorted.wrapping_sub(left);
        }
    }
}

#[allow(clippy::cast_possible_truncation)] // Like libvmaf's.
pub(in crate::adm) fn decouple_fine(
    gain: u32,
    reference: [&[i16]; 3],
    distorted: [&[i16]; 3],
    restored_rows: [&mut [i16]; 3],
    added_rows: [&mut [i16]; 3],
) {
    for x in 0..reference[0].len() {
        let vector = |bands: [&[i16]; 3]| [bands[0][x].into(), bands[1][x].into()];
        let gain = is_parallel(vector(reference), vector(distorted)).then_some(gain);
        for band in 0..3 {
            let (reference, distorted) = (reference[band][x], distorted[band][x]);
            let left = restored(reference.into(), distorted.into(), gain) as i16;
            restored_rows[band][x] = left;
            added_rows[band][x] = distorted.wrapping_sub(left);
        }
    }
}
