//! The overhead of a node over the scoring itself.

mod idle;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use tokio::runtime::Runtime;

use super::figure::Figure;
use super::process;
use super::scoring::clips::Clips;
use crate::vmafx_up::VmafxUp;
use crate::{tools, workspace};

const MODEL: &str = "vmaf_v0.6.1";
/// Ten seconds of video.
const FRAMES: u32 = 300;
const REPEATS: usize = 3;
/// Runs per sample, of which the cheapest counts: other load on the machine only adds cost.
const BEST_OF: usize = 2;
const TINY_JOBS: usize = 200;

pub(super) fn measure(report: &mut dyn FnMut(Figure)) -> Result<()> {
    let ffmpeg = tools::ffmpeg().context("no ffmpeg with libvmaf to compare with; run `make setup`")?;
    let home = workspace::root().join("target/bench");
    let clips = Clips::new(&ffmpeg)?;
    let runtime = Runtime::new().context("cannot start a runtime")?;
    report(overhead(&runtime, &home, &clips, &ffmpeg)?);
    report(tiny_jobs(&runtime, &home)?);
    idle::measure(&runtime, &home)?.into_iter().for_each(&mut *report);
    Ok(())
}

/// CPU time of a job, with controller and decoders, relative to `vmafx score`.
fn overhead(runtime: &Runtime, home: &Path, clips: &Clips, ffmpeg: &Path) -> Result<Figure> {
    let vmafx = workspace::release("vmafx");
    let ffmpeg_bin = format!("--ffmpeg-bin={}", ffmpeg.display());
    let up = VmafxUp::start(runtime, vmafx.clone(), home, &[&ffmpeg_bin])?;
    let (reference, distorted) = clips.encoded(FRAMES)?;
    let pair = [reference.display().to_string(), distorted.display().to_string()];
    let score = || -> Result<f64> {
        let mut command = std::process::Command::new(&vmafx);
        command.arg("score").args(&pair).args(["--model", MODEL, "-o", "json"]);
        Ok(super::measure::run(command.env(tools::FFMPEG_VARIABLE, ffmpeg))?.cpu)
    };
    let job = || -> Result<f64> {
        let before = process::cpu_seconds_of_all(up.pid())?;
        let mut command = up.command(&["submit", &pair[0], &pair[1], "--model", MODEL, "--wait"]);
        let output = command.output().context("cannot run vmafx submit")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(process::cpu_seconds_of_all(up.pid())? - before)
    };
    let mut samples = Vec::new();
    for _ in 0..REPEATS {
        let (mut direct, mut node) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..BEST_OF {
            direct = direct.min(score()?);
            node = node.min(job()?);
        }
        samples.push(node / direct);
    }
    Ok(Figure::at_most("node.cpu-over-vmafx-score", "ratio", 1.03, samples))
}

/// Throughput of jobs with one small frame each, which consist almost only of overhead.
fn tiny_jobs(runtime: &Runtime, home: &Path) -> Result<Figure> {
    let up = VmafxUp::start(runtime, workspace::release("vmafx"), home, &["--slots=2"])?;
    let directory = tempfile::tempdir_in(home)?;
    let data = workspace::root().join("crates/scoring/tests/data");
    let mut list = "reference,distorted\n".to_owned();
    for name in ["ref", "dis"] {
        let clip = fs::read(data.join(format!("{name}_160x90.yuv")))?;
        let frame = clip.get(..160 * 90 * 3 / 2).context("the clip is shorter than a frame")?;
        fs::write(directory.path().join(name).with_extension("yuv"), frame)?;
    }
    let prefix = directory.path().display();
    for _ in 0..TINY_JOBS {
        writeln!(list, "{prefix}/ref.yuv,{prefix}/dis.yuv")?;
    }
    let pairs = directory.path().join("pairs.csv");
    fs::write(&pairs, list)?;
    let mut samples = Vec::new();
    for _ in 0..REPEATS {
        let started = Instant::now();
        let raw = ["--size", "160x90", "--pixel-format", "yuv420p"];
        let mut command = up.command(&["submit", "--wait", "--csv"]);
        let output = command.arg(&pairs).args(raw).output().context("cannot run vmafx submit")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stdout));
        }
        #[expect(clippy::cast_precision_loss, reason = "a small count")]
        samples.push(TINY_JOBS as f64 / started.elapsed().as_secs_f64());
    }
    Ok(Figure::at_least("node.tiny-jobs-on-two-slots", "jobs/s", 25.0, samples))
}
