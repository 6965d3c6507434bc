//! Generated clips, and helpers that compare them.

use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use vmafx_job::{BitDepth, FeatureEngine, LengthMismatch, PixelFormat};
use vmafx_scoring::engine::models::{ModelChoice, built_in};
use vmafx_scoring::input::{Clip, RawFormat, Tools};
use vmafx_scoring::outcome::ScoringOutcome;
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::score::{self, Request, ScoreError};

/// libvmaf has one CPU mask per process, so a test that sets it must run alone.
static CPU_MASK: RwLock<()> = RwLock::new(());

/// Runs a request in parallel with others.
pub(crate) fn run(request: &Request) -> Result<Vec<ScoringOutcome>, ScoreError> {
    let _shared = CPU_MASK.read().unwrap_or_else(PoisonError::into_inner);
    score::run(request, &Tools::from_process_env(), &(), &CancellationToken::new())
}

/// Runs a request that sets the CPU mask.
pub(crate) fn run_alone(request: &Request) -> Result<Vec<ScoringOutcome>, ScoreError> {
    let _alone = CPU_MASK.write().unwrap_or_else(PoisonError::into_inner);
    score::run(request, &Tools::from_process_env(), &(), &CancellationToken::new())
}

/// Calls libvmaf itself, which sets the CPU mask to none.
pub(crate) fn alone_with_cpu_mask<T>(call: impl FnOnce() -> T) -> T {
    let _alone = CPU_MASK.write().unwrap_or_else(PoisonError::into_inner);
    call()
}

/// The only outcome of a request that must succeed.
pub(crate) fn outcome(request: &Request) -> ScoringOutcome {
    run(request).expect("the comparison succeeds").remove(0)
}

/// Scores every `step`-th frame only.
pub(crate) fn score_every(request: &mut Request, step: u32) {
    request.options.frame_step = Some(step.try_into().unwrap());
}

/// Scores the frames that both clips have.
pub(crate) fn score_shortest(request: &mut Request) {
    request.options.length_mismatch = Some(LengthMismatch::Shortest);
}

pub(crate) fn format(width: u32, height: u32) -> PictureFormat {
    PictureFormat { width, height, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight }
}

pub(crate) fn raw(path: &Path, format: PictureFormat) -> Clip {
    Clip::described(path, RawFormat { format, frame_rate: Some(25.0) })
}

pub(crate) fn golden(name: &str, format: PictureFormat) -> Clip {
    raw(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name), format)
}

pub(crate) fn every_model() -> Vec<ModelChoice> {
    built_in().map(|model| ModelChoice::Named(model.name.to_owned())).collect()
}

pub(crate) fn named(name: &str) -> Vec<ModelChoice> {
    vec![ModelChoice::Named(name.to_owned())]
}

/// Scores and features as bits, for exact comparison.
pub(crate) fn bits(outcome: &ScoringOutcome) -> Vec<(String, Vec<u64>)> {
    let list = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let mut bits = vec![("frames".to_owned(), outcome.frames.clone())];
    for model in &outcome.models {
        bits.push((model.name.clone(), list(&model.scores)));
        let ends = model.intervals.iter().flatten().flat_map(|interval| [interval.low, interval.high]);
        bits.push((format!("{} interval", model.name), list(&ends.collect::<Vec<_>>())));
    }
    bits.extend(outcome.features.iter().map(|(name, values)| (name.clone(), list(values))));
    bits
}

/// Large enough for every model, including the phone and television models of v1.
pub(crate) const LARGE: (u32, u32) = (336, 320);

pub(crate) struct Clips {
    pub(crate) directory: TempDir,
    pub(crate) format: PictureFormat,
}

impl Clips {
    pub(crate) fn new(format: PictureFormat) -> Self {
        Self { directory: TempDir::new().unwrap(), format }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Generates a clip, which is the more distorted the higher `loss` is; 0 is the reference.
    pub(crate) fn clip(&self, name: &str, frames: u64, loss: u8) -> Clip {
        let bytes: Vec<u8> = (0..frames).flat_map(|frame| picture(self.format, frame, loss)).collect();
        std::fs::write(self.path(name), bytes).unwrap();
        raw(&self.path(name), self.format)
    }

    /// A reference and one distorted clip.
    pub(crate) fn request(&self, frames: u64) -> Request {
        let (reference, distorted) =
            (self.clip("reference.yuv", frames, 0), self.clip("distorted.yuv", frames, 3));
        Request { engine: FeatureEngine::Native.into(), ..Request::new(reference, vec![distorted]) }
    }
}

/// One frame of a texture that moves at a changing speed, sometimes stands still, and jumps at cuts, so that motion differs in
/// every direction.
pub(crate) fn picture(format: PictureFormat, frame: u64, loss: u8) -> Vec<u8> {
    const POSITIONS: [usize; 12] = [0, 1, 1, 6, 7, 30, 31, 31, 31, 40, 41, 90];
    let frame = usize::try_from(frame).unwrap();
    let position = POSITIONS[frame % 12] + 17 * (frame / 12);
    let (texture, bytes_each) = (texture(), format.depth.bytes());
    let mut bytes = Vec::with_capacity(format.bytes());
    for plane in 0..3 {
        let (width, height) = format.plane(plane);
        for y in 0..height {
            let row = &texture[(y + position / 3 + 100 * plane) % SIDE];
            let grain = &texture[(y * 7 + frame * 31) % SIDE];
            for x in 0..width {
                let value = row[(x + position) % SIDE];
                let added = if loss == 0 { 0 } else { grain[(x * 5) % SIDE] % (2 * loss) };
                let coarse = 1 + loss * 4;
                let sample =
                    u16::from((value / coarse * coarse).saturating_add(added)) << (format.depth.bits() - 8);
                bytes.extend_from_slice(&sample.to_le_bytes()[..bytes_each]);
            }
        }
    }
    bytes
}

const SIDE: usize = 512;

/// Waves with grain, generated once because unoptimised tests would spend most of their time here.
fn texture() -> &'static [[u8; SIDE]] {
    static TEXTURE: OnceLock<Vec<[u8; SIDE]>> = OnceLock::new();
    TEXTURE.get_or_init(|| {
        let mut seed = 1_u64;
        let mut row = |y: usize| {
            std::array::from_fn(|x| {
                // Pseudo-random numbers, the same on every machine.
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let wave = (x * 3 / 2) % 97 + (y * 5 / 3) % 71;
                30 + u8::try_from(wave).unwrap() + (seed >> 60) as u8
            })
        };
        (0..SIDE).map(&mut row).collect()
    })
}
