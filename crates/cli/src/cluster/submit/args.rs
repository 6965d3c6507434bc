//! The options of `submit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use vmafx_job::{Backend, ScoringOptions};
use vmafx_kit::config::GoDuration;

use crate::cluster::output::FormatArgs;
use crate::raw_video::RawVideoArgs;

const EXAMPLES: &str = "\
Examples:
  kubectl vmafx submit s3://clips/master.mkv s3://clips/720p.mp4 s3://clips/540p.mp4 --wait
      A job for each distorted clip, and their scores.

  kubectl vmafx submit -f pairs.csv --labels batch=nightly --min-score 93 --wait
      A job per line. The first line names the columns: reference, distorted, and, if wanted,
      name, key, model, backend, priority, min_score, label, report. Exit code 1 if a score is below 93.

  kubectl vmafx submit -f pairs.csv --dry-run=client -o yaml > jobs.yaml
      The resources, for a repository.

Every line is checked by the API server before the first job is made. A job has the same name
whenever it is submitted, so the same command again makes only what is missing.

Exit codes:
    0  all are there, or with --wait: scored
    1  with --wait: a score is below its minimum
    2  error, wrong usage, a job that exists and differs, or with --wait one without a score
  124  not over within --timeout
  130  stopped by Ctrl-C; the jobs go on";

/// Make a VmafxJob of each pair of clips.
///
/// Clips are named by URI: s3://, gs://, azure://, http(s)://, or file:// for what the nodes have mounted.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "More and examples: kubectl vmafx submit --help")]
#[command(
    override_usage = "kubectl vmafx submit [OPTIONS] <REF> <DIS>...\n       kubectl vmafx submit [OPTIONS] -f <FILE>"
)]
pub(in crate::cluster) struct SubmitArgs {
    /// The reference, then one or more distorted clips
    #[arg(value_names = ["REF", "DIS"], num_args = 2.., required_unless_present = "filename", conflicts_with = "filename")]
    pub(super) clips: Vec<String>,

    /// A CSV file of pairs; - is standard input
    #[arg(short, long, value_name = "FILE", visible_alias = "csv")]
    pub(super) filename: Option<PathBuf>,

    /// The name of the job, if it is one
    #[arg(long, value_name = "NAME", conflicts_with_all = ["filename", "name_prefix"], help_heading = "Job")]
    pub(super) name: Option<String>,

    /// What the names of jobs begin with
    #[arg(long, value_name = "TEXT", help_heading = "Job")]
    pub(super) name_prefix: Option<String>,

    /// Labels of the resources, such as batch=nightly,team=web
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', help_heading = "Job")]
    pub(super) labels: Vec<String>,

    /// Higher is scored first
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Job")]
    pub(super) priority: i32,

    /// Where the jobs run
    #[arg(long, value_name = "WHERE", default_value = "queue", help_heading = "Job")]
    pub(super) execution: Execution,

    /// How often a job is tried again after its node was lost
    #[arg(long, value_name = "N", help_heading = "Job")]
    pub(super) retries: Option<i32>,

    /// A job fails if it is not over by then, such as 30m
    #[arg(long, value_name = "DURATION", help_heading = "Job")]
    pub(super) deadline: Option<GoDuration>,

    /// A job is deleted so long after its end, such as 24h
    #[arg(long, value_name = "DURATION", help_heading = "Job")]
    pub(super) ttl: Option<GoDuration>,

    /// Make the jobs, but hold them back until they are resumed
    #[arg(long, help_heading = "Job")]
    pub(super) suspend: bool,

    /// What viewers said of the clip, 0 to 100: the job becomes something to learn from
    #[arg(long, value_name = "SCORE", value_parser = crate::score::score, help_heading = "Job")]
    pub(super) label: Option<f64>,

    /// auto, a built-in model, a file in the nodes' model directory, or an oci:// address
    #[arg(long, value_name = "MODEL", help_heading = "Scoring")]
    pub(super) model: Option<String>,

    /// What the nodes must compute with
    #[arg(long, value_name = "BACKEND", default_value = "cpu", help_heading = "Scoring")]
    pub(super) backend: Backend,

    /// The score from which on a clip passes
    #[arg(long, value_name = "SCORE", value_parser = crate::score::score, help_heading = "Scoring")]
    pub(super) min_score: Option<f64>,

    #[command(flatten)]
    pub(super) options: ScoringOptions,

    #[command(flatten)]
    pub(super) raw: RawVideoArgs,

    /// Where the per-frame report is written, ending in .json, .csv, .html or .xml; ending in /: one for each job in there
    #[arg(long, value_name = "URI", help_heading = "Scoring")]
    pub(super) report: Option<String>,

    /// Only say what would be made: client asks nobody, server has it checked
    #[arg(long, value_name = "WHO", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub(super) dry_run: Option<DryRun>,

    /// Wait for the scores, and show how far the jobs are
    #[arg(long, conflicts_with_all = ["dry_run", "suspend"])]
    pub(super) wait: bool,

    /// How long to wait, such as 10m
    #[arg(long, value_name = "DURATION", requires = "wait")]
    pub(super) timeout: Option<GoDuration>,

    #[command(flatten)]
    pub(super) format: FormatArgs,
}

/// Who is asked when nothing is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DryRun {
    /// Nobody
    Client,
    /// The API server, which checks everything
    Server,
}

/// Where jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Execution {
    /// On the nodes of the controller, by priority
    Queue,
    /// Each in a Pod of its own
    Pod,
}
