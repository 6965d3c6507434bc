//! The cost of a score by our kernels, compared with libvmaf alone and with ffmpeg's libvmaf filter in the same run.
//!
//! Our side is always the whole program `vmafx score --engine native`: start, reading, digests, scores, report. libvmaf's side
//! is the example `bare_loop`, which calls its C API and does not count the time in which it reads raw frames.
//!
//! | figure                           | ours                                         | theirs                                      |
//! |----------------------------------|----------------------------------------------|---------------------------------------------|
//! | `cpu-over-libvmaf.*`             | CPU time of the program, one thread          | CPU time of `bare_loop` without reading     |
//! | `cpu-over-libvmaf.ladder-of-five`| CPU time of one run, with its decoders       | of five `bare_loop`, each with two decoders |
//! | `frames-per-cpu-second-over-…`   | CPU time of the program, one thread          | CPU time of ffmpeg with its libvmaf filter  |
//! | `memory-over-libvmaf.*`          | peak of the program, one thread              | peak of `bare_loop`                         |
//! | `instructions-over-libvmaf.*`    | instructions of the program, by callgrind    | instructions of `bare_loop`                 |
//!
//! Both sides of `avx2` rows and of instructions use AVX2 at most; in all others each uses the best that this CPU has. All
//! decoders are the same ffmpeg with one thread, and write raw frames into pipes.

pub(super) mod clips;
mod instructions;
mod programs;

use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};

use self::clips::{Clips, Content, HD, HD_10_BIT, RawShape, UHD};
use self::programs::{Programs, ScoringSetup, Vectors};
use super::figure::Figure;
use crate::tools;

const REPEATS: usize = 3;
/// Runs per sample, of which the cheapest counts: on a shared machine the cost of a run varies by a tenth, and only upwards.
const BEST_OF: usize = 2;

const V0: ScoringSetup = ScoringSetup { model: "vmaf_v0.6.1", vectors: Vectors::Best, threads: 1 };
const V0_AVX2: ScoringSetup = ScoringSetup { vectors: Vectors::Avx2, ..V0 };
const V0_UHD: ScoringSetup = ScoringSetup { model: "vmaf_4k_v0.6.1", ..V0 };
/// What `auto` selects for 1080p.
const V1: ScoringSetup = ScoringSetup { model: "vmaf_v1.0.16_3d0h", ..V0 };

/// The largest difference between the mean scores of both sides, whose frames have the same bits.
const SCORE_TOLERANCE: f64 = 0.000_001;

/// Memory limit of the engine at 1080p, in megabytes: a base, and an amount per thread.
const BASE_MEMORY: f64 = 80.0;
const THREAD_MEMORY: f64 = 90.0;

/// Figures of the CPU time over that of libvmaf.
struct Row {
    name: &'static str,
    contents: &'static [Content],
    shape: RawShape,
    setup: ScoringSetup,
    limit: f64,
}

const AVX2: [Row; 2] = [
    Row {
        name: "avx2",
        contents: &[Content::Mandelbrot, Content::Noise],
        shape: HD,
        setup: V0_AVX2,
        limit: 0.5,
    },
    Row {
        name: "avx2",
        contents: &[Content::TestSource, Content::Flat],
        shape: HD,
        setup: V0_AVX2,
        limit: 0.58,
    },
];
const AVX512: Row = Row { name: "avx512", contents: &Content::ALL, shape: HD, setup: V0, limit: 0.5 };
const BEST: [Row; 3] = [
    Row {
        name: "10-bit",
        contents: &[Content::Mandelbrot, Content::Noise],
        shape: HD_10_BIT,
        setup: V0,
        limit: 0.48,
    },
    Row {
        name: "v1",
        contents: &[Content::Mandelbrot, Content::Noise, Content::TestSource],
        shape: HD,
        setup: V1,
        limit: 0.7,
    },
    Row { name: "2160p", contents: &[Content::Mandelbrot], shape: UHD, setup: V0_UHD, limit: 0.52 },
];

pub(super) fn measure(report: &mut dyn FnMut(Figure)) -> Result<()> {
    let ffmpeg = tools::ffmpeg().context("no ffmpeg with libvmaf to compare with; run `make setup`")?;
    let bench = ScoringBench { clips: Clips::new(&ffmpeg)?, programs: Programs { ffmpeg } };
    AVX2.iter().try_for_each(|row| bench.over_libvmaf(row, report))?;
    let best = bench.best_engine()?;
    if best == "native-avx512" {
        bench.over_libvmaf(&AVX512, report)?;
    } else {
        println!("skipped scoring.cpu-over-libvmaf.avx512: the best kernels of this CPU are {best}");
    }
    BEST.iter().try_for_each(|row| bench.over_libvmaf(row, report))?;
    report(bench.ladder()?);
    for content in [Content::Mandelbrot, Content::Noise, Content::TestSource] {
        report(bench.over_ffmpeg(content)?);
    }
    bench.two_cores()?.into_iter().for_each(&mut *report);
    for (name, shape, setup) in [("1080p", HD, V0), ("2160p", UHD, V0_UHD)] {
        report(bench.memory_over_libvmaf(name, shape, setup)?);
    }
    bench.memory()?.into_iter().for_each(&mut *report);
    report(bench.libvmaf_engine()?);
    instructions::measure(&bench.programs, &bench.clips, report)
}

struct ScoringBench {
    clips: Clips,
    programs: Programs,
}

impl ScoringBench {
    /// The engine that `native` is on this CPU.
    fn best_engine(&self) -> Result<String> {
        let pair = self.clips.raw(Content::Flat, HD)?;
        Ok(self.programs.native(&self.clips.first(&pair, 1)?, V0)?.engine)
    }

    fn over_libvmaf(&self, row: &Row, report: &mut dyn FnMut(Figure)) -> Result<()> {
        for content in row.contents {
            let name = format!("scoring.cpu-over-libvmaf.{}.{}", row.name, content.name());
            let pair = self.clips.raw(*content, row.shape)?;
            let (samples, note) = compare(row.shape.frames, || {
                let (bare, ours) =
                    (programs::bare(&pair, row.setup)?, self.programs.native(&pair, row.setup)?);
                require_same_score(bare.score, ours.score)?;
                Ok([ours.cost.cpu, bare.cpu])
            })?;
            report(Figure::at_most(name, "ratio", row.limit, samples).with_note(note));
        }
        Ok(())
    }

    /// A user of libvmaf alone scores five encodes in five runs, each of which decodes the reference again.
    fn ladder(&self) -> Result<Figure> {
        let (reference, renditions) = self.clips.ladder()?;
        let renditions: Vec<&Path> = renditions.iter().map(AsRef::as_ref).collect();
        let frames = HD.frames * u32::try_from(renditions.len())?;
        let (samples, note) = compare(frames, || {
            let ours = self.programs.native_of_files(&reference, &renditions, V0)?;
            let (mut theirs, mut scores) = (0.0, Vec::new());
            for clip in &renditions {
                let bare = self.programs.bare_with_decoders((&reference, clip), HD, V0)?;
                theirs += bare.cost.cpu;
                scores.push(bare.score);
            }
            require_same_score(*scores.first().context("the ladder has no clips")?, ours.score)?;
            Ok([ours.cost.cpu, theirs])
        })?;
        let name = "scoring.cpu-over-libvmaf.ladder-of-five";
        Ok(Figure::at_most(name, "ratio", 0.45, samples).with_note(note))
    }

    fn over_ffmpeg(&self, content: Content) -> Result<Figure> {
        let pair = self.clips.raw(content, HD)?;
        let (samples, note) = compare(HD.frames, || {
            let theirs = self.programs.ffmpeg_filter(&pair)?.cpu;
            Ok([self.programs.native(&pair, V0)?.cost.cpu, theirs])
        })?;
        let name = format!("scoring.frames-per-cpu-second-over-ffmpeg.{}", content.name());
        let samples = samples.into_iter().map(f64::recip).collect();
        Ok(Figure::at_least(name, "ratio", 3.0, samples).with_note(note))
    }

    /// Wall-clock time. Two runs at the same time, each with a core of its own, tell what two cores of this machine can do: they
    /// share its memory and caches, so it is less than twice.
    fn two_cores(&self) -> Result<[Figure; 3]> {
        const TIMES: u32 = 4;
        let pair = self.clips.repeated(&self.clips.raw(Content::Mandelbrot, HD)?, TIMES)?;
        let wall =
            |cores: &[u32]| -> Result<f64> { Ok(self.programs.native_on_cores(&pair, cores, V0)?.cost.wall) };
        let of_two_runs = || -> Result<f64> {
            thread::scope(|scope| {
                let other = scope.spawn(|| wall(&[1]));
                let first = wall(&[0])?;
                Ok(first.max(other.join().map_err(|_| anyhow!("a run panicked"))??))
            })
        };
        let frames = pair.shape.frames;
        let (samples, note) = compare(frames, || Ok([wall(&[0])?, wall(&[0, 1])?]))?;
        let (of_runs, of_runs_note) = compare(2 * frames, || Ok([2.0 * wall(&[0])?, of_two_runs()?]))?;
        let (over_runs, over_runs_note) = compare(2 * frames, || Ok([of_two_runs()?, 2.0 * wall(&[0, 1])?]))?;
        Ok([
            Figure::without_limit("scoring.speed-of-two-cores", "ratio", samples).with_note(note),
            Figure::without_limit("scoring.speed-of-two-runs", "ratio", of_runs).with_note(of_runs_note),
            Figure::at_least("scoring.two-threads-over-two-runs", "ratio", 0.95, over_runs)
                .with_note(over_runs_note),
        ])
    }

    fn memory_over_libvmaf(&self, name: &str, shape: RawShape, setup: ScoringSetup) -> Result<Figure> {
        let pair = self.clips.raw(Content::Mandelbrot, shape)?;
        let ours = self.programs.native(&pair, setup)?.cost.peak;
        let theirs = programs::bare(&pair, setup)?.cost.peak;
        let name = format!("scoring.memory-over-libvmaf.{name}");
        let note = format!("{ours:.0} and {theirs:.0} MB");
        Ok(Figure::at_most(name, "ratio", 0.6, vec![ours / theirs]).with_note(note))
    }

    fn memory(&self) -> Result<[Figure; 2]> {
        const THREADS: u32 = 2;
        let peak = |frames| -> Result<f64> {
            let (reference, distorted) = self.clips.encoded(frames)?;
            let setup = ScoringSetup { threads: THREADS, ..V0 };
            Ok(self.programs.native_of_files(&reference, &[&distorted], setup)?.cost.peak)
        };
        let (short, long) = (peak(60)?, peak(600)?);
        let limit = BASE_MEMORY + THREAD_MEMORY * f64::from(THREADS);
        Ok([
            Figure::at_most("scoring.peak-memory", "MB", limit, vec![short, long]),
            Figure::at_most("scoring.memory-of-600-over-60-frames", "ratio", 1.05, vec![long / short]),
        ])
    }

    /// With libvmaf's features, `vmafx score` costs no more than libvmaf alone.
    fn libvmaf_engine(&self) -> Result<Figure> {
        let pair = self.clips.raw(Content::Mandelbrot, HD)?;
        let (samples, note) = compare(HD.frames, || {
            let theirs = programs::bare(&pair, V0)?.cpu;
            Ok([self.programs.libvmaf_engine(&pair, V0)?.cpu, theirs])
        })?;
        let name = "scoring.cpu-over-libvmaf.engine-libvmaf";
        Ok(Figure::at_most(name, "ratio", 1.0, samples).with_note(note))
    }
}

/// Samples of the first number over the second one, each of the least of several runs of both in turns, and the least of all
/// runs in milliseconds per frame.
fn compare(frames: u32, mut run: impl FnMut() -> Result<[f64; 2]>) -> Result<(Vec<f64>, String)> {
    let mut samples = Vec::new();
    let mut least = [f64::INFINITY; 2];
    for _ in 0..REPEATS {
        let mut sample = [f64::INFINITY; 2];
        for _ in 0..BEST_OF {
            for (least, seconds) in sample.iter_mut().zip(run()?) {
                *least = least.min(seconds);
            }
        }
        samples.push(sample[0] / sample[1]);
        least = [least[0].min(sample[0]), least[1].min(sample[1])];
    }
    let [first, second] = least.map(|seconds| seconds * 1000.0 / f64::from(frames));
    Ok((samples, format!("{first:.1} and {second:.1} ms per frame")))
}

/// A faster program that computes something else is not faster.
fn require_same_score(theirs: f64, ours: f64) -> Result<()> {
    if (theirs - ours).abs() > SCORE_TOLERANCE {
        bail!("the score is {ours}, and libvmaf's {theirs}");
    }
    Ok(())
}
