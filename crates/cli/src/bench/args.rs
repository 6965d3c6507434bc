//! The options of `vmafx bench`.

use std::num::NonZeroU32;

use clap::Args;
use vmafx_job::{BitDepth, FrameSize, PixelFormat, SampleFormat};
use vmafx_scoring::engine::models::ModelChoice;
use vmafx_scoring::picture::PictureFormat;

use crate::output::OutputArgs;

const EXAMPLES: &str = "\
Examples:
  vmafx bench
      Measure 720p, 1080p and 2160p with the model that vmafx score selects, which is VMAF v1, and
      with v0.6.1. Takes about half a minute.

  vmafx bench --size 1920x1080 --model vmaf_v0.6.1
      Measure one size with one model.

  vmafx bench --size 3840x2160 --threads 4
      Measure with four threads; the table then also has the frames that they score together in a
      second of wall-clock time.

  vmafx bench -o json | jq '.results[] | {model, width, height, speedup}'
      Print JSON, for example to compare machines.

What is measured:
  Both engines score the same frames in turns, and the fastest of three rounds counts. \"Frames per
  second per core\" are frames divided by seconds of CPU time: a machine with 16 idle cores scores
  about 16 times as many. The frames are generated: waves of all sizes with film grain that move,
  and a softer copy in coarse steps, as an encoder leaves it. They are in memory before the
  measurement starts; clips must also be read and decoded, which costs a few milliseconds of CPU
  time per frame of 1080p. Both engines must give the same score for every frame.

Exit codes:
    0  measured
    2  error, wrong usage, or different scores of the two engines
  130  stopped by Ctrl-C";

/// Measure how fast this machine scores: frames per second and core, with our kernels and with libvmaf.
///
/// Computes the scores of generated frames in this process, with `--engine native` and `--engine libvmaf` of `vmafx score`,
/// and compares their CPU time. No clip and no ffmpeg is needed.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "For details and examples: vmafx bench --help")]
pub struct BenchArgs {
    /// Model: auto, the name of a built-in model, or a model file; repeatable [default: auto and v0.6.1]
    #[arg(long, value_name = "MODEL", value_delimiter = ',')]
    pub model: Vec<ModelChoice>,

    /// Frame size; repeatable
    #[arg(long, value_name = "WxH", value_delimiter = ',', default_values = ["1280x720", "1920x1080", "3840x2160"])]
    #[arg(value_parser = size)]
    pub size: Vec<FrameSize>,

    /// Pixel format: yuv420p, yuv422p or yuv444p; append 10le, 12le or 16le for more than 8 bits
    #[arg(long, value_name = "FORMAT", default_value_t = YUV420P)]
    pub pixel_format: SampleFormat,

    /// Number of threads
    #[arg(long, value_name = "N", default_value = "1")]
    pub threads: NonZeroU32,

    /// Measure each engine for about S seconds for each model and size
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
    pub seconds: f64,

    /// Score N frames in each of the three rounds, however long that takes
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    pub frames: Option<NonZeroU32>,

    #[command(flatten)]
    pub output: OutputArgs,
}

const YUV420P: SampleFormat = SampleFormat { pixel_format: PixelFormat::Yuv420p, bit_depth: BitDepth::Eight };

/// Larger frames would not fit into the memory of most machines.
const MAX_SIDE: u32 = 9_999;
const MAX_SECONDS: f64 = 3600.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BenchArgsError {
    #[error("expected WIDTHxHEIGHT with at most {MAX_SIDE} pixels a side, such as 1920x1080")]
    Size,
    #[error("expected a number above zero, and at most {MAX_SECONDS}")]
    Seconds,
}

fn size(text: &str) -> Result<FrameSize, BenchArgsError> {
    let size = text.parse::<FrameSize>().ok();
    size.filter(|size| size.width.max(size.height) <= MAX_SIDE).ok_or(BenchArgsError::Size)
}

fn seconds(text: &str) -> Result<f64, BenchArgsError> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0 && *seconds <= MAX_SECONDS);
    seconds.ok_or(BenchArgsError::Seconds)
}

impl BenchArgs {
    pub(super) fn formats(&self) -> impl Iterator<Item = PictureFormat> {
        let SampleFormat { pixel_format: chroma, bit_depth: depth } = self.pixel_format;
        self.size.iter().map(move |&FrameSize { width, height }| PictureFormat {
            width,
            height,
            chroma,
            depth,
        })
    }
}
