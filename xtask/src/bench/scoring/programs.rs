//! The programs that are compared: ours, libvmaf alone, and ffmpeg's filter.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::clips::{RawPair, RawShape};
use crate::bench::measure::{Cost, run};
use crate::{tools, workspace};

/// The vector instructions that both sides may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vectors {
    Avx2,
    /// The best ones of this CPU.
    Best,
}

impl Vectors {
    /// The CPU features that libvmaf must not use, as its bits.
    fn cpu_mask(self) -> u32 {
        match self {
            Self::Avx2 => 48,
            Self::Best => 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ScoringSetup {
    pub(super) model: &'static str,
    pub(super) vectors: Vectors,
    pub(super) threads: u32,
}

/// `vmafx score --engine native` after its run.
pub(super) struct NativeRun {
    pub(super) cost: Cost,
    /// Such as `native-avx2`.
    pub(super) engine: String,
    /// The mean score of the only distorted clip, or of the first one.
    pub(super) score: f64,
}

/// `bare_loop` after its run.
pub(super) struct BareRun {
    pub(super) cost: Cost,
    /// CPU seconds without those for reading the clips.
    pub(super) cpu: f64,
    pub(super) score: f64,
}

pub(super) struct Programs {
    pub(super) ffmpeg: PathBuf,
}

impl Programs {
    pub(super) fn native(&self, pair: &RawPair, setup: ScoringSetup) -> Result<NativeRun> {
        native_run(self.native_command(pair, setup), setup)
    }

    /// On these cores, with a thread for each.
    pub(super) fn native_on_cores(
        &self,
        pair: &RawPair,
        cores: &[u32],
        setup: ScoringSetup,
    ) -> Result<NativeRun> {
        let setup = ScoringSetup { threads: u32::try_from(cores.len())?, ..setup };
        let cores: Vec<String> = cores.iter().map(u32::to_string).collect();
        let command = self.native_command(pair, setup);
        let mut limited = Command::new("taskset");
        limited.args(["--cpu-list", &cores.join(",")]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            limited.env(name, value.unwrap_or_default());
        }
        native_run(limited, setup)
    }

    pub(super) fn native_command(&self, pair: &RawPair, setup: ScoringSetup) -> Command {
        let mut command = self.score("native", &pair.reference, &[&pair.distorted], setup);
        describe(&mut command, pair.shape);
        command
    }

    /// Clips with headers, which ffmpeg decodes.
    pub(super) fn native_of_files(
        &self,
        reference: &Path,
        distorted: &[&Path],
        setup: ScoringSetup,
    ) -> Result<NativeRun> {
        native_run(self.score("native", reference, distorted, setup), setup)
    }

    /// `vmafx score` with libvmaf's features.
    pub(super) fn libvmaf_engine(&self, pair: &RawPair, setup: ScoringSetup) -> Result<Cost> {
        let mut command = self.score("libvmaf", &pair.reference, &[&pair.distorted], setup);
        describe(&mut command, pair.shape);
        run(&mut command)
    }

    fn score(&self, engine: &str, reference: &Path, distorted: &[&Path], setup: ScoringSetup) -> Command {
        let mut command = Command::new(workspace::release("vmafx"));
        command.arg("score").env(tools::FFMPEG_VARIABLE, &self.ffmpeg);
        command.args(["--engine", engine, "--model", setup.model, "-o", "json"]);
        command.args(["--threads", &setup.threads.to_string()]);
        if setup.vectors == Vectors::Avx2 {
            command.args(["--instruction-set", "avx2"]);
        }
        command.arg("--reference").arg(reference);
        for clip in distorted {
            command.arg("--distorted").arg(clip);
        }
        command
    }

    /// libvmaf alone, with a decoder for each clip. The cost contains the decoders.
    pub(super) fn bare_with_decoders(
        &self,
        (reference, distorted): (&Path, &Path),
        shape: RawShape,
        setup: ScoringSetup,
    ) -> Result<BareRun> {
        let mut command = bare_command_of((reference, distorted), shape, setup);
        bare_run(command.arg(format!("ffmpeg={}", self.ffmpeg.display())))
    }

    pub(super) fn ffmpeg_filter(&self, pair: &RawPair) -> Result<Cost> {
        let RawPair { reference, distorted, shape } = pair;
        let mut command = Command::new(&self.ffmpeg);
        command.args(["-hide_banner", "-nostdin", "-loglevel", "error"]);
        for clip in [distorted, reference] {
            command.args([
                "-f",
                "rawvideo",
                "-pix_fmt",
                shape.pixel_format(),
                "-s",
                &shape.size(),
                "-r",
                "30",
            ]);
            command.arg("-i").arg(clip);
        }
        run(command.args(["-lavfi", "libvmaf=n_threads=1", "-f", "null", "-"]))
    }
}

/// libvmaf alone.
pub(super) fn bare(pair: &RawPair, setup: ScoringSetup) -> Result<BareRun> {
    bare_run(&mut bare_command(pair, setup))
}

pub(super) fn bare_command(pair: &RawPair, setup: ScoringSetup) -> Command {
    bare_command_of((&pair.reference, &pair.distorted), pair.shape, setup)
}

/// An error if other kernels than the ones that were asked for computed the features.
fn native_run(mut command: Command, setup: ScoringSetup) -> Result<NativeRun> {
    let cost = run(&mut command)?;
    let report: Value = serde_json::from_str(&cost.output).context("vmafx score printed no JSON")?;
    let first = report.get(0).unwrap_or(&report);
    let engine = first["vmafx"]["engine"].as_str().context("the report names no engine")?.to_owned();
    if !engine.starts_with("native-") || setup.vectors == Vectors::Avx2 && engine != "native-avx2" {
        bail!("{engine} computed the features");
    }
    let score = first["pooled_metrics"]["vmaf"]["mean"].as_f64().context("the report has no score")?;
    Ok(NativeRun { cost, engine, score })
}

fn describe(command: &mut Command, shape: RawShape) {
    command.args(["--size", &shape.size(), "--pixel-format", shape.pixel_format()]);
}

fn bare_command_of((reference, distorted): (&Path, &Path), shape: RawShape, setup: ScoringSetup) -> Command {
    let mut command = Command::new(workspace::release("examples/bare_loop"));
    command.arg(reference).arg(distorted);
    command.arg(format!("size={}", shape.size())).arg(format!("depth={}", shape.depth));
    command.arg(format!("model={}", setup.model)).arg(format!("cpumask={}", setup.vectors.cpu_mask()));
    command
}

fn bare_run(command: &mut Command) -> Result<BareRun> {
    let cost = run(command)?;
    let mut numbers = cost.output.split_whitespace();
    let mut next = || anyhow::Ok(numbers.next().context("bare_loop printed less than two numbers")?.parse()?);
    let (cpu, score) = (next()?, next()?);
    Ok(BareRun { cost, cpu, score })
}
