//! Clips, and how they are scored.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use vmafx_job::{BitDepth, Feature, PixelFormat};
use vmafx_scoring::engine::models::{ModelChoice, built_in};
use vmafx_scoring::engine::{Engine, InstructionSet};
use vmafx_scoring::input::Clip;
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::score::Request;

use super::{Tally, Values};
use crate::clips::{Clips, LARGE, bits, raw, run, score_every};
use crate::support::picture::{Content, Random, TestPlane};

/// What a reference shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source {
    Generated(Content),
    /// A part of one of Netflix's clips, from a sample on that the case chooses.
    Golden(usize),
}

impl Source {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let golden = (0..GOLDEN.len()).map(Self::Golden);
        Content::ALL.into_iter().map(Self::Generated).chain(golden)
    }

    fn random(random: &mut Random) -> Self {
        match random.below(8) {
            0 => Self::Golden(random.below(2) as usize),
            _ => Self::Generated(content(random)),
        }
    }
}

/// How a distorted clip differs from the reference.
#[derive(Clone, Copy, Debug)]
enum Distortion {
    Same,
    /// As a lossy encoder or an enhancer does.
    Changed {
        contrast: f64,
        noise: u32,
    },
    /// Only so many levels of 256.
    Coarse(u16),
    Blurred,
    /// Another content.
    Unrelated(Content),
    /// What Netflix's encoder made of a golden clip.
    Encoded,
}

impl Distortion {
    fn random(random: &mut Random, source: Source) -> Self {
        if matches!(source, Source::Golden(_)) && random.below(2) == 0 {
            return Self::Encoded;
        }
        match random.below(16) {
            0 => Self::Same,
            1..=3 => Self::Coarse(choose(random, &[2, 6, 16, 40, 128])),
            4..=6 => Self::Blurred,
            7 | 8 => Self::Unrelated(content(random)),
            _ => {
                let contrast = choose(random, &[-1.0, 0.5, 0.8, 0.97, 1.0, 1.02, 1.1, 1.3, 2.0]);
                Self::Changed { contrast, noise: choose(random, &[0, 1, 2, 5, 20]) }
            }
        }
    }
}

/// One in three has neighbours that are black and white.
pub(super) fn content(random: &mut Random) -> Content {
    let extremes: Vec<_> = Content::full_contrast().chain(Content::wavelets()).collect();
    if random.below(3) == 0 { choose(random, &extremes) } else { choose(random, &Content::ALL) }
}

pub(super) fn choose<T: Copy>(random: &mut Random, among: &[T]) -> T {
    among[random.below(among.len().try_into().unwrap()) as usize]
}

/// The planes of a picture.
type Frame = Vec<TestPlane>;

#[derive(Debug)]
pub(super) struct Case {
    seed: u64,
    format: PictureFormat,
    source: Source,
    /// One for each distorted clip.
    distortions: Vec<Distortion>,
    frames: u32,
    models: Vec<&'static str>,
    cambi: bool,
    threads: u32,
    chunks: u32,
    step: u32,
    sets: Vec<InstructionSet>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, format, source, distortions, frames, threads, chunks, step, .. } = self;
        write!(
            f,
            "case {seed:#x}: {source:?}, {distortions:?}, {format}, {frames} frames, {threads} threads, {chunks} chunks, \
             step {step}, {:?}",
            self.models
        )
    }
}

fn all_models() -> Vec<&'static str> {
    built_in().map(|model| model.name).collect()
}

impl Case {
    pub(super) fn random(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let side = |random: &mut Random| match random.below(8) {
            0..=2 => 33 + random.below(120),
            3..=6 => 150 + random.below(330),
            _ => 480 + random.below(540),
        };
        // A few sizes that both engines have to refuse.
        let side =
            |random: &mut Random| if random.below(64) == 0 { 1 + random.below(33) } else { side(random) };
        let (width, height) = (side(random), side(random));
        let chroma = choose(random, &[PixelFormat::Yuv420p, PixelFormat::Yuv422p, PixelFormat::Yuv444p]);
        let depth = choose(random, &[BitDepth::Eight, BitDepth::Ten, BitDepth::Twelve, BitDepth::Sixteen]);
        let source = Source::random(random);
        let rungs = choose(random, &[1, 1, 1, 2, 3]);
        let distortions: Vec<_> = (0..rungs).map(|_| Distortion::random(random, source)).collect();
        // About a second, whatever the size.
        let most = (1_500_000 / (width * height) / rungs).clamp(2, 40);
        // Both engines refuse pictures that are too small for a v1 model, which needs no proof in every second case.
        let mut models = all_models();
        if width.min(height) < LARGE.1 && random.below(8) != 0 {
            models.retain(|name| !name.contains("_v1"));
        }
        if random.below(4) != 0 {
            models = (0..=random.below(2)).map(|_| choose(random, &models)).collect();
        }
        let mut sets: Vec<_> = InstructionSet::available().skip(1).collect();
        if sets.is_empty() || random.below(8) == 0 {
            sets.push(InstructionSet::Scalar);
        }
        Self {
            seed,
            format: PictureFormat { width, height, chroma, depth },
            source,
            distortions,
            frames: 1 + random.below(most),
            models,
            cambi: random.below(4) == 0,
            threads: choose(random, &[1, 1, 2, 3, 6]),
            chunks: choose(random, &[1, 1, 1, 2, 5]),
            step: choose(random, &[1, 1, 1, 2, 5]),
            sets,
        }
    }

    /// With every model. `index` chooses how the clips are scored.
    pub(super) fn fixed(index: u64, source: Source, depth: BitDepth, chroma: PixelFormat) -> Self {
        let turn =
            |values: &[u32], every: u64| values[usize::try_from(index / every).unwrap() % values.len()];
        let encoded =
            if matches!(source, Source::Golden(_)) { Distortion::Encoded } else { Distortion::Blurred };
        let changed = Distortion::Changed { contrast: 0.9, noise: 2 };
        let distortions = if matches!(source, Source::Generated(Content::Extremes | Content::Checkerboard)) {
            [Distortion::Unrelated(Content::Extremes), changed]
        } else {
            [changed, encoded]
        };
        Self {
            seed: index,
            format: PictureFormat { width: LARGE.0, height: LARGE.1, chroma, depth },
            source,
            distortions: distortions[..turn(&[1, 2], 1) as usize].to_vec(),
            frames: turn(&[2, 2, 5], 3),
            models: all_models(),
            cambi: false,
            threads: turn(&[1, 3], 2),
            chunks: turn(&[1, 2], 3),
            step: turn(&[1, 1, 2], 5),
            // The scalar kernels, which tests of the kernels compare with libvmaf, take too long.
            sets: InstructionSet::available().skip(1).collect(),
        }
    }

    /// Compares each engine's values of each clip.
    pub(super) fn run(&self, tally: &mut Tally) {
        let clips = Clips::new(self.format);
        let request = self.request(&clips);
        let mut alone = Vec::new();
        for distorted in &request.distorted {
            let request = Request {
                distorted: vec![distorted.clone()],
                engine: Engine::Libvmaf,
                threads: 1,
                chunks: 1,
                ..request.clone()
            };
            alone.push(run(&request).map(|outcomes| values(&bits(&outcomes[0]))));
        }
        for &set in &self.sets {
            let what = format!("native-{set}, {self}");
            let together = run(&Request { engine: Engine::Native(set), ..request.clone() });
            match (together, alone.iter().find_map(|alone| alone.as_ref().err())) {
                (Ok(together), None) => {
                    for (rung, (theirs, ours)) in alone.iter().flatten().zip(&together).enumerate() {
                        let what = format!("clip {rung}, {what}");
                        tally.compare(&what, &ours.frames, theirs, &values(&bits(ours)));
                    }
                }
                (Err(ours), Some(theirs)) if ours.to_string() == theirs.to_string() => tally.refused(),
                (ours, theirs) => {
                    let theirs =
                        theirs.map_or("libvmaf scores".to_owned(), |error| format!("libvmaf: {error}"));
                    let ours = ours.map_or_else(
                        |error| format!("the kernels: {error}"),
                        |_| "the kernels score".to_owned(),
                    );
                    tally.fail(&what, &format!("{theirs}, {ours}"));
                }
            }
        }
    }

    fn request(&self, clips: &Clips) -> Request {
        let reference = self.original(0);
        let distorted = self.distortions.iter().enumerate().map(|(rung, distortion)| {
            self.write(clips, &format!("distorted{rung}.yuv"), self.distorted(*distortion, &reference))
        });
        let distorted = distorted.collect();
        let mut request = Request::new(self.write(clips, "reference.yuv", reference), distorted);
        request.models = self.models.iter().map(|name| ModelChoice::Named((*name).to_owned())).collect();
        request.options.features = if self.cambi { vec![Feature::Cambi] } else { Vec::new() };
        (request.threads, request.chunks) = (self.threads, self.chunks);
        score_every(&mut request, self.step);
        request
    }

    fn write(&self, clips: &Clips, name: &str, frames: Vec<Frame>) -> Clip {
        let each = self.format.depth.bytes();
        let samples = frames.into_iter().flatten().flat_map(|plane| plane.samples);
        let bytes: Vec<u8> = samples.flat_map(|sample| sample.to_le_bytes().into_iter().take(each)).collect();
        std::fs::write(clips.path(name), bytes).unwrap();
        raw(&clips.path(name), self.format)
    }

    /// Frames that move, stand still, and jump at cuts. `version` is 1 for the distorted one of a golden clip.
    fn original(&self, version: usize) -> Vec<Frame> {
        const MARGIN: u32 = 24;
        let random = &mut Random::new(self.seed ^ 0x00f7_a3e5);
        let margin = MARGIN as usize;
        let scenes = [0, 1].map(|scene| self.scene(self.source, margin, scene, version));
        let (mut scene, mut at) = (0, (0, 0));
        let frame = |index: u32| {
            match random.below(8) {
                0 | 1 => {}
                2 => scene = 1 - scene,
                3 => at = (random.below(MARGIN) as usize, random.below(MARGIN) as usize),
                _ => at = ((at.0 + 1) % margin, (at.1 + usize::from(index.is_multiple_of(3))) % margin),
            }
            let planes = scenes[scene].iter().enumerate();
            planes.map(|(plane, whole)| crop(whole, at, self.format.plane(plane))).collect()
        };
        (0..self.frames).map(frame).collect()
    }

    /// Planes larger than the pictures by a margin.
    fn scene(&self, source: Source, margin: usize, scene: usize, version: usize) -> Frame {
        let depth = self.format.depth.bits();
        let planes = (0..3).map(|plane| {
            let (width, height) = self.format.plane(plane);
            let size = (width + margin, height + margin);
            match source {
                Source::Generated(content) => {
                    let seed = self.seed.wrapping_add((3 * scene + plane) as u64);
                    content.plane(size.0, size.1, depth, seed)
                }
                Source::Golden(clip) => GOLDEN[clip].plane(version, scene, plane, size, self),
            }
        });
        planes.collect()
    }

    fn distorted(&self, distortion: Distortion, reference: &[Frame]) -> Vec<Frame> {
        let depth = self.format.depth.bits();
        let each = |change: &dyn Fn(&TestPlane, u64) -> TestPlane| {
            let frames = reference.iter().zip(self.seed..);
            frames.map(|(frame, seed)| frame.iter().map(|plane| change(plane, seed)).collect()).collect()
        };
        match distortion {
            Distortion::Same => reference.to_vec(),
            Distortion::Changed { contrast, noise } => {
                each(&|plane, seed| plane.distorted(depth, contrast, noise, seed))
            }
            Distortion::Coarse(levels) => each(&|plane, _| coarse(plane, depth, levels)),
            Distortion::Blurred => each(&|plane, _| blurred(plane)),
            Distortion::Unrelated(content) => (0..reference.len())
                .map(|scene| self.scene(Source::Generated(content), 0, scene, 0))
                .collect(),
            Distortion::Encoded => self.original(1),
        }
    }
}

/// Without the numbers of the frames.
fn values(bits: &Values) -> Values {
    bits.iter().filter(|(name, _)| name != "frames").cloned().collect()
}

fn crop(plane: &TestPlane, (left, top): (usize, usize), (width, height): (usize, usize)) -> TestPlane {
    let rows = plane.samples.chunks_exact(plane.width).skip(top).take(height);
    TestPlane { width, height, samples: rows.flat_map(|row| &row[left..left + width]).copied().collect() }
}

/// A plane with so many levels.
fn coarse(plane: &TestPlane, depth: u32, levels: u16) -> TestPlane {
    let step = u32::max((1 << depth) / u32::from(levels), 1);
    let round = |sample: &u16| u16::try_from(u32::from(*sample) / step * step).unwrap();
    TestPlane { samples: plane.samples.iter().map(round).collect(), ..*plane }
}

/// Each sample is the mean of three neighbours in its row.
fn blurred(plane: &TestPlane) -> TestPlane {
    let row = |row: &[u16]| {
        let mean = |x: usize| {
            let sum = [x.saturating_sub(1), x, (x + 1).min(row.len() - 1)]
                .map(|x| u32::from(row[x]))
                .iter()
                .sum::<u32>();
            u16::try_from(sum / 3).unwrap()
        };
        (0..row.len()).map(mean).collect::<Vec<_>>()
    };
    TestPlane { samples: plane.samples.chunks_exact(plane.width).flat_map(row).collect(), ..*plane }
}

/// A pair of Netflix's clips.
#[derive(Debug)]
struct Golden {
    /// The reference and the distorted clip.
    files: [&'static str; 2],
    format: PictureFormat,
    samples: [OnceLock<Vec<u8>>; 2],
}

static GOLDEN: [Golden; 2] = [
    Golden {
        files: ["ref_160x90.yuv", "dis_160x90.yuv"],
        format: PictureFormat {
            width: 160,
            height: 90,
            chroma: PixelFormat::Yuv420p,
            depth: BitDepth::Eight,
        },
        samples: [const { OnceLock::new() }; 2],
    },
    Golden {
        files: ["src01_hrc00_576x324.yuv420p10le.yuv", "src01_hrc01_576x324.yuv420p10le.yuv"],
        format: PictureFormat { width: 576, height: 324, chroma: PixelFormat::Yuv420p, depth: BitDepth::Ten },
        samples: [const { OnceLock::new() }; 2],
    },
];

impl Golden {
    /// A part of a frame, mirrored at its borders, with the depth of the case.
    fn plane(
        &self,
        version: usize,
        frame: usize,
        plane: usize,
        size: (usize, usize),
        case: &Case,
    ) -> TestPlane {
        let Self { format, .. } = self;
        let bytes = self.samples[version].get_or_init(|| {
            let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
            std::fs::read(data.join(self.files[version])).unwrap()
        });
        let frames = bytes.len() / format.bytes();
        let start = frame % frames * format.bytes()
            + (0..plane).map(|plane| format.plane_bytes(plane)).sum::<usize>();
        let (width, height) = format.plane(plane);
        let each = format.depth.bytes();
        let first = usize::try_from(case.seed % 997).unwrap();
        let sample = |x: usize, y: usize| {
            let at = start + (mirrored(y + first / 3, height) * width + mirrored(x + first, width)) * each;
            let sample = u32::from(bytes[at]) | if each == 2 { u32::from(bytes[at + 1]) << 8 } else { 0 };
            let raised = sample << (16 - format.depth.bits());
            u16::try_from(raised >> (16 - case.format.depth.bits())).unwrap()
        };
        let samples = (0..size.1).flat_map(|y| (0..size.0).map(move |x| (x, y))).map(|(x, y)| sample(x, y));
        TestPlane { width: size.0, height: size.1, samples: samples.collect() }
    }
}

/// Forth and back.
fn mirrored(at: usize, length: usize) -> usize {
    let at = at % (2 * length);
    at.min(2 * length - 1 - at)
}
