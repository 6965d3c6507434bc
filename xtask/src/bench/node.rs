//! What a node costs besides the scoring itself.

mod idle;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use tokio::runtime::Runtime;

use super::figure::{Bar, Figure};
use super::process;
use super::scoring::clips::Clips;
use crate::one_machine::OneMachine;
use crate::test::cargo;
use crate::{tools, workspace};

const MODEL: &str = "vmaf_v0.6.1";
/// Ten seconds.
const FRAMES: u32 = 300;
const REPEATS: usize = 3;
/// A sample is made of the cheapest of so many runs on either side: other users of the machine only add.
const BEST_OF: usize = 2;
const TINY: usize = 200;

/// Builds the programs and takes every figure.
pub(super) fn measure(tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let ffmpeg = tools::ffmpeg().context("no ffmpeg with libvmaf to compare with: run `make setup`")?;
    let programs = ["--bin", "vmafx", "--bin", "vmafx-node", "--bin", "vmafx-controller"];
    cargo(&[&["build", "--release", "--locked", "--quiet"][..], &programs].concat(), &[])?;
    let home = workspace::root().join("target/bench");
    let clips = Clips::make(&ffmpeg)?;
    let runtime = Runtime::new().context("a runtime")?;
    tell(overhead(&runtime, &home, &clips, &ffmpeg)?);
    tell(tiny_jobs(&runtime, &home)?);
    idle::measure(&runtime, &home)?.into_iter().for_each(&mut *tell);
    Ok(())
}

/// The CPU of a job, from the controller to the last decoder, over that of `vmafx score`.
fn overhead(runtime: &Runtime, home: &Path, clips: &Clips, ffmpeg: &Path) -> Result<Figure> {
    let vmafx = workspace::release("vmafx");
    let ffmpeg_bin = format!("--ffmpeg-bin={}", ffmpeg.display());
    let machine = OneMachine::start(runtime, vmafx.clone(), home, &[&ffmpeg_bin])?;
    let (reference, distorted) = clips.encoded(FRAMES);
    let pair = [reference.display().to_string(), distorted.display().to_string()];
    let score = || -> Result<f64> {
        let mut command = std::process::Command::new(&vmafx);
        command.arg("score").args(&pair).args(["--model", MODEL, "-o", "json"]);
        Ok(super::measure::run(command.env(tools::FFMPEG_VARIABLE, ffmpeg))?.cpu)
    };
    let job = || -> Result<f64> {
        let before = process::cpu_seconds_of_all(machine.pid())?;
        let mut command = machine.command(&["submit", &pair[0], &pair[1], "--model", MODEL, "--wait"]);
        let output = command.output().context("run vmafx submit")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(process::cpu_seconds_of_all(machine.pid())? - before)
    };
    let mut samples = Vec::new();
    for _ in 0..REPEATS {
        let (mut alone, mut here) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..BEST_OF {
            alone = alone.min(score()?);
            here = here.min(job()?);
        }
        samples.push(here / alone);
    }
    Ok(Figure { name: "node.cpu-over-vmafx-score", unit: "ratio", bar: Bar::AtMost, limit: 1.03, samples })
}

/// Many jobs of one small frame each: what is left is all overhead.
fn tiny_jobs(runtime: &Runtime, home: &Path) -> Result<Figure> {
    let machine = OneMachine::start(runtime, workspace::release("vmafx"), home, &["--slots=2"])?;
    let directory = tempfile::tempdir_in(home)?;
    let data = workspace::root().join("crates/scoring/tests/data");
    let mut list = "reference,distorted\n".to_owned();
    for name in ["ref", "dis"] {
        let clip = fs::read(data.join(format!("{name}_160x90.yuv")))?;
        let frame = clip.get(..160 * 90 * 3 / 2).context("the clip has a frame")?;
        fs::write(directory.path().join(name).with_extension("yuv"), frame)?;
    }
    let place = directory.path().display();
    for _ in 0..TINY {
        writeln!(list, "{place}/ref.yuv,{place}/dis.yuv")?;
    }
    let pairs = directory.path().join("pairs.csv");
    fs::write(&pairs, list)?;
    let mut samples = Vec::new();
    for _ in 0..REPEATS {
        let begin = Instant::now();
        let raw = ["--size", "160x90", "--pixel-format", "yuv420p"];
        let mut command = machine.command(&["submit", "--wait", "--csv"]);
        let output = command.arg(&pairs).args(raw).output().context("run vmafx submit")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stdout));
        }
        #[expect(clippy::cast_precision_loss, reason = "two hundred")]
        samples.push(TINY as f64 / begin.elapsed().as_secs_f64());
    }
    Ok(Figure {
        name: "node.tiny-jobs-on-two-slots",
        unit: "jobs/s",
        bar: Bar::AtLeast,
        limit: 25.0,
        samples,
    })
}
