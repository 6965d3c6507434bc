//! Frames that cost what natural content costs: structure of all sizes, motion and grain.
//!
//! No sample is close to black or white, so that both engines give the same bits: see `docs/engine.md`.

use vmafx_scoring::engine::{LibvmafError, PicturePool, SharedPicture};
use vmafx_scoring::picture::PictureFormat;

/// Pairs that are generated. They are scored in turns, so that each frame differs from the one before.
pub(super) const PAIRS: u32 = 4;

/// Side of the texture, which repeats.
const SIDE: usize = 512;
/// Cells of the noise, from coarse to fine. The amplitude is proportional to the size, as in natural content.
const CELLS: [usize; 6] = [128, 64, 32, 16, 8, 4];
/// Luma of the texture: 40 and above.
const FLOOR: f32 = 40.0;
const RANGE: f32 = 160.0;
/// Steps of the distorted copy, as coarse quantisation leaves them.
const STEP: u32 = 3;
/// How far the texture moves per frame, in samples.
const MOTION: (usize, usize) = (3, 1);

/// A sum of smooth noise of several sizes, which repeats at its borders. Samples are 8.8 fixed-point numbers.
pub(super) struct Texture(Vec<u16>);

impl Texture {
    pub(super) fn new() -> Self {
        let sum: usize = CELLS.iter().sum();
        let sample = |index: usize| {
            let (x, y) = (index % SIDE, index / SIDE);
            let noise: f32 = CELLS.iter().map(|cell| smooth_noise(x, y, *cell) * as_f32(*cell)).sum();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 40 and 200, times 256"
            )]
            let fixed = ((FLOOR + RANGE * noise / as_f32(sum)) * 256.0) as u16;
            fixed
        };
        Self((0..SIDE * SIDE).map(sample).collect())
    }

    fn at(&self, x: usize, y: usize) -> u32 {
        u32::from(self.0[y % SIDE * SIDE + x % SIDE])
    }
}

/// From 0 to 1: random values at the corners of cells, and between them a smooth transition.
fn smooth_noise(x: usize, y: usize, cell: usize) -> f32 {
    let cells = SIDE / cell;
    let corner = |dx: usize, dy: usize| {
        let (column, row) = ((x / cell + dx) % cells, (y / cell + dy) % cells);
        as_f32((random(column, row, cell) >> 16) as usize) / 65536.0
    };
    let weight = |position: usize| {
        let t = as_f32(position % cell) / as_f32(cell);
        t * t * (3.0 - 2.0 * t)
    };
    let (across, down) = (weight(x), weight(y));
    let mix = |a: f32, b: f32, weight: f32| a + (b - a) * weight;
    mix(mix(corner(0, 0), corner(1, 0), across), mix(corner(0, 1), corner(1, 1), across), down)
}

/// The same number for the same arguments on every machine.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are enough")]
fn random(x: usize, y: usize, z: usize) -> u32 {
    let mut state = (x as u32).wrapping_mul(0x9E37_79B1) ^ (y as u32).wrapping_mul(0x85EB_CA77);
    state ^= (z as u32).wrapping_mul(0xC2B2_AE3D);
    for _ in 0..2 {
        state = (state ^ (state >> 15)).wrapping_mul(0x2C1B_3C6D);
    }
    state ^ (state >> 16)
}

#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
fn as_f32(number: usize) -> f32 {
    number as f32
}

/// Which of the two clips a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Reference,
    Distorted,
}

/// Pairs of frames in memory.
pub(super) struct FrameSet {
    format: PictureFormat,
    pairs: Vec<(SharedPicture, SharedPicture)>,
}

impl FrameSet {
    pub(super) fn generate(texture: &Texture, format: PictureFormat) -> Result<Self, LibvmafError> {
        let pool = PicturePool::new(format, 2 * PAIRS)?;
        let picture = |frame: usize, side| {
            let mut picture = pool.fetch()?;
            for (plane, target) in picture.planes().iter_mut().enumerate() {
                for (y, row) in target.rows_mut().enumerate() {
                    fill(row, texture, (frame, plane, y), format, side);
                }
            }
            Ok(picture.share())
        };
        let pairs = (0..PAIRS as usize)
            .map(|frame| Ok((picture(frame, Side::Reference)?, picture(frame, Side::Distorted)?)))
            .collect::<Result<_, LibvmafError>>()?;
        Ok(Self { format, pairs })
    }

    pub(super) fn format(&self) -> PictureFormat {
        self.format
    }

    /// Reference and distorted frame.
    pub(super) fn pair(&self, index: u32) -> (SharedPicture, SharedPicture) {
        self.pairs[index as usize % self.pairs.len()].clone()
    }
}

/// Fills a row of samples.
fn fill(
    row: &mut [u8],
    texture: &Texture,
    (frame, plane, y): (usize, usize, usize),
    format: PictureFormat,
    side: Side,
) {
    let depth = format.depth.bits();
    let (left, top) = (frame * MOTION.0 + plane * 171, frame * MOTION.1 + y);
    for (x, target) in row.chunks_exact_mut(format.depth.bytes()).enumerate() {
        let base = texture.at(x + left, top);
        let fixed = match side {
            // Grain of up to two steps of eight bits.
            Side::Reference => base + random(x, y, frame * 3 + plane) % 1024,
            Side::Distorted => {
                let neighbours = base + texture.at(x + left + 1, top) + texture.at(x + left, top + 1);
                let soft = (neighbours + texture.at(x + left + 1, top + 1)) / 4 + 512;
                soft / (STEP * 256) * (STEP * 256)
            }
        };
        let sample = if depth > 8 { fixed << (depth - 8) >> 8 } else { fixed >> 8 };
        target.copy_from_slice(&sample.to_le_bytes()[..format.depth.bytes()]);
    }
}

#[cfg(test)]
mod tests {
    use vmafx_job::{BitDepth, PixelFormat};

    use super::*;

    fn row(side: Side, depth: BitDepth, frame: usize) -> Vec<u16> {
        let format = PictureFormat { width: 640, height: 2, chroma: PixelFormat::Yuv420p, depth };
        let mut bytes = vec![0; 640 * depth.bytes()];
        fill(&mut bytes, &Texture::new(), (frame, 0, 1), format, side);
        let sample = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u16::from(*byte));
        bytes.chunks_exact(depth.bytes()).map(sample).collect()
    }

    #[test]
    fn no_sample_is_close_to_black_or_white_at_any_depth() {
        for depth in BitDepth::ALL {
            let unit = 1 << (depth.bits() - 8);
            for sample in [Side::Reference, Side::Distorted].into_iter().flat_map(|side| row(side, depth, 2))
            {
                assert!((30 * unit..220 * unit).contains(&u32::from(sample)), "{sample} of {depth:?}");
            }
        }
    }

    #[test]
    fn frames_move_and_the_distorted_copy_differs() {
        let reference = row(Side::Reference, BitDepth::Eight, 0);
        assert_ne!(reference, row(Side::Reference, BitDepth::Eight, 1));
        let distorted = row(Side::Distorted, BitDepth::Eight, 0);
        let differences = reference.iter().zip(&distorted).map(|(a, b)| a.abs_diff(*b));
        let largest = differences.clone().max().unwrap();
        assert!(differences.filter(|difference| *difference > 0).count() > 300, "{distorted:?}");
        assert!(largest < 20, "the copy shows the same: {largest}");
    }
}
