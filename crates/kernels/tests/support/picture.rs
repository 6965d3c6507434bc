//! Pictures that exercise features: each content by its name, of any size, depth and subsampling.

use std::f64::consts::TAU;

use vmafx_kernels::Plane;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subsampling {
    /// 4:2:0
    Both,
    /// 4:2:2
    Horizontal,
    /// 4:4:4
    None,
}

#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) subsampling: Subsampling,
    pub(crate) depth: u32,
    pub(crate) planes: [TestPlane; 3],
}

#[derive(Clone, Debug)]
pub(crate) struct TestPlane {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) samples: Vec<u16>,
}

impl TestPlane {
    /// The plane with its samples in bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.samples.iter().map(|&sample| u8::try_from(sample).unwrap()).collect()
    }

    pub(crate) fn words(&self) -> Plane<'_, u16> {
        Plane::new(&self.samples, self.width, self.width, self.height).unwrap()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Random,
    /// Small noise on a smooth surface.
    Noise,
    Flat,
    Black,
    White,
    /// A smooth surface in few samples, as an encoder leaves it.
    Bands,
    /// Bands of slightly different samples.
    Stripes,
    Checkerboard,
    Text,
    /// Smooth surfaces, edges, texture and noise.
    Natural,
}

impl Content {
    pub(crate) const ALL: [Self; 10] = [
        Self::Random,
        Self::Noise,
        Self::Flat,
        Self::Black,
        Self::White,
        Self::Bands,
        Self::Stripes,
        Self::Checkerboard,
        Self::Text,
        Self::Natural,
    ];

    /// A picture; different seeds give similar ones.
    pub(crate) fn picture(
        self,
        width: usize,
        height: usize,
        depth: u32,
        subsampling: Subsampling,
        seed: u64,
    ) -> Picture {
        let (chroma_width, chroma_height) = match subsampling {
            Subsampling::Both => (width / 2, height / 2),
            Subsampling::Horizontal => (width / 2, height),
            Subsampling::None => (width, height),
        };
        let plane = |width, height, plane| self.plane(width, height, depth, seed.wrapping_mul(3) + plane);
        Picture {
            subsampling,
            depth,
            planes: [
                plane(width, height, 0),
                plane(chroma_width, chroma_height, 1),
                plane(chroma_width, chroma_height, 2),
            ],
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn plane(self, width: usize, height: usize, depth: u32, seed: u64) -> TestPlane {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let largest = f64::from((1_u32 << depth) - 1);
        // The content is made for 8 bits: 0 to 255 with fractions.
        let mut samples = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let (u, v) = (x as f64, y as f64);
                let value = match self {
                    Self::Random => random.unit() * 256.0 - 0.5,
                    Self::Noise => surface(u, v, seed) + 4.0 * (random.unit() - 0.5),
                    Self::Flat => 100.0,
                    Self::Black => 0.0,
                    Self::White => 255.0,
                    Self::Bands => (60.0 + (u * 0.11 + v * 0.07 + seed as f64) / 2.0 % 80.0).floor(),
                    Self::Stripes => {
                        90.0 + ((x / 9) % 2) as f64
                            + if seed.is_multiple_of(2) { 0.0 } else { (y / 40) as f64 }
                    }
                    Self::Checkerboard => [70.0, 72.0][(x / 11 + y / 13 + seed as usize) % 2],
                    Self::Text => [16.0, 235.0][usize::from(letter(x + seed as usize, y))],
                    Self::Natural => natural(u, v, seed, &mut random),
                };
                samples.push((value * largest / 255.0).round().clamp(0.0, largest) as u16);
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

/// Strokes of two pixels in cells of eight.
fn letter(x: usize, y: usize) -> bool {
    let stroke = (x / 8 * 7 + y / 12 * 13) % 5;
    y % 12 < 9 && (x % 8 / 2 == stroke % 4 || y % 12 / 2 == stroke)
}

/// xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From 0 to less than 1.
    pub(crate) fn unit(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap()) / 4_294_967_296.0
    }
}
