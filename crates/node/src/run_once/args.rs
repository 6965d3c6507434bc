//! The arguments. Words are those of a VmafxJob, in any case.

use std::path::PathBuf;

use clap::Args;
use vmafx_kit::config::GoDuration;
use vmafx_kit::logs::LogArgs;

use crate::fetch::FetchSettings;
use crate::models::ModelSettings;
use crate::scratch::ScratchSettings;
use crate::task::{RawVideo, ScaleTo};

/// Scores one pair of clips and writes the result to a file.
#[derive(Clone, Debug, Args)]
pub struct RunOnceArgs {
    /// Address of the undistorted clip
    #[arg(long, value_name = "URI")]
    pub reference: String,
    /// Address of the clip that is judged
    #[arg(long, value_name = "URI")]
    pub distorted: String,
    /// Name or address of the model; without it, the one that fits the clip
    #[arg(long, value_name = "MODEL", default_value = "")]
    pub model: String,
    /// Width of clips without a header
    #[arg(long, requires = "height", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub width: Option<u32>,
    /// Height of clips without a header
    #[arg(long, requires = "width", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub height: Option<u32>,
    /// Chroma of clips without a header
    #[arg(long, requires = "width", default_value = "yuv420p", value_parser = ["yuv420p", "yuv422p", "yuv444p"])]
    pub pixel_format: String,
    /// Bits per sample of clips without a header
    #[arg(long, requires = "width", default_value = "8", value_parser = ["8", "10", "12", "16"])]
    pub bit_depth: String,
    /// A metric beside the score; may be repeated
    #[arg(long = "feature", value_name = "NAME", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Score every n-th frame
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub frame_step: u64,
    /// The size of the comparison: Reference, Distorted, Never, or one such as 1920x1080
    #[arg(long, value_name = "SIZE", default_value = "Reference", value_parser = scale_to)]
    pub scale_to: ScaleTo,
    /// What to do with clips of different length: Fail, or score the Shortest common part
    #[arg(long, value_name = "RULE", default_value = "Fail", value_parser = ["Fail", "Shortest"], ignore_case = true)]
    pub length_mismatch: String,
    /// Where to write the per-frame report; its ending says of what kind: .json, .csv or .html
    #[arg(long, value_name = "URI")]
    pub report_uri: Option<String>,
    /// Where clips and reports may lie
    #[arg(long, env = "VMAFX_SCORING_ROOTS", value_name = "LIST", value_delimiter = ',')]
    pub scoring_roots: Vec<String>,
    /// File for the result
    #[arg(long, value_name = "FILE")]
    pub result: PathBuf,
    /// Longest time for the scoring; unlimited without it
    #[arg(long, value_name = "DURATION")]
    pub deadline: Option<GoDuration>,
    /// Longest time without progress
    #[arg(long, env = "VMAFX_STALL_TIMEOUT", value_name = "DURATION", default_value = "5m")]
    pub stall_timeout: GoDuration,
    /// What to compute on
    #[arg(long, env = "VMAFX_BACKEND", default_value = "cpu", value_parser = ["cpu", "cuda", "hip", "sycl", "metal"])]
    pub backend: String,
    /// The vmaf program that computes on anything but the CPU
    #[arg(long, env = "VMAFX_VMAF_BINARY", value_name = "FILE", required_if_eq_any = [("backend", "cuda"), ("backend", "hip"), ("backend", "sycl"), ("backend", "metal")])]
    pub vmaf_binary: Option<PathBuf>,
    /// The ffmpeg to decode with; without it, the one in PATH
    #[arg(long, env = "VMAFX_FFMPEG_BIN", value_name = "FILE")]
    pub ffmpeg_bin: Option<PathBuf>,
    #[command(flatten)]
    pub scratch: ScratchSettings,
    #[command(flatten)]
    pub fetch: FetchSettings,
    #[command(flatten)]
    pub models: ModelSettings,
    #[command(flatten)]
    pub logs: LogArgs,
}

impl RunOnceArgs {
    /// The shape of clips without a header, if one is given.
    pub(super) fn raw(&self) -> Option<RawVideo> {
        Some(RawVideo {
            width: self.width?,
            height: self.height?,
            pixel_format: self.pixel_format.clone(),
            bit_depth: self.bit_depth.parse().ok()?,
        })
    }

    pub(super) fn shortest(&self) -> bool {
        self.length_mismatch.eq_ignore_ascii_case("Shortest")
    }
}

fn scale_to(text: &str) -> Result<ScaleTo, String> {
    let pixels = |text: &str| text.parse::<u16>().ok().filter(|count| *count > 0).map(u32::from);
    let text = text.to_ascii_lowercase();
    let size = text
        .split_once('x')
        .and_then(|(width, height)| Some(ScaleTo::Size { width: pixels(width)?, height: pixels(height)? }));
    match text.as_str() {
        "reference" => Ok(ScaleTo::Reference),
        "distorted" => Ok(ScaleTo::Distorted),
        "never" => Ok(ScaleTo::Never),
        _ => size.ok_or_else(|| "use Reference, Distorted, Never, or a size such as 1920x1080".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: RunOnceArgs,
    }

    fn parse(line: &str) -> Result<RunOnceArgs, clap::Error> {
        let always = ["x", "--reference", "/r", "--distorted", "/d", "--result", "/out"];
        Line::try_parse_from(always.into_iter().chain(line.split_whitespace())).map(|line| line.args)
    }

    #[rstest]
    #[case("Reference", ScaleTo::Reference)]
    #[case("distorted", ScaleTo::Distorted)]
    #[case("NEVER", ScaleTo::Never)]
    #[case("1920x1080", ScaleTo::Size { width: 1920, height: 1080 })]
    fn sizes_are_written_as_in_a_job(#[case] text: &str, #[case] expected: ScaleTo) {
        assert_eq!(parse(&format!("--scale-to {text}")).unwrap().scale_to, expected);
    }

    #[rstest]
    #[case("--width 160")]
    #[case("--pixel-format yuv422p")]
    #[case("--width 160 --height 70000")]
    #[case("--width 160 --height 90 --bit-depth 9")]
    #[case("--scale-to 0x9")]
    #[case("--scale-to big")]
    #[case("--length-mismatch longest")]
    #[case("--frame-step 0")]
    #[case("--backend auto")]
    #[case("--backend cuda")]
    fn what_makes_no_sense_is_wrong_usage(#[case] line: &str) {
        assert!(parse(line).is_err());
    }

    #[test]
    fn a_shape_has_defaults() {
        assert_eq!(parse("").unwrap().raw(), None);
        let raw = RawVideo { width: 160, height: 90, pixel_format: "yuv420p".to_owned(), bit_depth: 8 };
        assert_eq!(parse("--width 160 --height 90").unwrap().raw(), Some(raw));
    }
}
