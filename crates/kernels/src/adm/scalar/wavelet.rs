//! The discrete wavelet transform with Daubechies' filters of four taps.

use crate::PlaneSample;
use crate::adm::{HIGH_PASS, LOW_PASS};

fn filter16(taps: [i16; 4], samples: [i32; 4]) -> i32 {
    taps.iter().zip(samples).map(|(&tap, sample)| i32::from(tap) * sample).sum()
}

fn filter32(taps: [i16; 4], samples: [i32; 4]) -> i64 {
    taps.iter().zip(samples).map(|(&tap, sample)| i64::from(tap) * i64::from(sample)).sum()
}

/// Scale 0: samples around zero, at the position of 8 bits.
#[allow(clippy::cast_possible_truncation)] // The filters' gain leaves 16 bits.
pub(in crate::adm) fn vertical_samples<T: PlaneSample>(
    depth: u32,
    rows: [&[T]; 4],
    low: &mut [i16],
    high: &mut [i16],
) {
    let half = 1 << (depth - 1);
    for (x, (low, high)) in low.iter_mut().zip(high).enumerate().take(rows[0].len()) {
        let samples = rows.map(|row| {
            let sample: u32 = row[x].into();
            sample.cast_signed() - half
        });
        *low = ((filter16(LOW_PASS, samples) + half) >> depth) as i16;
        *high = ((filter16(HIGH_PASS, samples) + half) >> depth) as i16;
    }
}

/// Scale 1: 16-bit coefficients, without rounding.
pub(in crate::adm) fn vertical_widening(rows: [&[i16]; 4], low: &mut [i32], high: &mut [i32]) {
    for (x, (low, high)) in low.iter_mut().zip(high).enumerate().take(rows[0].len()) {
        let samples = rows.map(|row| i32::from(row[x]));
        *low = filter16(LOW_PASS, samples);
        *high = filter16(HIGH_PASS, samples);
    }
}

/// Scales 2 and 3.
#[allow(clippy::cast_possible_truncation)] // Like libvmaf's.
pub(in crate::adm) fn vertical_coarse(rows: [&[i32]; 4], low: &mut [i32], high: &mut [i32]) {
    for (x, (low, high)) in low.iter_mut().zip(high).enumerate().take(rows[0].len()) {
        let samples = rows.map(|row| row[x]);
        *low = ((filter32(LOW_PASS, samples) + (1 << 15)) >> 16) as i32;
        *high = ((filter32(HIGH_PASS, samples) + (1 << 15)) >> 16) as i32;
    }
}

/// `source` starts one sample before the first coefficient's own.
#[allow(clippy::cast_possible_truncation)] // The filters' gain leaves 16 bits.
pub(in crate::adm) fn horizontal_fine(source: &[i16], low: &mut [i16], high: &mut [i16]) {
    for (x, (low, high)) in low.iter_mut().zip(high).enumerate() {
        let samples = [0, 1, 2, 3].map(|tap| i32::from(source[2 * x + tap]));
        *low = ((filter16(LOW_PASS, samples) + (1 << 15)) >> 16) as i16;
        *high = ((filter16(HIGH_PASS, samples) + (1 << 15)) >> 16) as i16;
    }
}

#[allow(clippy::cast_possible_truncation)] // Like libvmaf's.
pub(in crate::adm) fn horizontal_coarse(shift: u32, source: &[i32], low: &mut [i32], high: &mut [i32]) {
    let half = 1 << (shift - 1);
    for (x, (low, high)) in low.iter_mut().zip(high).enumerate() {
        let samples = [0, 1, 2, 3].map(|tap| source[2 * x + tap]);
        *low = ((filter32(LOW_PASS, samples) + half) >> shift) as i32;
        *high = ((filter32(HIGH_PASS, samples) + half) >> shift) as i32;
    }
}
