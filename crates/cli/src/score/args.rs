//! The options of `vmafx score`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use vmafx_job::{Feature, FrameStep, ScaleTo};
use vmafx_scoring::engine::models::ModelChoice;

use super::values::{PixelFormat, Size};

const EXAMPLES: &str = "\
Examples:
  vmafx score master.mkv encode.mp4
      Compare an encode with its master and show the scores.

  vmafx score master.mkv 1080p.mp4 720p.mp4 540p.mp4 --report ladder.html
      A whole ladder in one run: the master is decoded once, smaller clips are scaled up to it.

  vmafx score --reference master.mkv --distorted encode.mp4 --min-score 93
      The same with names, so that nobody swaps the two. Exit code 1 if the mean is below 93.

  vmafx score ref.yuv dis.yuv --size 1920x1080 --pixel-format yuv420p10le
      Raw files have no header: say what is in them.

  vmafx score master.mkv encode.mp4 --offset 2
      The encode begins with two frames that the master does not have: leave them out.

  vmafx score master.mkv encode.mp4 -o json | jq '.pooled_metrics.vmaf.mean'
      For programs: what `vmaf --json` and ffmpeg's libvmaf filter write, and more beside it.

Exit codes:
    0  scored
    1  scored, and a clip is below --min-score
    2  error or wrong usage
  130  stopped by Ctrl-C";

/// Compare clips with their reference.
///
/// Frames are paired by their number, both clips must have the same count. The distorted clip is scaled to the
/// reference where sizes differ, the deeper bit depth wins, and the model fits the height and frame rate. Everything
/// that was done to the clips is in the report.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "More and examples: vmafx score --help")]
#[command(override_usage = "vmafx score [OPTIONS] <REF> <DIS>...\n       \
    vmafx score [OPTIONS] --reference <REF> --distorted <DIS>...\n       \
    vmafx score --list-models")]
pub struct ScoreArgs {
    /// The reference, then one or more distorted clips
    #[arg(value_names = ["REF", "DIS"], num_args = 2.., help_heading = "Inputs")]
    #[arg(required_unless_present_any = ["reference", "list_models"], conflicts_with_all = ["reference", "distorted"])]
    pub files: Vec<PathBuf>,

    /// The reference: what the clip looked like before it was encoded
    #[arg(long, value_name = "FILE", help_heading = "Inputs", requires = "distorted")]
    pub reference: Option<PathBuf>,

    /// A distorted clip; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Inputs", requires = "reference")]
    pub distorted: Vec<PathBuf>,

    /// Size of the pictures in raw files (.yuv, .raw)
    #[arg(long, value_name = "WxH", help_heading = "Inputs", requires = "pixel_format")]
    pub size: Option<Size>,

    /// Samples in raw files: yuv420p, yuv422p or yuv444p, with 10le, 12le or 16le behind it for more than 8 bits
    #[arg(long, value_name = "FORMAT", help_heading = "Inputs", requires = "size")]
    pub pixel_format: Option<PixelFormat>,

    /// Frames per second of raw files, for choosing the model and for times in the report
    #[arg(long, value_name = "FPS", help_heading = "Inputs", requires = "size", value_parser = super::values::rate)]
    pub frame_rate: Option<f64>,

    /// auto, a built-in model or a model file; may be given several times
    ///
    /// All models are computed in one pass. The first one is the `vmaf` of JSON and CSV, and the one that --min-score
    /// is about. `auto` takes VMAF v1 for the height and frame rate, or v0.6.1 for pictures too small for it.
    #[arg(long, value_name = "MODEL", help_heading = "Scoring", default_value = "auto")]
    pub model: Vec<ModelChoice>,

    /// Also compute psnr, ssim, ms-ssim, cambi, ciede or psnr-hvs; may be given several times
    #[arg(long, value_name = "NAME", help_heading = "Scoring", value_delimiter = ',')]
    pub feature: Vec<Feature>,

    /// Where clips of different size are compared: reference, distorted, a size, or never (an error instead)
    #[arg(long, value_name = "TARGET", help_heading = "Scoring", default_value = "reference")]
    #[arg(value_parser = super::values::scale_to)]
    pub scale_to: ScaleTo,

    /// Skip N frames at the start of every distorted clip; with a minus sign, of the reference
    ///
    /// Frame 0 of one clip must show what frame 0 of the other shows. If the distorted clip begins N frames early
    /// (it has frames in front that the reference lacks), give N; if it begins N frames late (its first frames are
    /// missing), give -N.
    #[arg(
        long,
        value_name = "N",
        help_heading = "Scoring",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub offset: i64,

    /// Score only what both clips have, instead of refusing clips of different length
    #[arg(long, help_heading = "Scoring")]
    pub shortest: bool,

    /// Score every Nth frame; an odd N does not fall in with the encoder's frame pattern
    #[arg(long, value_name = "N", help_heading = "Scoring", default_value = "1")]
    pub subsample: FrameStep,

    /// Threads [default: all cores]. The scores do not depend on it
    #[arg(long, value_name = "N", help_heading = "Scoring")]
    pub threads: Option<NonZeroU32>,

    /// Cut the clip in N pieces and score them side by side. The scores do not depend on it
    #[arg(long, value_name = "N", help_heading = "Scoring", default_value = "1")]
    pub chunks: NonZeroU32,

    /// What is written to standard output
    #[arg(short, long, value_name = "FORMAT", help_heading = "Output", default_value = "table")]
    pub output: Output,

    /// Write a report to a file ending in .html, .json, .csv or .xml; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Vec<PathBuf>,

    /// Exit with code 1 if the mean of the first model is below this, for any distorted clip
    #[arg(long, value_name = "SCORE", help_heading = "Output", value_parser = super::values::score)]
    pub min_score: Option<f64>,

    /// Show the built-in models and stop
    #[arg(long, help_heading = "Output")]
    pub list_models: bool,
}

/// What is written to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people
    Table,
    /// libvmaf's JSON with more beside it
    Json,
    /// One row per frame
    Csv,
}

impl ScoreArgs {
    /// The reference and the distorted clips, however they were given.
    pub fn inputs(&self) -> Option<(PathBuf, Vec<PathBuf>)> {
        match (&self.reference, self.files.split_first()) {
            (Some(reference), _) => Some((reference.clone(), self.distorted.clone())),
            (None, Some((reference, distorted))) => Some((reference.clone(), distorted.to_vec())),
            (None, None) => None,
        }
    }
}
