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
      Create one job per encode, and print the scores.

  kubectl vmafx submit -f pairs.csv --labels batch=nightly --min-score 93 --wait
      Create one job per line of a CSV file, and fail if a score is below 93.

  kubectl vmafx submit -f pairs.csv --dry-run=client -o yaml > jobs.yaml
      Write the resources to a file, for example to commit them.

CSV files:
  The first line has the column names. `reference` and `distorted` are required. `model`, `backend`,
  `priority`, `min_score`, `label` and `report` are optional and override the options of the same name.
  `name` is the name of the job; without it, the name is derived from `key`, your own identifier of the
  pair, or from the clips and options. Lines that start with # are skipped.

Repeating a command:
  The API server checks all jobs before the first one is created. The same job always gets the same
  name, so repeating a command creates only the jobs that are missing.

Exit codes:
    0  success: the jobs exist or, with --wait, are scored
    1  a score is below its minimum (--wait)
    2  error, wrong usage, an existing job that differs, or a job without a score (--wait)
  124  --timeout expired
  130  stopped by Ctrl-C; the created jobs continue";

/// Create a VmafxJob per pair of clips.
///
/// A clip is given as a URI: s3://, gs://, azure://, http(s)://, or file:// for a volume that the nodes have mounted.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "Details and examples: kubectl vmafx submit --help")]
#[command(
    override_usage = "kubectl vmafx submit [OPTIONS] <REF> <DIS>...\n       kubectl vmafx submit [OPTIONS] -f <FILE>"
)]
pub(in crate::cluster) struct SubmitArgs {
    /// The reference clip, followed by one or more distorted clips
    #[arg(value_names = ["REF", "DIS"], num_args = 2.., required_unless_present = "filename", conflicts_with = "filename")]
    pub(super) clips: Vec<String>,

    /// Read the pairs of clips from this CSV file; - is standard input
    #[arg(short, long, value_name = "FILE", visible_alias = "csv")]
    pub(super) filename: Option<PathBuf>,

    /// Only print the jobs that would be created
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub(super) dry_run: Option<DryRun>,

    /// Wait for the scores, and show the progress
    #[arg(long, conflicts_with_all = ["dry_run", "suspend"])]
    pub(super) wait: bool,

    /// Maximum time to wait, such as 10m
    #[arg(long, value_name = "DURATION", requires = "wait")]
    pub(super) timeout: Option<GoDuration>,

    #[command(flatten)]
    pub(super) format: FormatArgs,

    /// Name of the job, if there is only one; derived from the clips and options by default
    #[arg(long, value_name = "NAME", conflicts_with_all = ["filename", "name_prefix"], help_heading = "Job")]
    pub(super) name: Option<String>,

    /// Prefix of the derived names
    #[arg(long, value_name = "TEXT", help_heading = "Job")]
    pub(super) name_prefix: Option<String>,

    /// Labels of the jobs, such as batch=nightly,team=web
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', help_heading = "Job")]
    pub(super) labels: Vec<String>,

    /// Priority; each step is a head start of a minute before older jobs
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Job")]
    pub(super) priority: i32,

    /// Where the jobs run
    #[arg(long, value_name = "WHERE", default_value = "queue", help_heading = "Job")]
    pub(super) execution: Execution,

    /// Number of retries after the node of a job was lost
    #[arg(long, value_name = "N", help_heading = "Job")]
    pub(super) retries: Option<i32>,

    /// Fail a job if it has not finished within this time, such as 30m
    #[arg(long, value_name = "DURATION", help_heading = "Job")]
    pub(super) deadline: Option<GoDuration>,

    /// Delete a job this long after it has ended, such as 24h
    #[arg(long, value_name = "DURATION", help_heading = "Job")]
    pub(super) ttl: Option<GoDuration>,

    /// Create the jobs suspended; they start when they are resumed
    #[arg(long, help_heading = "Job")]
    pub(super) suspend: bool,

    /// Quality that viewers gave the clip, 0 to 100; the job becomes a training sample
    #[arg(long, value_name = "SCORE", value_parser = crate::score::score, help_heading = "Job")]
    pub(super) label: Option<f64>,

    /// Model to score with: auto, a built-in model, a file in the nodes' model directory, or an oci:// reference
    #[arg(long, value_name = "MODEL", help_heading = "Scoring")]
    pub(super) model: Option<String>,

    /// Run only on nodes with this backend
    #[arg(long, value_name = "BACKEND", default_value = "cpu", help_heading = "Scoring")]
    pub(super) backend: Backend,

    /// Minimum score; a job below it does not pass
    #[arg(long, value_name = "SCORE", value_parser = crate::score::score, help_heading = "Scoring")]
    pub(super) min_score: Option<f64>,

    #[command(flatten)]
    pub(super) options: ScoringOptions,

    #[command(flatten)]
    pub(super) raw: RawVideoArgs,

    /// Write a per-frame report to this URI (.json, .csv, .html or .xml); if it ends in /, each job writes a JSON report
    /// into that directory
    #[arg(long, value_name = "URI", help_heading = "Scoring")]
    pub(super) report: Option<String>,

    /// Overwrite the report if it exists
    #[arg(long, help_heading = "Scoring")]
    pub(super) overwrite_report: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DryRun {
    /// Without contacting the cluster
    Client,
    /// After the API server has checked them
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Execution {
    /// On the nodes of the controller, in order of priority
    Queue,
    /// Each job in its own Pod
    Pod,
}
