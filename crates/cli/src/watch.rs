//! `vmafx watch`: jobs as they change.

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use vmafx_proto::controller::v1 as wire;

use crate::get::{Status, filter};
use crate::output::{Format, OutputArgs, OutputError};
use crate::remote::RemoteArgs;
use crate::remote::watch::{Listener, MOST, is_over, watch};
use crate::{Error, Exit, output, view};

/// Show jobs as they change: first where each stands, then a line for every change.
///
/// With jobs named it ends when the last of them is over, with exit code 2 if one of them has no score. Without, it
/// goes on until Ctrl-C.
#[derive(Args, Clone, Debug)]
pub struct WatchArgs {
    /// Jobs by id; all without one
    #[arg(value_name = "JOB", num_args = 0..=MOST)]
    ids: Vec<String>,

    /// Only changes to these states
    #[arg(long, value_name = "STATUS", value_delimiter = ',', conflicts_with = "ids")]
    status: Vec<Status>,

    /// Also when only the progress changed
    #[arg(long)]
    progress: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(crate) async fn run(args: &WatchArgs) -> Result<Exit, Error> {
    let client = args.remote.client()?;
    let asked = wire::StreamJobsRequest {
        status_filter: filter(&args.status),
        job_ids: args.ids.clone(),
        include_progress: args.progress,
        ..wire::StreamJobsRequest::default()
    };
    let mut lines =
        Lines { form: args.output.output, left: args.ids.clone(), exit: Exit::Done, broken: None };
    watch(&client, asked, &mut lines).await?;
    match lines.broken {
        Some(error) => Err(error.into()),
        None => Ok(lines.exit),
    }
}

/// Writes a line for each change.
struct Lines {
    form: Format,
    /// Named jobs that are not over.
    left: Vec<String>,
    exit: Exit,
    broken: Option<OutputError>,
}

impl Lines {
    fn text(&self, job: &wire::Job) -> Result<String, OutputError> {
        let document = || view::job::document(job);
        Ok(match self.form {
            Format::Json => serde_json::to_string(&document())? + "\n",
            Format::Yaml => format!("---\n{}", serde_saphyr::to_string(&document())?),
            Format::Table | Format::Wide => line(job, &now()),
        })
    }
}

impl Listener for Lines {
    fn job(&mut self, job: wire::Job) -> bool {
        if let Err(error) = self.text(&job).and_then(|text| output::print(&text)) {
            self.broken = Some(error);
            return false;
        }
        if self.left.is_empty() || !is_over(&job) {
            return true;
        }
        if job.status() != wire::JobStatus::Completed {
            self.exit = Exit::Failed;
        }
        self.left.retain(|id| *id != job.id);
        !self.left.is_empty()
    }

    fn waiting(&mut self, why: &str) {
        eprintln!("{} {why}; asking again", now());
    }
}

fn now() -> String {
    Timestamp::now().to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

fn line(job: &wire::Job, now: &str) -> String {
    let distorted = job.scoring.as_ref().map_or("", |scoring| view::job::short(&scoring.distorted));
    let what = match job.status() {
        wire::JobStatus::Failed | wire::JobStatus::Cancelled => job.error.clone(),
        wire::JobStatus::Running => format!("{} on {}", view::job::standing(job), job.assigned_node),
        wire::JobStatus::Pending if job.attempt > 0 => format!("again, after attempt {}", job.attempt),
        _ => view::job::standing(job),
    };
    format!("{now}  {}  {:<9}  {distorted}  {what}\n", job.id, view::job::word(job))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(left: &[&str]) -> Lines {
        let left = left.iter().map(|id| (*id).to_owned()).collect();
        Lines { form: Format::Table, left, exit: Exit::Done, broken: None }
    }

    fn job(id: &str, status: wire::JobStatus) -> wire::Job {
        wire::Job { id: id.into(), status: status.into(), ..wire::Job::default() }
    }

    #[test]
    fn it_ends_with_the_last_job_and_tells_that_one_failed() {
        let mut lines = lines(&["a", "b"]);
        assert!(lines.job(job("a", wire::JobStatus::Running)));
        assert!(lines.job(job("a", wire::JobStatus::Failed)));
        assert!(!lines.job(job("b", wire::JobStatus::Completed)));
        assert_eq!(lines.exit, Exit::Failed);
    }

    #[test]
    fn without_names_it_goes_on() {
        assert!(lines(&[]).job(job("a", wire::JobStatus::Completed)));
    }

    #[test]
    fn a_line_has_the_clip_and_what_became_of_it() {
        let scoring = wire::ScoringParams { distorted: "/x/dis.mp4".into(), ..Default::default() };
        let failed = wire::Job {
            scoring: Some(scoring),
            error: "cut short".into(),
            ..job("a", wire::JobStatus::Failed)
        };
        assert_eq!(line(&failed, "10:00:00"), "10:00:00  a  failed     dis.mp4  cut short\n");
    }
}
