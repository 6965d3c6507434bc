//! `vmafx watch`: job changes as they happen.

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use vmafx_proto::controller::v1 as wire;

use crate::get::{StatusFilter, status_numbers};
use crate::output::{Format, OutputArgs, OutputError};
use crate::remote::RemoteArgs;
use crate::remote::watch::{JobStreamHandler, MAX_STREAMED_IDS, has_ended, watch};
use crate::{Error, Exit, output, view};

/// Show the current state of jobs, then a line for every change.
///
/// If jobs are given, the command ends when the last of them has ended; the exit code is 2 if one of them has no score.
/// Without jobs, it runs until Ctrl-C.
#[derive(Args, Clone, Debug)]
pub struct WatchArgs {
    /// Ids of jobs; all jobs by default
    #[arg(value_name = "JOB", num_args = 0..=MAX_STREAMED_IDS)]
    ids: Vec<String>,

    /// Show only changes to one of these statuses
    #[arg(long, value_name = "STATUS", value_delimiter = ',', conflicts_with = "ids")]
    status: Vec<StatusFilter>,

    /// Also show changes of the progress
    #[arg(long)]
    progress: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(crate) async fn run(args: &WatchArgs) -> Result<Exit, Error> {
    let client = args.remote.client()?;
    let request = wire::StreamJobsRequest {
        status_filter: status_numbers(&args.status),
        job_ids: args.ids.clone(),
        include_progress: args.progress,
        ..wire::StreamJobsRequest::default()
    };
    let mut printer =
        JobPrinter { format: args.output.output, left: args.ids.clone(), exit: Exit::Done, error: None };
    watch(&client, request, &mut printer).await?;
    match printer.error {
        Some(error) => Err(error.into()),
        None => Ok(printer.exit),
    }
}

/// Prints each change.
struct JobPrinter {
    format: Format,
    /// The given jobs that have not ended.
    left: Vec<String>,
    exit: Exit,
    error: Option<OutputError>,
}

impl JobPrinter {
    fn text(&self, job: &wire::Job) -> Result<String, OutputError> {
        let document = || view::job::document(job);
        Ok(match self.format {
            Format::Json => serde_json::to_string(&document())? + "\n",
            Format::Yaml => format!("---\n{}", serde_saphyr::to_string(&document())?),
            Format::Table | Format::Wide => line(job, &now()),
        })
    }
}

impl JobStreamHandler for JobPrinter {
    fn on_job(&mut self, job: wire::Job) -> bool {
        if let Err(error) = self.text(&job).and_then(|text| output::print(&text)) {
            self.error = Some(error);
            return false;
        }
        if self.left.is_empty() || !has_ended(&job) {
            return true;
        }
        if job.status() != wire::JobStatus::Completed {
            self.exit = Exit::Failed;
        }
        self.left.retain(|id| *id != job.id);
        !self.left.is_empty()
    }

    fn on_retry(&mut self, why: &str) {
        eprintln!("{} {why}; retrying", now());
    }
}

fn now() -> String {
    Timestamp::now().to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

fn line(job: &wire::Job, now: &str) -> String {
    let distorted = job.scoring.as_ref().map_or("", |scoring| view::job::short(&scoring.distorted));
    let what = match job.status() {
        wire::JobStatus::Failed | wire::JobStatus::Cancelled => job.error.clone(),
        wire::JobStatus::Running => format!("{} on {}", view::job::score_or_progress(job), job.assigned_node),
        wire::JobStatus::Pending if job.attempt > 0 => format!("waiting again after attempt {}", job.attempt),
        _ => view::job::score_or_progress(job),
    };
    format!("{now}  {}  {:<9}  {distorted}  {what}\n", job.id, view::job::status_name(job))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printer(left: &[&str]) -> JobPrinter {
        let left = left.iter().map(|id| (*id).to_owned()).collect();
        JobPrinter { format: Format::Table, left, exit: Exit::Done, error: None }
    }

    fn job(id: &str, status: wire::JobStatus) -> wire::Job {
        wire::Job { id: id.into(), status: status.into(), ..wire::Job::default() }
    }

    #[test]
    fn it_ends_with_the_last_job_and_reports_that_one_failed() {
        let mut printer = printer(&["a", "b"]);
        assert!(printer.on_job(job("a", wire::JobStatus::Running)));
        assert!(printer.on_job(job("a", wire::JobStatus::Failed)));
        assert!(!printer.on_job(job("b", wire::JobStatus::Completed)));
        assert_eq!(printer.exit, Exit::Failed);
    }

    #[test]
    fn without_ids_it_never_ends() {
        assert!(printer(&[]).on_job(job("a", wire::JobStatus::Completed)));
    }

    #[test]
    fn a_line_has_the_clip_and_the_error() {
        let scoring = wire::ScoringParams { distorted: "/x/dis.mp4".into(), ..Default::default() };
        let failed = wire::Job {
            scoring: Some(scoring),
            error: "cut short".into(),
            ..job("a", wire::JobStatus::Failed)
        };
        assert_eq!(line(&failed, "10:00:00"), "10:00:00  a  failed     dis.mp4  cut short\n");
    }
}
