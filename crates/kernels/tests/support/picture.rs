//! Pictures that exercise features: each content by its name, of any size, depth and chroma format.

use std::f64::consts::TAU;

use vmafx_kernels::{Plane, PlaneSample};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chroma {
    /// 4:0:0: luma only.
    None,
    /// 4:2:0
    Both,
    /// 4:2:2
    Horizontal,
    /// 4:4:4
    Full,
}

#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) chroma: Chroma,
    pub(crate) depth: u32,
    /// Luma, and chroma if there is any.
    pub(crate) planes: Vec<TestPlane>,
}

impl Picture {
    /// Columns and rows of luma, and bits.
    pub(crate) fn geometry(&self) -> (usize, usize, u32) {
        (self.planes[0].width, self.planes[0].height, self.depth)
    }
}

/// A version with noise and another contrast, like a lossy encoder's or an enhancer's. A negative contrast inverts.
pub(crate) fn distort(picture: &Picture, contrast: f64, noise: u32, seed: u64) -> Picture {
    let distorted = |plane: &TestPlane| plane.distorted(picture.depth, contrast, noise, seed);
    Picture { planes: picture.planes.iter().map(distorted).collect(), ..*picture }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TestPlane {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) samples: Vec<u16>,
}

impl TestPlane {
    /// The plane as it is stored, with rows further apart than they are wide and random samples between them.
    pub(crate) fn store<T: Level>(&self, padding: usize) -> StoredPlane<T> {
        let stride = self.width + padding;
        let mut random = Random::new((self.width * 31 + self.height) as u64);
        // Padding has samples of the depth, as neighbours in a row would.
        let largest = u32::from(self.samples.iter().copied().max().unwrap_or(0)) + 1;
        let row = |row: &[u16]| {
            let padding = (0..padding).map(|_| random.below(largest)).collect::<Vec<_>>();
            row.iter().copied().map(u32::from).chain(padding).map(T::from_level).collect::<Vec<_>>()
        };
        let samples = self.samples.chunks_exact(self.width).flat_map(row).collect();
        StoredPlane { samples, stride, width: self.width, height: self.height }
    }

    #[allow(clippy::cast_possible_truncation)] // Of levels of samples.
    pub(crate) fn distorted(&self, depth: u32, contrast: f64, noise: u32, seed: u64) -> Self {
        let largest = (1_i64 << depth) - 1;
        let middle = largest / 2;
        let amplitude = (noise << depth) >> 8;
        let mut random = Random::new(seed ^ 0xd134_2543_de82_ef95);
        let mut change = |&sample: &u16| {
            let changed = middle + (f64::from(i32::from(sample) - middle as i32) * contrast) as i64;
            let noise = i64::from(random.below(2 * amplitude + 1)) - i64::from(amplitude);
            u16::try_from((changed + noise).clamp(0, largest)).unwrap()
        };
        let samples = self.samples.iter().map(&mut change).collect();
        Self { samples, ..*self }
    }
}

/// What samples are stored as.
pub(crate) trait Level: PlaneSample {
    fn from_level(level: u32) -> Self;
}

impl Level for u8 {
    fn from_level(level: u32) -> Self {
        Self::try_from(level).unwrap()
    }
}

impl Level for u16 {
    fn from_level(level: u32) -> Self {
        Self::try_from(level).unwrap()
    }
}

pub(crate) struct StoredPlane<T> {
    samples: Vec<T>,
    stride: usize,
    width: usize,
    height: usize,
}

impl<T> StoredPlane<T> {
    pub(crate) fn plane(&self) -> Plane<'_, T> {
        Plane::new(&self.samples, self.stride, self.width, self.height).unwrap()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Independent samples of the whole range.
    Random,
    /// Only black and white samples at random.
    Extremes,
    /// Small noise on a smooth surface.
    Noise,
    Flat,
    Gradient,
    /// Black and white samples in turn.
    Checkerboard,
    /// Squares of eight samples, black and white in turn.
    Blocks,
    /// Black and white in turn, in tiles of this size, shifted by the seed.
    Tiles {
        width: usize,
        height: usize,
    },
    /// The signs of a wavelet of ADM, whose coefficient at this scale is the largest possible. Bands are in the order horizontal,
    /// vertical, diagonal.
    Wavelet {
        scale: usize,
        band: usize,
    },
    Black,
    White,
    /// A smooth surface in few levels, as an encoder leaves it.
    Bands,
    /// Bands of slightly different levels.
    Stripes,
    /// Cells of slightly different levels.
    Cells,
    /// Strokes of two samples, black on white.
    Text,
    /// Smooth surfaces, edges, texture and noise.
    Natural,
    /// Noise at all frequencies, the less of it the higher they are, as in pictures of nature.
    Fractal,
    /// The same with the grain of film.
    Grain,
}

impl Content {
    pub(crate) const ALL: [Self; 16] = [
        Self::Random,
        Self::Extremes,
        Self::Noise,
        Self::Flat,
        Self::Gradient,
        Self::Checkerboard,
        Self::Blocks,
        Self::Black,
        Self::White,
        Self::Bands,
        Self::Stripes,
        Self::Cells,
        Self::Text,
        Self::Natural,
        Self::Fractal,
        Self::Grain,
    ];

    /// Content whose neighbouring samples are black and white: shares of ADM's masking exceed 16 bits.
    pub(crate) fn full_contrast() -> impl Iterator<Item = Self> {
        let tiles = (1..=4).flat_map(|period| {
            [(period, period), (period, usize::MAX), (usize::MAX, period), (period, 2 * period)]
                .map(|(width, height)| Self::Tiles { width, height })
        });
        [Self::Extremes, Self::Text].into_iter().chain(tiles)
    }

    /// Content with the largest coefficients of each scale and band of ADM.
    pub(crate) fn wavelets() -> impl Iterator<Item = Self> {
        (0..4).flat_map(|scale| [0, 1, 2].map(|band| Self::Wavelet { scale, band }))
    }

    /// A picture with planes of the sizes that libvmaf gives them; different seeds give similar ones.
    pub(crate) fn picture(
        self,
        width: usize,
        height: usize,
        depth: u32,
        chroma: Chroma,
        seed: u64,
    ) -> Picture {
        let chroma_size = match chroma {
            Chroma::None => None,
            Chroma::Both => Some((width / 2, height / 2)),
            Chroma::Horizontal => Some((width / 2, height)),
            Chroma::Full => Some((width, height)),
        };
        let sizes = [Some((width, height)), chroma_size, chroma_size].into_iter().flatten();
        let plane = |(plane, (width, height))| {
            self.plane(width, height, depth, seed.wrapping_mul(3).wrapping_add(plane))
        };
        Picture { chroma, depth, planes: (0..).zip(sizes).map(plane).collect() }
    }

    /// Luma only.
    pub(crate) fn draw(self, width: usize, height: usize, depth: u32, seed: u64) -> Picture {
        self.picture(width, height, depth, Chroma::None, seed)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    pub(crate) fn plane(self, width: usize, height: usize, depth: u32, seed: u64) -> TestPlane {
        let mut random = Random::new(seed);
        let largest = f64::from((1_u32 << depth) - 1);
        let wavelet = match self {
            Self::Wavelet { scale, band } => wavelet(scale).map(|filters| filters[band].clone()),
            _ => [Vec::new(), Vec::new()],
        };
        // The content is made for 8 bits: 0 to 255 with fractions.
        let mut samples = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let (u, v) = (x as f64, y as f64);
                let [black, white] = [0.0, 255.0];
                let value = match self {
                    Self::Random => random.unit() * 256.0 - 0.5,
                    Self::Extremes => [black, white][random.below(2) as usize],
                    Self::Noise => surface(u, v, seed) + 4.0 * (random.unit() - 0.5),
                    Self::Flat => 85.0,
                    Self::Gradient => white * (2.0 * u + v) / (2.0 * width as f64 + height as f64),
                    Self::Checkerboard => [white, black][(x + y) % 2],
                    Self::Blocks => [white, black][(x / 8 + y / 8) % 2],
                    Self::Tiles { width, height } => {
                        [white, black][((x + seed as usize % 64) / width + y / height) % 2]
                    }
                    Self::Wavelet { .. } => {
                        let [columns, rows] = &wavelet;
                        let positive = |filter: &[f64], at: usize| filter[at % filter.len()] > 0.0;
                        let same = positive(columns, x + seed as usize % 97) == positive(rows, y);
                        [black, white][usize::from(same)]
                    }
                    Self::Black => black,
                    Self::White => white,
                    Self::Bands => (60.0 + (u * 0.11 + v * 0.07 + (seed % 64) as f64) / 2.0 % 80.0).floor(),
                    Self::Stripes => {
                        90.0 + ((x / 9) % 2) as f64
                            + if seed.is_multiple_of(2) { 0.0 } else { (y / 40) as f64 }
                    }
                    Self::Cells => [70.0, 72.0][(x / 11 + y / 13 + seed as usize % 2) % 2],
                    Self::Text => [white, black][usize::from(is_stroke(x + seed as usize % 64, y))],
                    Self::Natural => natural(u, v, seed, &mut random),
                    Self::Fractal => fractal(x, y, seed),
                    Self::Grain => {
                        let grain = lattice(u / 1.7, v / 1.7, seed ^ 0x5bd1_e995) + random.unit() / 2.0;
                        fractal(x, y, seed) + 12.0 * (grain - 0.75)
                    }
                };
                samples.push((value * largest / white).round().clamp(0.0, largest) as u16);
            }
        }
        TestPlane { width, height, samples }
    }
}

fn surface(x: f64, y: f64, seed: u64) -> f64 {
    let phase = f64::from(u32::try_from(seed % 17).unwrap());
    110.0 + 50.0 * ((x + phase) / 310.0 * TAU).sin() * (y / 210.0 * TAU).cos() + x * 0.01
}

fn natural(x: f64, y: f64, seed: u64, random: &mut Random) -> f64 {
    let base = surface(x, y, seed).floor();
    let texture = if (x / 160.0).fract() > 0.7 { 18.0 * ((x * 0.9).sin() + (y * 1.3).cos()) } else { 0.0 };
    let edge = if (x * 0.7 + y) % 230.0 < 40.0 { 45.0 } else { 0.0 };
    let noise = if (y / 120.0).fract() > 0.6 { 3.0 * (random.unit() - 0.5) } else { 0.0 };
    base + texture + edge + noise
}

#[allow(clippy::cast_precision_loss)] // Coordinates.
fn fractal(x: usize, y: usize, seed: u64) -> f64 {
    let octaves = [(97.0, 130.0), (41.0, 60.0), (17.0, 28.0), (7.0, 14.0), (3.0, 7.0)];
    let (x, y) = (x as f64, y as f64);
    let octave = |(size, height): (f64, f64)| height * (lattice(x / size, y / size, seed) - 0.5);
    120.0 + octaves.into_iter().map(octave).sum::<f64>()
}

/// Random values at whole coordinates, and between them a mixture of the four neighbours.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Coordinates.
fn lattice(x: f64, y: f64, seed: u64) -> f64 {
    let value = |x: u64, y: u64| {
        let mixed = x.wrapping_mul(0x9e37_79b9).wrapping_add(y.wrapping_mul(0x85eb_ca6b)).wrapping_add(seed);
        f64::from((mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as u32) / f64::from(1 << 24)
    };
    let (column, row) = (x as u64, y as u64);
    let mix = |from: f64, to: f64, at: f64| from + (to - from) * at;
    let of_row = |row| mix(value(column, row), value(column + 1, row), x.fract());
    mix(of_row(row), of_row(row + 1), y.fract())
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

/// Strokes of two pixels in cells of eight.
fn is_stroke(x: usize, y: usize) -> bool {
    let stroke = (x / 8 * 7 + y / 12 * 13) % 5;
    y % 12 < 9 && (x % 8 / 2 == stroke % 4 || y % 12 / 2 == stroke)
}

/// xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From 0 to less than `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        u32::try_from(((self.next() >> 32) * u64::from(end)) >> 32).unwrap()
    }

    /// From 0 to less than 1.
    pub(crate) fn unit(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap()) / 4_294_967_296.0
    }
}
