//! The options of `vmafx submit`, and the requests that are made from them.

use std::path::{Path, PathBuf};

use clap::Args;
use vmafx_job::{Backend, ScoringOptions, ScoringRequest};
use vmafx_kit::config::GoDuration;
use vmafx_proto::controller::v1 as wire;

use super::pairs::{self, ClipPair, PairsError};
use crate::address;
use crate::output::OutputArgs;
use crate::raw_video::RawVideoArgs;
use crate::remote::RemoteArgs;
use crate::view::job::short;

/// Columns of a CSV file that this command uses.
const COLUMNS: [&str; 6] = ["reference", "distorted", "model", "priority", "key", "label"];

const EXAMPLES: &str = "\
Examples:
  vmafx submit master.mkv encode.mp4 --wait
      Score an encode with the controller of `vmafx up`, and print the score.

  vmafx submit s3://clips/master.mkv s3://clips/720p.mp4 s3://clips/540p.mp4 --report s3://clips/reports/
      Submit one job per encode. The nodes read the clips and write the reports.

  vmafx submit --csv pairs.csv --wait --min-score 93
      Submit one job per line of a CSV file, and fail if a score is below 93.

CSV files:
  The first line has the column names. `reference` and `distorted` are required; `model`, `priority`,
  `key` and `label` are optional and override the options of the same name. Lines that start with # are
  skipped.

Exit codes:
    0  success: the jobs are submitted or, with --wait, scored
    1  a score is below --min-score
    2  error, wrong usage, or a job without a score
  130  stopped by Ctrl-C; submitted jobs continue";

/// Submit clips to a controller for scoring, one job per distorted clip.
///
/// A clip is given as a path or a URI (http, https, s3, gs, azure, or an rclone remote). Relative paths are made
/// absolute, and the nodes must find the clip under the same path.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "Details and examples: vmafx submit --help")]
#[command(
    override_usage = "vmafx submit [OPTIONS] <REF> <DIS>...\n       vmafx submit [OPTIONS] --csv <FILE>"
)]
pub struct SubmitArgs {
    /// The reference clip, followed by one or more distorted clips
    #[arg(value_names = ["REF", "DIS"], num_args = 2.., required_unless_present = "csv", conflicts_with = "csv")]
    clips: Vec<String>,

    /// Read the pairs of clips from this CSV file; - is standard input
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Wait for the scores, and show the progress
    #[arg(long)]
    pub(super) wait: bool,

    /// Exit with code 1 if a score is below this
    #[arg(long, value_name = "SCORE", value_parser = crate::score::score, requires = "wait")]
    pub(super) min_score: Option<f64>,

    #[command(flatten)]
    pub(super) output: OutputArgs,

    /// Model to score with: auto, a built-in model, a file in the nodes' model directory, or an oci:// reference
    #[arg(
        long,
        value_name = "MODEL",
        default_value = "",
        hide_default_value = true,
        help_heading = "Scoring"
    )]
    model: String,

    /// Run only on nodes with this backend
    #[arg(long, value_name = "BACKEND", help_heading = "Scoring")]
    backend: Option<Backend>,

    #[command(flatten)]
    options: ScoringOptions,

    #[command(flatten)]
    raw: RawVideoArgs,

    /// Write a per-frame report to this path or URI (.json, .csv, .html or .xml); if it ends in /, each job writes a JSON
    /// report into that directory
    #[arg(long, value_name = "URI", default_value = "", hide_default_value = true, help_heading = "Scoring")]
    report: String,

    /// Overwrite the report if it exists
    #[arg(long, help_heading = "Scoring")]
    overwrite_report: bool,

    /// Priority; each step is a head start of a minute before older jobs
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, help_heading = "Job")]
    priority: i32,

    /// Idempotency key: submitting again with the same key returns the first job instead of a new one
    #[arg(long, value_name = "KEY", help_heading = "Job")]
    key: Option<String>,

    /// Fail the job if it has not finished within this time, such as 30m
    #[arg(long, value_name = "DURATION", help_heading = "Job")]
    deadline: Option<GoDuration>,

    /// Quality that viewers gave the clip, 0 to 100; the job becomes a training sample
    #[arg(long, value_name = "SCORE", value_parser = crate::score::score, help_heading = "Job")]
    label: Option<f64>,

    #[command(flatten)]
    pub(super) remote: RemoteArgs,
}

impl SubmitArgs {
    /// One request per job.
    pub(super) fn requests(&self) -> Result<Vec<wire::SubmitJobRequest>, PairsError> {
        let directory = std::env::current_dir().map_err(PairsError::CurrentDirectory)?;
        let pairs = match &self.csv {
            Some(file) => pairs::read(file, &COLUMNS)?,
            None => pairs::from_clips(&self.clips),
        };
        if self.key.is_some() && pairs.len() > 1 {
            return Err(PairsError::KeyOfSeveralJobs { jobs: pairs.len() });
        }
        Ok(pairs.into_iter().map(|pair| self.request(pair, &directory)).collect())
    }

    fn request(&self, pair: ClipPair, directory: &Path) -> wire::SubmitJobRequest {
        let label = pair.label.or(self.label);
        let distorted = address::absolute(&pair.distorted, directory);
        let model = pair.model.unwrap_or_else(|| self.model.clone());
        let scoring = ScoringRequest {
            reference: address::absolute(&pair.reference, directory),
            report_uri: self.report(&distorted, directory),
            overwrite_report: self.overwrite_report,
            distorted,
            model: (!model.is_empty()).then_some(model),
            backend: self.backend,
            input: self.raw.description(),
            options: self.options.clone(),
        };
        wire::SubmitJobRequest {
            scoring: Some(scoring.into()),
            priority: pair.priority.unwrap_or(self.priority),
            idempotency_key: pair.key.or_else(|| self.key.clone()).unwrap_or_default(),
            origin: None,
            max_lost_attempts: None,
            active_deadline_seconds: self.deadline.map_or(0, |limit| limit.0.as_secs().max(1)),
            ground_truth: label
                .map(|value| wire::GroundTruth { value, scale: wire::LabelScale::Percent.into() }),
        }
    }

    /// The location of a job's report. In a directory, the report is named after the clip.
    fn report(&self, distorted: &str, directory: &Path) -> Option<String> {
        let report = address::absolute(&self.report, directory);
        match self.report.as_str() {
            "" => None,
            parent if parent.ends_with('/') => {
                Some(format!("{}/{}.json", report.trim_end_matches('/'), short(distorted)))
            }
            _ => Some(report),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: SubmitArgs,
    }

    fn requests(args: &[&str]) -> Result<Vec<wire::SubmitJobRequest>, PairsError> {
        CommandLine::try_parse_from(["vmafx"].iter().chain(args)).unwrap().args.requests()
    }

    #[test]
    fn a_ladder_is_a_job_for_each_clip() {
        let jobs =
            requests(&["/r.mp4", "/a.mp4", "s3://b/c.mp4", "--priority", "-3", "--label", "80"]).unwrap();
        let pairs: Vec<_> = jobs
            .iter()
            .map(|job| job.scoring.as_ref().unwrap())
            .map(|scoring| (scoring.reference.as_str(), scoring.distorted.as_str()))
            .collect();
        assert_eq!(pairs, [("/r.mp4", "/a.mp4"), ("/r.mp4", "s3://b/c.mp4")]);
        assert_eq!((jobs[0].priority, jobs[1].ground_truth.unwrap().value), (-3, 80.0));
    }

    #[test]
    fn reports_of_several_jobs_go_into_a_directory() {
        let jobs = requests(&["/r.mp4", "/a.mp4", "/b.mp4", "--report", "s3://out/x/"]).unwrap();
        let reports: Vec<_> = jobs.iter().map(|job| &job.scoring.as_ref().unwrap().report_uri).collect();
        assert_eq!(reports, ["s3://out/x/a.mp4.json", "s3://out/x/b.mp4.json"]);
    }

    #[test]
    fn raw_clips_have_a_size_and_a_pixel_format() {
        let jobs =
            requests(&["/r.yuv", "/a.yuv", "--size", "64x48", "--pixel-format", "yuv422p10le"]).unwrap();
        let raw = jobs[0].scoring.as_ref().unwrap().input.unwrap();
        assert_eq!((raw.width, raw.height, raw.bit_depth), (64, 48, 10));
        assert_eq!(raw.pixel_format(), wire::PlaneLayout::Yuv422p);
    }

    #[rstest]
    #[case(&["--feature", "psnr-hvs"], &["psnr-hvs"])]
    #[case(&["--feature", "psnr,psnr-hvs", "--feature", "cambi"], &["psnr", "psnr-hvs", "cambi"])]
    #[case(&[], &[])]
    fn features_arrive_in_the_request(#[case] options: &[&str], #[case] expected: &[&str]) {
        let jobs = requests(&[&["/r.mp4", "/a.mp4"], options].concat()).unwrap();
        assert_eq!(jobs[0].scoring.as_ref().unwrap().features, expected);
    }

    #[test]
    fn one_key_cannot_identify_two_jobs() {
        let error = requests(&["/r.mp4", "/a.mp4", "/b.mp4", "--key", "k"]).unwrap_err().to_string();
        assert_eq!(error, "--key identifies one job, but there are 2: put the keys into a CSV file");
    }
}
