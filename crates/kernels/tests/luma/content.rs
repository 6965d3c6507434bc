//! Pictures that reach all branches and extremes.

#![allow(dead_code, clippy::unwrap_used)] // Each test uses a part.
#![allow(clippy::cast_possible_wrap)] // Of small random numbers.

use super::libvmaf::Luma;

/// Kinds of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Independent samples of the whole range.
    Random,
    /// Only black and white samples at random.
    Extremes,
    /// A little noise around a gradient, like a camera's.
    Noise,
    Flat,
    Gradient,
    Checkerboard,
    /// Squares of eight samples.
    Blocks,
    Black,
    White,
    /// Waves, edges and grain, for measurements of time.
    Photo,
}

impl Content {
    pub(crate) const ALL: [Self; 9] = [
        Self::Random,
        Self::Extremes,
        Self::Noise,
        Self::Flat,
        Self::Gradient,
        Self::Checkerboard,
        Self::Blocks,
        Self::Black,
        Self::White,
    ];

    pub(crate) fn draw(self, width: usize, height: usize, depth: u32, seed: u64) -> Luma {
        let max = (1_u64 << depth) - 1;
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 16
        };
        let samples = (0..width * height)
            .map(|index| {
                let (x, y) = (index % width, index / width);
                let white = |condition: bool| if condition { max } else { 0 };
                let gradient = max * (x * 2 + y) as u64 / (width * 2 + height) as u64;
                let sample = match self {
                    Self::Random => random() & max,
                    Self::Extremes => white(random() & 1 == 1),
                    Self::Noise => (gradient + (random() & (max >> 5))).min(max),
                    Self::Flat => max / 3,
                    Self::Gradient => gradient,
                    Self::Checkerboard => white((x + y) % 2 == 0),
                    Self::Blocks => white((x / 8 + y / 8) % 2 == 0),
                    Self::Black => 0,
                    Self::White => max,
                    Self::Photo => photo(x, y, random(), max),
                };
                u16::try_from(sample).unwrap()
            })
            .collect();
        Luma { width, height, depth, samples }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn photo(x: usize, y: usize, random: u64, max: u64) -> u64 {
    let (u, v) = (x as f64, y as f64);
    let waves =
        (u / 41.0 + (v / 67.0).sin() * 3.0).sin() * (v / 29.0).cos() * 0.2 + ((u * v) / 90_000.0).sin() * 0.1;
    let edge = ((x / 96 * 7 + y / 72 * 13) % 5) as f64 * 0.08;
    let grain = (random % 256) as f64 / 256.0 * 0.02;
    ((0.3 + waves + edge + grain).clamp(0.0, 1.0) * max as f64) as u64
}

/// A version with noise, a change of contrast and brightness, like a lossy encoder's or an enhancer's.
pub(crate) fn distort(reference: &Luma, contrast: f64, noise: u64, seed: u64) -> Luma {
    let max = (1_i64 << reference.depth) - 1;
    let amplitude = (noise << reference.depth) >> 8;
    let mut state = seed.wrapping_mul(0xD134_2543_DE82_EF95) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    };
    let samples = reference
        .samples
        .iter()
        .map(|&sample| {
            let middle = max / 2;
            #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
            let changed = middle + ((i64::from(sample) - middle) as f64 * contrast) as i64;
            let noise = (random() % (2 * amplitude + 1)) as i64 - amplitude as i64;
            u16::try_from((changed + noise).clamp(0, max)).unwrap()
        })
        .collect();
    Luma { samples, ..reference.clone() }
}
