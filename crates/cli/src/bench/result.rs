//! Frames per second of both engines.

use serde::Serialize;
use vmafx_scoring::engine;
use vmafx_scoring::engine::Engine;
use vmafx_scoring::picture::PictureFormat;

use super::args::BenchArgs;
use super::measure::{Measured, Round};
use super::{BenchCase, BenchError};

/// What the results depend on.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Machine {
    pub(super) cpu: String,
    pub(super) cores: usize,
    /// Such as `native-avx2`.
    pub(super) native: String,
    pub(super) vmafx: &'static str,
    pub(super) libvmaf: String,
    pub(super) threads: u32,
    pub(super) pixel_format: String,
}

impl Machine {
    pub(super) fn this(args: &BenchArgs, native: Engine) -> Self {
        Self {
            cpu: cpu_name(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            native: native.to_string(),
            vmafx: env!("CARGO_PKG_VERSION"),
            libvmaf: engine::version(),
            threads: args.threads.into(),
            pixel_format: args.pixel_format.to_string(),
        }
    }
}

/// By the kernel of the system.
fn cpu_name() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| "unknown CPU".to_owned(), |(_, name)| name.trim().to_owned())
}

/// The speed of one engine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EngineSpeed {
    pub(super) engine: String,
    /// Per second of CPU time, in the best round.
    pub(super) frames_per_cpu_second: f64,
    /// Per second of wall-clock time with all threads, in the best round.
    pub(super) frames_per_second: f64,
    pub(super) rounds: Vec<Round>,
}

impl EngineSpeed {
    fn of(measured: Measured) -> Self {
        let best = |seconds: fn(&Round) -> f64| {
            let rounds = measured.rounds.iter().map(|round| f64::from(round.frames) / seconds(round));
            rounds.fold(0.0, f64::max)
        };
        Self {
            engine: measured.engine.to_string(),
            frames_per_cpu_second: best(|round| round.cpu_seconds),
            frames_per_second: best(|round| round.wall_seconds),
            rounds: measured.rounds,
        }
    }
}

/// A model at a size, with both engines.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BenchResult {
    pub(super) model: String,
    #[serde(flatten)]
    pub(super) size: BenchSize,
    pub(super) native: EngineSpeed,
    pub(super) libvmaf: EngineSpeed,
    /// Frames per CPU second of `native` over those of `libvmaf`.
    pub(super) speedup: f64,
    /// Of the generated frames, the same with both engines.
    pub(super) mean_score: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct BenchSize {
    pub(super) width: u32,
    pub(super) height: u32,
}

impl BenchResult {
    /// An error if the engines gave different scores.
    pub(super) fn new(case: &BenchCase, native: Measured, libvmaf: Measured) -> Result<Self, BenchError> {
        let BenchCase { model, format: format @ PictureFormat { width, height, .. } } = case;
        let mut scores = native.scores.iter().zip(&libvmaf.scores);
        if let Some(frame) = scores.position(|(ours, theirs)| ours.to_bits() != theirs.to_bits()) {
            return Err(BenchError::DifferentScores {
                native: native.engine.to_string(),
                model: model.name.clone(),
                format: *format,
                frame,
                ours: native.scores[frame],
                theirs: libvmaf.scores[frame],
            });
        }
        #[expect(clippy::cast_precision_loss, reason = "there are few scores")]
        let mean_score = native.scores.iter().sum::<f64>() / native.scores.len() as f64;
        let (native, libvmaf) = (EngineSpeed::of(native), EngineSpeed::of(libvmaf));
        let speedup = native.frames_per_cpu_second / libvmaf.frames_per_cpu_second;
        let size = BenchSize { width: *width, height: *height };
        Ok(Self { model: model.name.clone(), size, native, libvmaf, speedup, mean_score })
    }
}

#[derive(Serialize)]
pub(super) struct BenchDocument<'a> {
    machine: &'a Machine,
    results: &'a [BenchResult],
}

pub(super) fn document<'a>(machine: &'a Machine, results: &'a [BenchResult]) -> BenchDocument<'a> {
    BenchDocument { machine, results }
}
