//! The clips that are scored: three kinds of 1080p content, generated once and kept below `target`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace;

pub(super) const WIDTH: u32 = 1920;
pub(super) const HEIGHT: u32 = 1080;

/// Frames of a clip, and how often the long one repeats it.
const FRAMES: u32 = 60;
const LONG_REPEATS: usize = 4;

/// Bit rates of a ladder, in kbit/s.
const LADDER: [u32; 5] = [600, 1200, 2400, 4800, 9600];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A slow zoom: fine structure, little motion.
    Mandelbrot,
    /// The same under noise: everything changes in every frame.
    Noise,
    /// A test pattern: flat areas, sharp edges, moving numbers.
    TestSource,
}

impl Content {
    pub(super) const ALL: [Self; 3] = [Self::Mandelbrot, Self::Noise, Self::TestSource];

    fn name(self) -> &'static str {
        match self {
            Self::Mandelbrot => "mandelbrot",
            Self::Noise => "noise",
            Self::TestSource => "test-source",
        }
    }

    fn source(self) -> String {
        let size = format!("size={WIDTH}x{HEIGHT}:rate=30");
        match self {
            Self::Mandelbrot => format!("mandelbrot={size}"),
            Self::Noise => format!("mandelbrot={size},noise=alls=20:allf=t+u:all_seed=7"),
            Self::TestSource => format!("testsrc2={size}"),
        }
    }
}

pub(in crate::bench) struct Clips {
    directory: PathBuf,
}

impl Clips {
    /// Generates the missing clips.
    pub(in crate::bench) fn make(ffmpeg: &Path) -> Result<Self> {
        let clips = Self { directory: workspace::root().join("target/bench/clips") };
        fs::create_dir_all(&clips.directory)?;
        for content in Content::ALL {
            let (reference, distorted) = clips.raw(content);
            let frames = FRAMES.to_string();
            clips.file(
                ffmpeg,
                &reference,
                &["-f", "lavfi", "-i", &content.source(), "-frames:v", &frames],
            )?;
            let encoded = clips.directory.join(format!("{}.mp4", content.name()));
            clips.encode(ffmpeg, &reference, &encoded, 3000)?;
            clips.file(ffmpeg, &distorted, &["-i", &encoded.display().to_string()])?;
        }
        let (reference, distorted) = clips.raw(Content::Mandelbrot);
        clips.encode(ffmpeg, &reference, &clips.encoded_reference(), 20000)?;
        for (target, rate) in clips.renditions().iter().zip(LADDER) {
            clips.encode(ffmpeg, &reference, target, rate)?;
        }
        let (long_reference, long_distorted) = clips.long_raw();
        repeat_file(&reference, &long_reference)?;
        repeat_file(&distorted, &long_distorted)?;
        for frames in [60, 300, 600] {
            let (reference, distorted) = clips.encoded(frames);
            for (target, rate) in [(reference, "5000k"), (distorted, "1000k")] {
                let (source, frames) = (Content::TestSource.source(), frames.to_string());
                let input = ["-f", "lavfi", "-i", &source, "-frames:v", &frames, "-pix_fmt", "yuv420p"];
                clips.file(
                    ffmpeg,
                    &target,
                    &[&input[..], &["-c:v", "libx264", "-preset", "veryfast", "-b:v", rate]].concat(),
                )?;
            }
        }
        Ok(clips)
    }

    /// Reference and distorted clip as raw 4:2:0.
    pub(super) fn raw(&self, content: Content) -> (PathBuf, PathBuf) {
        (self.path(content.name(), "ref.yuv"), self.path(content.name(), "dis.yuv"))
    }

    /// The same clips repeated.
    pub(super) fn long_raw(&self) -> (PathBuf, PathBuf) {
        (self.path("long", "ref.yuv"), self.path("long", "dis.yuv"))
    }

    /// H.264 clips with this number of frames.
    pub(in crate::bench) fn encoded(&self, frames: u32) -> (PathBuf, PathBuf) {
        (self.path(&frames.to_string(), "ref.mp4"), self.path(&frames.to_string(), "dis.mp4"))
    }

    pub(super) fn encoded_reference(&self) -> PathBuf {
        self.path("ladder", "ref.mp4")
    }

    pub(super) fn renditions(&self) -> Vec<PathBuf> {
        LADDER.iter().map(|rate| self.path("ladder", &format!("{rate}k.mp4"))).collect()
    }

    fn path(&self, group: &str, name: &str) -> PathBuf {
        self.directory.join(format!("{group}-{name}"))
    }

    fn encode(&self, ffmpeg: &Path, source: &Path, target: &Path, rate: u32) -> Result<()> {
        let (size, rate, source) =
            (format!("{WIDTH}x{HEIGHT}"), format!("{rate}k"), source.display().to_string());
        let input = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", &size, "-r", "30", "-i", &source];
        self.file(
            ffmpeg,
            target,
            &[&input[..], &["-c:v", "libx264", "-preset", "veryfast", "-b:v", &rate]].concat(),
        )
    }

    /// Generates a file with ffmpeg unless it exists. It is renamed when complete, so there are no partial files.
    fn file(&self, ffmpeg: &Path, target: &Path, arguments: &[&str]) -> Result<()> {
        if target.exists() {
            return Ok(());
        }
        let name = target.file_name().context("the clip has no file name")?;
        let part = self.directory.join("part").join(name);
        fs::create_dir_all(self.directory.join("part"))?;
        let mut command = Command::new(ffmpeg);
        command.args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"]).args(arguments);
        if target.extension().is_some_and(|ending| ending == "yuv") {
            command.args(["-pix_fmt", "yuv420p", "-f", "rawvideo"]);
        }
        let output = command.arg(&part).output().context("cannot run ffmpeg")?;
        if !output.status.success() {
            bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(fs::rename(part, target)?)
    }
}

fn repeat_file(source: &Path, target: &Path) -> Result<()> {
    if !target.exists() {
        let part = target.with_extension("part");
        let mut file = File::create(&part)?;
        for _ in 0..LONG_REPEATS {
            std::io::copy(&mut File::open(source)?, &mut file)?;
        }
        fs::rename(part, target)?;
    }
    Ok(())
}
