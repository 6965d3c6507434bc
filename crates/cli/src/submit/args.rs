//! The options of `vmafx submit`, and the requests they mean.

use std::path::{Path, PathBuf};

use clap::Args;
use vmafx_job::{Backend, ScoringOptions, ScoringRequest};
use vmafx_kit::config::GoDuration;
use vmafx_proto::controller::v1 as wire;

use super::pairs::{self, Line, Pair, PairsError};
use crate::address;
use crate::output::OutputArgs;
use crate::raw_video::RawVideoArgs;
use crate::remote::RemoteArgs;

const EXAMPLES: &str = "\
Examples:
  vmafx submit master.mkv encode.mp4 --wait
      Score an encode with the controller of `vmafx up` and show the score.

  vmafx submit s3://clips/master.mkv s3://clips/720p.mp4 s3://clips/540p.mp4 --report s3://clips/reports/
      Clips and reports are read and written by the nodes, where they are.

  vmafx submit --csv pairs.csv --wait --min-score 93
      One job per line. The first line names the columns: reference, distorted, and, if wanted,
      model, priority, key, label. Exit code 1 if a score is below 93, 2 if a job has none.

Exit codes:
    0  submitted, or with --wait: all scored
    1  scored, and a clip is below --min-score
    2  error, wrong usage, or a job without a score
  130  stopped by Ctrl-C; the jobs go on";

/// Hand clips to a controller for scoring.
///
/// Clips are named by path or by address (http, https, s3, gs, azure, or an rclone remote). Paths are made absolute;
/// nodes must see the clip under the same path. One job is made for each distorted clip.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "More and examples: vmafx submit --help")]
#[command(
    override_usage = "vmafx submit [OPTIONS] <REF> <DIS>...\n       vmafx submit [OPTIONS] --csv <FILE>"
)]
pub struct SubmitArgs {
    /// The reference, then one or more distorted clips
    #[arg(value_names = ["REF", "DIS"], num_args = 2.., required_unless_present = "csv", conflicts_with = "csv")]
    clips: Vec<String>,

    /// A CSV file of pairs; - is standard input
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// auto, a built-in model, a file in the nodes' model directory, or an oci:// address
    #[arg(
        long,
        value_name = "MODEL",
        default_value = "",
        hide_default_value = true,
        help_heading = "Scoring"
    )]
    model: String,

    /// Only nodes that compute on this
    #[arg(long, value_name = "BACKEND", help_heading = "Scoring")]
    backend: Option<Backend>,

    #[command(flatten)]
    options: ScoringOptions,

    #[command(flatten)]
    raw: RawVideoArgs,

    /// Where the per-frame report is written, ending in .json, .csv, .html or .xml; ending in /: one for each job in there
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "",
        hide_default_value = true,
        help_heading = "Scoring"
    )]
    report: String,

    /// Higher is scored first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, help_heading = "Job")]
    priority: i32,

    /// Your own name for the job: submitted again with it, the first job is the answer
    #[arg(long, value_name = "KEY", help_heading = "Job")]
    key: Option<String>,

    /// The job fails if it is not over by then, such as 30m
    #[arg(long, value_name = "DURATION", help_heading = "Job")]
    deadline: Option<GoDuration>,

    /// What viewers said of the clip, 0 to 100: the job becomes something to learn from
    #[arg(long, value_name = "SCORE", value_parser = crate::score::score, help_heading = "Job")]
    label: Option<f64>,

    /// Wait for the scores, and show how far the jobs are
    #[arg(long)]
    pub(super) wait: bool,

    /// Exit with code 1 if a score is below this
    #[arg(long, value_name = "SCORE", value_parser = crate::score::score, requires = "wait")]
    pub(super) min_score: Option<f64>,

    #[command(flatten)]
    pub(super) output: OutputArgs,

    #[command(flatten)]
    pub(super) remote: RemoteArgs,
}

impl SubmitArgs {
    /// One request for each job, all of them checked.
    pub(super) fn requests(&self) -> Result<Vec<wire::SubmitJobRequest>, PairsError> {
        let here = std::env::current_dir().map_err(PairsError::Here)?;
        let pairs = match (&self.csv, self.clips.split_first()) {
            (Some(file), _) => {
                let line = |line: Line<Pair>| Pair {
                    model: line.row.model.filter(|model| !model.is_empty()),
                    key: line.row.key.filter(|key| !key.is_empty()),
                    ..line.row
                };
                pairs::read(file)?.into_iter().map(line).collect::<Vec<_>>()
            }
            (None, Some((reference, distorted))) => {
                let pair = |distorted: &String| Pair {
                    reference: reference.clone(),
                    distorted: distorted.clone(),
                    ..Pair::default()
                };
                distorted.iter().map(pair).collect()
            }
            (None, None) => return Err(PairsError::Nothing),
        };
        if self.key.is_some() && pairs.len() > 1 {
            return Err(PairsError::OneKey { jobs: pairs.len() });
        }
        Ok(pairs.into_iter().map(|pair| self.request(pair, &here)).collect())
    }

    fn request(&self, pair: Pair, here: &Path) -> wire::SubmitJobRequest {
        let label = pair.label.or(self.label);
        let distorted = address::absolute(&pair.distorted, here);
        let model = pair.model.unwrap_or_else(|| self.model.clone());
        let scoring = ScoringRequest {
            reference: address::absolute(&pair.reference, here),
            report_uri: self.report(&distorted, here),
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

    /// The address of a job's report; in a directory it has the clip's name.
    fn report(&self, distorted: &str, here: &Path) -> Option<String> {
        Some(match self.report.as_str() {
            "" => return None,
            directory if directory.ends_with('/') => {
                let name = distorted.rsplit('/').next().unwrap_or(distorted);
                format!("{}/{name}.json", address::absolute(directory, here).trim_end_matches('/'))
            }
            file => address::absolute(file, here),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: SubmitArgs,
    }

    fn requests(line: &[&str]) -> Result<Vec<wire::SubmitJobRequest>, PairsError> {
        Typed::try_parse_from(["vmafx"].iter().chain(line)).unwrap().args.requests()
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
    fn raw_clips_have_a_shape() {
        let jobs =
            requests(&["/r.yuv", "/a.yuv", "--size", "64x48", "--pixel-format", "yuv422p10le"]).unwrap();
        let raw = jobs[0].scoring.as_ref().unwrap().input.unwrap();
        assert_eq!((raw.width, raw.height, raw.bit_depth), (64, 48, 10));
        assert_eq!(raw.pixel_format(), wire::PlaneLayout::Yuv422p);
    }

    #[test]
    fn one_key_cannot_name_two_jobs() {
        let error = requests(&["/r.mp4", "/a.mp4", "/b.mp4", "--key", "k"]).unwrap_err().to_string();
        assert_eq!(error, "--key names one job, and there are 2: give the keys in a CSV file");
    }
}
