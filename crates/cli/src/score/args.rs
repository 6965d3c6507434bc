//! The options of `vmafx score`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use vmafx_job::{FeatureEngine, ScoringOptions};
use vmafx_scoring::engine::InstructionSet;
use vmafx_scoring::engine::models::ModelChoice;

use crate::raw_video::RawVideoArgs;

const EXAMPLES: &str = "\
Examples:
  vmafx score master.mkv encode.mp4
      Compare an encode with its master and show the scores.

  vmafx score master.mkv 1080p.mp4 720p.mp4 540p.mp4 --report ladder.html
      Score a ladder in one run: the master is decoded once, and smaller clips are scaled to its size.

  vmafx score --reference master.mkv --distorted encode.mp4 --min-score 93
      Name the clips explicitly, and exit with code 1 if the mean score is below 93.

  vmafx score ref.yuv dis.yuv --size 1920x1080 --pixel-format yuv420p10le
      Compare raw video, which has no header and must be described.

  vmafx score master.mkv encode.mp4 --offset 2
      Skip the first two frames of the encode, which the master does not have.

  vmafx score master.mkv encode.mp4 -o json | jq '.pooled_metrics.vmaf.mean'
      Print JSON with the fields of `vmaf --json` and of ffmpeg's libvmaf filter, and some more.

Exit codes:
    0  scored
    1  scored, but a clip is below --min-score
    2  error or wrong usage
  130  stopped by Ctrl-C";

/// Score distorted clips against their reference.
///
/// Frames are paired by number, and both clips must have the same number of frames. If sizes differ, the distorted
/// clip is scaled to the reference; if bit depths differ, the higher one is used. The model is selected by the height
/// and frame rate of the reference. The report records all conversions.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "For details and examples: vmafx score --help")]
#[command(override_usage = "vmafx score [OPTIONS] <REF> <DIS>...\n       \
    vmafx score [OPTIONS] --reference <REF> --distorted <DIS>...\n       \
    vmafx score --list-models")]
pub struct ScoreArgs {
    /// Reference clip, followed by one or more distorted clips
    #[arg(value_names = ["REF", "DIS"], num_args = 2.., help_heading = "Inputs")]
    #[arg(required_unless_present_any = ["reference", "list_models"], conflicts_with_all = ["reference", "distorted"])]
    pub files: Vec<PathBuf>,

    /// Reference clip: the original, before encoding
    #[arg(long, value_name = "FILE", help_heading = "Inputs", requires = "distorted")]
    pub reference: Option<PathBuf>,

    /// Distorted clip; repeatable
    #[arg(long, value_name = "FILE", help_heading = "Inputs", requires = "reference")]
    pub distorted: Vec<PathBuf>,

    #[command(flatten)]
    pub raw: RawVideoArgs,

    /// Frame rate of raw video files, used to select the model and for times in the report
    #[arg(long, value_name = "FPS", help_heading = "Inputs", requires = "size", value_parser = super::numbers::frame_rate)]
    pub frame_rate: Option<f64>,

    /// Model: auto, the name of a built-in model, or a model file; repeatable
    ///
    /// All models are computed in one pass. The score of the first one is `vmaf` in JSON and CSV, and is compared with
    /// --min-score. `auto` selects the VMAF v1 model for the height and frame rate, or v0.6.1 if frames are too small.
    #[arg(long, value_name = "MODEL", help_heading = "Scoring", default_value = "auto")]
    pub model: Vec<ModelChoice>,

    /// Skip the first N frames of each distorted clip; a negative number skips frames of the reference
    ///
    /// The first frames that are compared must show the same picture. Use N if the distorted clip starts with N frames
    /// that the reference does not have, and -N if it lacks the first N frames of the reference.
    #[arg(
        long,
        value_name = "N",
        help_heading = "Scoring",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub offset: i64,

    #[command(flatten)]
    pub options: ScoringOptions,

    /// Number of threads; does not change the scores [default: number of cores]
    #[arg(long, value_name = "N", help_heading = "Scoring")]
    pub threads: Option<NonZeroU32>,

    /// What computes the features: native, or libvmaf
    ///
    /// `native` uses kernels for CPUs with AVX2 or AVX-512, which take less than half of libvmaf's time and give the same bits. On other CPUs it
    /// uses libvmaf's.
    #[arg(long, value_name = "ENGINE", help_heading = "Scoring", default_value_t)]
    pub engine: FeatureEngine,

    /// Use no better instruction set than SET: scalar, avx2 or avx512
    ///
    /// For benchmarks and tests. It limits the kernels and libvmaf. Reports name the instruction set of the kernels.
    #[arg(long, value_name = "SET", help_heading = "Scoring", hide = true, value_parser = super::instruction_set::parse)]
    pub instruction_set: Option<InstructionSet>,

    /// Split the clip into N chunks that are scored in parallel; does not change the scores
    #[arg(long, value_name = "N", help_heading = "Scoring", default_value = "1")]
    pub chunks: NonZeroU32,

    /// Format of the result on standard output
    #[arg(short, long, value_name = "FORMAT", help_heading = "Output", default_value = "table")]
    pub output: ScoreFormat,

    /// Write a report to FILE, whose extension is .html, .json, .csv or .xml; repeatable
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Vec<PathBuf>,

    /// Leave the pictures of the worst moments out of HTML reports
    ///
    /// For the pictures, both clips are read a second time up to their last bad moment. Other reports have no pictures.
    #[arg(long, help_heading = "Output")]
    pub no_pictures: bool,

    /// Exit with code 1 if the mean score of the first model is below SCORE for any distorted clip
    #[arg(long, value_name = "SCORE", help_heading = "Output", value_parser = super::numbers::score)]
    pub min_score: Option<f64>,

    /// List the built-in models and exit
    #[arg(long, help_heading = "Output")]
    pub list_models: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScoreFormat {
    /// Human-readable table
    Table,
    /// JSON with the fields of libvmaf's reports, and some more
    Json,
    /// One row per frame
    Csv,
}

impl ScoreArgs {
    /// The reference and the distorted clips, from positional arguments or from options.
    pub fn inputs(&self) -> Option<(PathBuf, Vec<PathBuf>)> {
        match (&self.reference, self.files.split_first()) {
            (Some(reference), _) => Some((reference.clone(), self.distorted.clone())),
            (None, Some((reference, distorted))) => Some((reference.clone(), distorted.to_vec())),
            (None, None) => None,
        }
    }
}
