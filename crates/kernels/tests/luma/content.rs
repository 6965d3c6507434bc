//! Pictures that reach all branches and extremes.

#![allow(dead_code, clippy::unwrap_used)] // Each test uses a part.
#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation)] // Of small random numbers.

use super::libvmaf::Luma;

/// xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }
}

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
    /// Black and white in turn, in tiles of this size, shifted by the seed.
    Tiles {
        width: usize,
        height: usize,
    },
    /// Strokes of two samples, black on white.
    Text,
    /// The signs of a wavelet of ADM, whose coefficient at this scale is the largest possible. Bands are in the order horizontal,
    /// vertical, diagonal.
    Wavelet {
        scale: usize,
        band: usize,
    },
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
        let mut state = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut random = move || state.next();
        let wavelet = match self {
            Self::Wavelet { scale, band } => wavelet(scale).map(|filters| filters[band].clone()),
            _ => Default::default(),
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
                    Self::Tiles { width, height } => {
                        white(((x + seed as usize) / width + y / height).is_multiple_of(2))
                    }
                    Self::Wavelet { .. } => {
                        let [columns, rows] = &wavelet;
                        let positive = |filter: &[f64], at: usize| filter[at % filter.len()] > 0.0;
                        white(positive(columns, x + seed as usize % 97) == positive(rows, y))
                    }
                    Self::Text => white(!is_stroke(x + seed as usize, y)),
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

/// The horizontal and the vertical filter of the bands of a scale, as one filter of the samples.
fn wavelet(scale: usize) -> [[Vec<f64>; 3]; 2] {
    const LOW_PASS: [f64; 4] = [15826.0, 27411.0, 7345.0, -4240.0];
    const HIGH_PASS: [f64; 4] = [-4240.0, -7345.0, 27411.0, -15826.0];
    let apply = |filter: &[f64], taps: [f64; 4], step: usize| {
        let mut result = vec![0.0; filter.len() + 3 * step];
        for (tap, value) in taps.into_iter().enumerate() {
            for (index, factor) in filter.iter().enumerate() {
                result[index + tap * step] += value / 32768.0 * factor;
            }
        }
        result
    };
    let finer = (0..scale).fold(vec![1.0], |filter, finer| apply(&filter, LOW_PASS, 1 << finer));
    let [low, high] = [LOW_PASS, HIGH_PASS].map(|taps| apply(&finer, taps, 1 << scale));
    [[low.clone(), high.clone(), high.clone()], [high.clone(), low, high]]
}

fn is_stroke(x: usize, y: usize) -> bool {
    let stroke = (x / 8 * 7 + y / 12 * 13) % 5;
    y % 12 < 9 && (x % 8 / 2 == stroke % 4 || y % 12 / 2 == stroke)
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
    let mut state = Random::new(seed.wrapping_mul(0xD134_2543_DE82_EF95));
    let mut random = move || state.next();
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
