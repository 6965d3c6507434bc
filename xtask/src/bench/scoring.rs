//! The cost of a score, compared with ffmpeg's libvmaf filter and with bare libvmaf in the same run.

pub(super) mod clips;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use self::clips::{Clips, Content, HEIGHT, WIDTH};
use super::figure::Figure;
use super::measure::{Cost, run};
use crate::{tools, workspace};

const REPEATS: usize = 3;

/// For figures that are close to their limit.
const MORE_REPEATS: usize = 5;
/// Runs per sample, of which the cheapest counts, where a figure needs more precision: on a shared machine the cost of a
/// run varies by a tenth, and only upwards.
const BEST_OF: usize = 4;
const MODEL: &str = "vmaf_v0.6.1";

/// Memory limit of the engine at 1080p, in megabytes: a base, and an amount per thread.
const BASE_MEMORY: f64 = 80.0;
const THREAD_MEMORY: f64 = 90.0;

pub(super) fn measure(report: &mut dyn FnMut(Figure)) -> Result<()> {
    let ffmpeg = tools::ffmpeg().context("no ffmpeg with libvmaf to compare with; run `make setup`")?;
    let bench = ScoringBench { clips: Clips::make(&ffmpeg)?, ffmpeg };
    for content in Content::ALL {
        report(bench.against_ffmpeg(content)?);
    }
    report(bench.against_the_bare_loop()?);
    report(bench.ladder()?);
    report(bench.two_cores()?);
    bench.memory()?.into_iter().for_each(&mut *report);
    Ok(())
}

struct ScoringBench {
    clips: Clips,
    ffmpeg: PathBuf,
}

impl ScoringBench {
    fn vmafx(&self, reference: &Path, distorted: &[&Path], threads: u32) -> Result<Cost> {
        let mut command = Command::new(workspace::release("vmafx"));
        command.arg("score").env(tools::FFMPEG_VARIABLE, &self.ffmpeg);
        command.args(["--model", MODEL, "-o", "json", "--threads", &threads.to_string()]);
        if reference.extension().is_some_and(|ending| ending == "yuv") {
            command.args(["--size", &format!("{WIDTH}x{HEIGHT}"), "--pixel-format", "yuv420p"]);
        }
        command.arg("--reference").arg(reference);
        for clip in distorted {
            command.arg("--distorted").arg(clip);
        }
        run(&mut command)
    }

    fn ffmpeg_filter(&self, reference: &Path, distorted: &Path) -> Result<Cost> {
        let mut command = Command::new(&self.ffmpeg);
        command.args(["-hide_banner", "-nostdin", "-loglevel", "error"]);
        for clip in [distorted, reference] {
            command.args([
                "-f",
                "rawvideo",
                "-pix_fmt",
                "yuv420p",
                "-s",
                &format!("{WIDTH}x{HEIGHT}"),
                "-r",
                "30",
            ]);
            command.arg("-i").arg(clip);
        }
        run(command.args(["-lavfi", "libvmaf=n_threads=1", "-f", "null", "-"]))
    }

    fn against_ffmpeg(&self, content: Content) -> Result<Figure> {
        let (reference, distorted) = self.clips.raw(content);
        let samples = repeat(REPEATS, || {
            let theirs = self.ffmpeg_filter(&reference, &distorted)?.cpu;
            Ok(theirs / self.vmafx(&reference, &[&distorted], 1)?.cpu)
        })?;
        let name = match content {
            Content::Mandelbrot => "scoring.frames-per-cpu-second-over-ffmpeg.mandelbrot",
            Content::Noise => "scoring.frames-per-cpu-second-over-ffmpeg.noise",
            Content::TestSource => "scoring.frames-per-cpu-second-over-ffmpeg.test-source",
        };
        Ok(Figure::at_least(name, "ratio", 1.5, samples))
    }

    fn against_the_bare_loop(&self) -> Result<Figure> {
        let (reference, distorted) = self.clips.raw(Content::Mandelbrot);
        let bare = || -> Result<f64> {
            let mut command = Command::new(workspace::release("examples/bare_loop"));
            command.arg(&reference).arg(&distorted).args([WIDTH.to_string(), HEIGHT.to_string()]);
            let output = run(&mut command)?.output;
            Ok(output.split_whitespace().next().context("bare_loop printed nothing")?.parse()?)
        };
        let samples = repeat(MORE_REPEATS, || {
            let (mut theirs, mut ours) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..BEST_OF {
                theirs = theirs.min(bare()?);
                ours = ours.min(self.vmafx(&reference, &[&distorted], 1)?.cpu);
            }
            Ok(ours / theirs)
        })?;
        Ok(Figure::at_most("scoring.cpu-over-bare-libvmaf", "ratio", 1.0, samples))
    }

    fn ladder(&self) -> Result<Figure> {
        let (reference, renditions) = (self.clips.encoded_reference(), self.clips.renditions());
        let renditions: Vec<&Path> = renditions.iter().map(PathBuf::as_path).collect();
        let samples = repeat(REPEATS, || {
            let apart = renditions.iter().map(|clip| Ok(self.vmafx(&reference, &[clip], 2)?.cpu));
            let apart: f64 = apart.sum::<Result<f64>>()?;
            Ok(self.vmafx(&reference, &renditions, 2)?.cpu / apart)
        })?;
        Ok(Figure::at_most("scoring.ladder-of-five-cpu", "ratio", 0.88, samples))
    }

    fn two_cores(&self) -> Result<Figure> {
        let (reference, distorted) = self.clips.long_raw();
        let samples = repeat(MORE_REPEATS, || {
            let one = self.vmafx(&reference, &[&distorted], 1)?.wall;
            Ok(one / self.vmafx(&reference, &[&distorted], 2)?.wall)
        })?;
        Ok(Figure::at_least("scoring.speed-of-two-cores", "ratio", 1.8, samples))
    }

    fn memory(&self) -> Result<[Figure; 2]> {
        const THREADS: u32 = 2;
        let peak = |frames| -> Result<f64> {
            let (reference, distorted) = self.clips.encoded(frames);
            Ok(self.vmafx(&reference, &[&distorted], THREADS)?.peak)
        };
        let (short, long) = (peak(60)?, peak(600)?);
        let limit = BASE_MEMORY + THREAD_MEMORY * f64::from(THREADS);
        Ok([
            Figure::at_most("scoring.peak-memory", "MB", limit, vec![short, long]),
            Figure::at_most("scoring.memory-of-600-over-60-frames", "ratio", 1.05, vec![long / short]),
        ])
    }
}

fn repeat(times: usize, mut sample: impl FnMut() -> Result<f64>) -> Result<Vec<f64>> {
    (0..times).map(|_| sample()).collect()
}
