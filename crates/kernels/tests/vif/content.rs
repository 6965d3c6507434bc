//! Pictures to measure.

use vmafx_kernels::{Plane, PlaneSample};

/// What samples can be made from.
pub(crate) trait Level: PlaneSample {
    fn from_level(level: u32) -> Self;
}

impl Level for u8 {
    fn from_level(level: u32) -> Self {
        u8::try_from(level).unwrap()
    }
}

impl Level for u16 {
    fn from_level(level: u32) -> Self {
        u16::try_from(level).unwrap()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Smooth structure with mild noise; the distorted picture is coarser.
    Natural,
    /// Two independent random pictures.
    Noise,
    /// A random picture and the same with more contrast.
    Contrast,
    Flat,
    Gradient,
    /// Samples of the lowest and the highest level, and the distorted picture inverted.
    Checkerboard,
    Black,
    White,
    /// Blocks of the lowest and the highest level, a different size in both.
    Blocks,
}

impl Content {
    pub(crate) const ALL: [Self; 9] = [
        Self::Natural,
        Self::Noise,
        Self::Contrast,
        Self::Flat,
        Self::Gradient,
        Self::Checkerboard,
        Self::Black,
        Self::White,
        Self::Blocks,
    ];
}

/// A pair of planes whose padding has random samples.
pub(crate) struct Clip<T> {
    reference: Vec<T>,
    distorted: Vec<T>,
    stride: usize,
    width: usize,
    height: usize,
}

impl<T: Level> Clip<T> {
    pub(crate) fn new(content: Content, width: usize, height: usize, depth: u32) -> Self {
        let padding = 1 + width % 7;
        let stride = width + padding;
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ ((width as u64) << 32) ^ height as u64);
        let (mut reference, mut distorted) = (Vec::new(), Vec::new());
        for y in 0..height {
            for x in 0..stride {
                let levels = if x < width {
                    content.levels(x, y, width, height, depth, &mut random)
                } else {
                    [random.level(depth), random.level(depth)]
                };
                reference.push(T::from_level(levels[0]));
                distorted.push(T::from_level(levels[1]));
            }
        }
        Self { reference, distorted, stride, width, height }
    }

    pub(crate) fn reference(&self) -> Plane<'_, T> {
        Plane::new(&self.reference, self.stride, self.width, self.height).unwrap()
    }

    pub(crate) fn distorted(&self) -> Plane<'_, T> {
        Plane::new(&self.distorted, self.stride, self.width, self.height).unwrap()
    }
}

impl Content {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn levels(
        self,
        x: usize,
        y: usize,
        width: usize,
        height: usize,
        depth: u32,
        random: &mut Random,
    ) -> [u32; 2] {
        let maximum = (1_u32 << depth) - 1;
        let extreme = |index: usize| if index.is_multiple_of(2) { maximum } else { 0 };
        match self {
            Self::Natural => {
                let (u, v) = (x as f64 / 40.0, y as f64 / 30.0);
                let waves = 0.5 + 0.2 * (u + (v * 0.7).sin()).sin() + 0.15 * (v * 1.3 - u * 0.3).cos();
                let fine = 0.06 * (u * 9.0).sin() * (v * 7.0).sin() * (0.5 + 0.5 * (u * 0.2).sin());
                let noise = (f64::from(random.level(8)) - 127.5) / 255.0 * 0.015;
                let level = |value: f64| (value.clamp(0.0, 1.0) * f64::from(maximum)).round() as u32;
                [level(waves + fine + noise), level(waves + 0.8 * fine + 0.3 * noise)]
            }
            Self::Noise => [random.level(depth), random.level(depth)],
            Self::Contrast => {
                let level = random.level(depth);
                [maximum / 4 + level / 2, level]
            }
            Self::Flat => [maximum / 3, maximum / 3 + 1],
            Self::Gradient => {
                let level = (x + y) as u64 * u64::from(maximum) / (width + height) as u64;
                [level as u32, (level as u32).saturating_sub(level as u32 % 3)]
            }
            Self::Checkerboard => [extreme(x + y), extreme(x + y + 1)],
            Self::Black => [0, 0],
            Self::White => [maximum, maximum],
            Self::Blocks => [extreme(x / 9 + y / 5), extreme(x / 8 + y / 5)],
        }
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn level(&mut self, depth: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        u32::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> (64 - depth)).unwrap()
    }
}
