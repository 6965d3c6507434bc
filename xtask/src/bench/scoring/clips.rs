//! The clips that are scored, generated once and kept below `target`.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace;

/// The format and length of raw clips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawShape {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) depth: u32,
    pub(super) frames: u32,
}

pub(super) const HD: RawShape = RawShape { width: 1920, height: 1080, depth: 8, frames: 48 };
pub(super) const HD_10_BIT: RawShape = RawShape { depth: 10, frames: 32, ..HD };
pub(super) const UHD: RawShape = RawShape { width: 3840, height: 2160, depth: 8, frames: 12 };

impl RawShape {
    pub(super) fn pixel_format(self) -> &'static str {
        if self.depth > 8 { "yuv420p10le" } else { "yuv420p" }
    }

    pub(super) fn size(self) -> String {
        format!("{}x{}", self.width, self.height)
    }

    /// Bytes of a frame of 4:2:0.
    fn frame_bytes(self) -> u64 {
        let samples = u64::from(self.width) * u64::from(self.height) * 3 / 2;
        samples * if self.depth > 8 { 2 } else { 1 }
    }
}

/// A reference and a distorted clip of raw 4:2:0.
#[derive(Clone, Debug)]
pub(super) struct RawPair {
    pub(super) reference: PathBuf,
    pub(super) distorted: PathBuf,
    pub(super) shape: RawShape,
}

/// Frames of the ladder's clips.
const LADDER_FRAMES: u32 = HD.frames;
/// Bit rates of a ladder, in kbit/s.
const LADDER: [u32; 5] = [600, 1200, 2400, 4800, 9600];
/// Bit rate of a distorted clip of 1080p, in kbit/s.
const RATE: u32 = 3000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A slow zoom: fine structure at all scales, as natural content has.
    Mandelbrot,
    /// The same under noise: everything changes in every frame.
    Noise,
    /// A test pattern: flat areas, sharp edges, moving numbers.
    TestSource,
    /// Colour bars that stand still.
    Flat,
}

impl Content {
    pub(super) const ALL: [Self; 4] = [Self::Mandelbrot, Self::Noise, Self::TestSource, Self::Flat];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mandelbrot => "mandelbrot",
            Self::Noise => "noise",
            Self::TestSource => "test-source",
            Self::Flat => "flat",
        }
    }

    fn source(self, shape: RawShape) -> String {
        let size = format!("size={}:rate=30", shape.size());
        match self {
            Self::Mandelbrot => format!("mandelbrot={size}"),
            Self::Noise => format!("mandelbrot={size},noise=alls=20:allf=t+u:all_seed=7"),
            Self::TestSource => format!("testsrc2={size}"),
            Self::Flat => format!("smptehdbars={size}"),
        }
    }
}

pub(in crate::bench) struct Clips {
    directory: PathBuf,
    ffmpeg: PathBuf,
}

impl Clips {
    pub(in crate::bench) fn new(ffmpeg: &Path) -> Result<Self> {
        let directory = workspace::root().join("target/bench/clips");
        fs::create_dir_all(directory.join("part"))?;
        Ok(Self { directory, ffmpeg: ffmpeg.to_owned() })
    }

    /// The content as the reference, and an H.264 encode of it.
    pub(super) fn raw(&self, content: Content, shape: RawShape) -> Result<RawPair> {
        let RawShape { height, depth, frames, .. } = shape;
        let name = format!("{}-{height}p-{depth}-bit-{frames}", content.name());
        let pair =
            RawPair { reference: self.path(&name, "ref.yuv"), distorted: self.path(&name, "dis.yuv"), shape };
        let raw = ["-pix_fmt", shape.pixel_format(), "-f", "rawvideo"];
        let frames = frames.to_string();
        let source = content.source(shape);
        self.file(
            &pair.reference,
            &[&["-f", "lavfi", "-i", &source, "-frames:v", &frames], &raw[..]].concat(),
        )?;
        let encoded = self.path(&name, "dis.mp4");
        self.encode(&pair.reference, shape, &encoded, RATE * (shape.height / HD.height).pow(2))?;
        self.file(&pair.distorted, &[&["-i", &encoded.display().to_string()], &raw[..]].concat())?;
        Ok(pair)
    }

    /// The pair `times` times in a row.
    pub(super) fn repeated(&self, pair: &RawPair, times: u32) -> Result<RawPair> {
        let shape = RawShape { frames: pair.shape.frames * times, ..pair.shape };
        let clip = |source: &Path| {
            self.raw_copy(source, &format!("times-{times}"), |source, file| {
                for _ in 0..times {
                    std::io::copy(&mut File::open(source)?, file)?;
                }
                Ok(())
            })
        };
        Ok(RawPair { reference: clip(&pair.reference)?, distorted: clip(&pair.distorted)?, shape })
    }

    /// The first `frames` frames of the pair.
    pub(super) fn first(&self, pair: &RawPair, frames: u32) -> Result<RawPair> {
        let shape = RawShape { frames, ..pair.shape };
        let bytes = u64::from(frames) * shape.frame_bytes();
        let clip = |source: &Path| {
            self.raw_copy(source, &format!("first-{frames}"), |source, file| {
                std::io::copy(&mut File::open(source)?.take(bytes), file)?;
                Ok(())
            })
        };
        Ok(RawPair { reference: clip(&pair.reference)?, distorted: clip(&pair.distorted)?, shape })
    }

    /// H.264 clips with this number of frames.
    pub(in crate::bench) fn encoded(&self, frames: u32) -> Result<(PathBuf, PathBuf)> {
        let name = frames.to_string();
        let pair = (self.path(&name, "ref.mp4"), self.path(&name, "dis.mp4"));
        for (target, rate) in [(&pair.0, "5000k"), (&pair.1, "1000k")] {
            let source = Content::TestSource.source(HD);
            let input = ["-f", "lavfi", "-i", &source, "-frames:v", &name, "-pix_fmt", "yuv420p"];
            self.file(
                target,
                &[&input[..], &["-c:v", "libx264", "-preset", "veryfast", "-b:v", rate]].concat(),
            )?;
        }
        Ok(pair)
    }

    /// An H.264 reference and five encodes of it.
    pub(super) fn ladder(&self) -> Result<(PathBuf, Vec<PathBuf>)> {
        let source = self.raw(Content::Mandelbrot, RawShape { frames: LADDER_FRAMES, ..HD })?;
        let name = format!("ladder-{LADDER_FRAMES}");
        let reference = self.path(&name, "ref.mp4");
        self.encode(&source.reference, HD, &reference, 20_000)?;
        let renditions = LADDER.iter().map(|rate| {
            let target = self.path(&name, &format!("{rate}k.mp4"));
            self.encode(&source.reference, HD, &target, *rate)?;
            Ok(target)
        });
        Ok((reference, renditions.collect::<Result<_>>()?))
    }

    fn path(&self, group: &str, name: &str) -> PathBuf {
        self.directory.join(format!("{group}-{name}"))
    }

    fn encode(&self, source: &Path, shape: RawShape, target: &Path, rate: u32) -> Result<()> {
        let (size, rate, source) = (shape.size(), format!("{rate}k"), source.display().to_string());
        let format = shape.pixel_format();
        let input = ["-f", "rawvideo", "-pix_fmt", format, "-s", &size, "-r", "30", "-i", &source];
        let codec = ["-pix_fmt", format, "-c:v", "libx264", "-preset", "veryfast", "-b:v", &rate];
        self.file(target, &[&input[..], &codec].concat())
    }

    /// Generates a file with ffmpeg unless it exists. It is renamed when complete, so there are no partial files.
    fn file(&self, target: &Path, arguments: &[&str]) -> Result<()> {
        if target.exists() {
            return Ok(());
        }
        let part = self.part(target)?;
        let mut command = Command::new(&self.ffmpeg);
        command.args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"]).args(arguments);
        let output = command.arg(&part).output().context("cannot run ffmpeg")?;
        if !output.status.success() {
            bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(fs::rename(part, target)?)
    }

    /// Writes a raw clip from another one unless it exists.
    fn raw_copy(
        &self,
        source: &Path,
        kind: &str,
        write: impl FnOnce(&Path, &mut File) -> Result<()>,
    ) -> Result<PathBuf> {
        let name = source.file_name().context("the clip has no file name")?.to_string_lossy();
        let target = self.path(kind, &name);
        if !target.exists() {
            let part = self.part(&target)?;
            write(source, &mut File::create(&part)?)?;
            fs::rename(part, &target)?;
        }
        Ok(target)
    }

    fn part(&self, target: &Path) -> Result<PathBuf> {
        Ok(self.directory.join("part").join(target.file_name().context("the clip has no file name")?))
    }
}
