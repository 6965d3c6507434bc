//! `vmafx submit`: submits pairs of clips to a controller and, with `--wait`, waits for their scores.

mod args;
pub(crate) mod pairs;
mod wait;

use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;
use vmafx_controller::http::shape;
use vmafx_proto::controller::v1 as wire;

pub use self::args::SubmitArgs;
pub use self::pairs::PairsError;
use crate::remote::{Client, RemoteError};
use crate::terminal::Look;
use crate::{Error, Exit, interrupt, output, view};

/// The controller commits the calls that arrive together in one transaction.
const MAX_CONCURRENT_CALLS: usize = 32;

#[derive(Serialize)]
struct Submissions {
    jobs: Vec<shape::Submitted>,
}

struct SubmittedJob {
    id: String,
    distorted: String,
    /// The idempotency key was that of an earlier submission.
    deduplicated: bool,
}

pub(crate) async fn run(args: &SubmitArgs) -> Result<Exit, Error> {
    let requests = args.requests()?;
    let client = args.remote.client()?;
    let submitted = submit(&client, requests).await?;
    if !args.wait {
        let document = |job: &SubmittedJob| shape::Submitted {
            id: Uuid::try_parse(&job.id).unwrap_or_default(),
            deduplicated: job.deduplicated,
        };
        let documents = Submissions { jobs: submitted.iter().map(document).collect() };
        args.output.show(&documents, |look, _| table(&submitted, look))?;
        return Ok(Exit::Done);
    }
    let stopped = interrupt::token().map_err(Error::Signals)?;
    let jobs = tokio::select! {
        jobs = wait::wait(&client, &submitted) => jobs?,
        () = stopped.cancelled() => {
            let ids = if let [job] = submitted.as_slice() { job.id.as_str() } else { "JOB..." };
            eprintln!("stopped waiting; the jobs continue. Follow them with `vmafx watch`, or stop them with `vmafx cancel {ids}`");
            return Ok(Exit::Interrupted);
        }
    };
    args.output.show(&view::job::documents(&jobs), |look, wide| {
        view::job::table(&jobs, look, wide, Timestamp::now())
    })?;
    for job in &jobs {
        for warning in job.result.iter().flat_map(|result| &result.warnings) {
            eprintln!("warning: {}: {warning}", job.id);
        }
    }
    Ok(exit_code(&jobs, args.min_score))
}

/// A job without a score takes precedence over one with a low score.
fn exit_code(jobs: &[wire::Job], min_score: Option<f64>) -> Exit {
    if jobs.iter().any(|job| job.status() != wire::JobStatus::Completed) {
        return Exit::Failed;
    }
    let mut exit = Exit::Done;
    for job in jobs {
        if let Some(min_score) = min_score.filter(|min_score| job.final_score < *min_score) {
            eprintln!("{}: {:.3} is below {min_score}", job.id, job.final_score);
            exit = Exit::BelowMinimum;
        }
    }
    exit
}

/// Submits in order. If a call fails, the jobs that were submitted before it are printed, so that the user does not submit
/// them again.
async fn submit(client: &Client, requests: Vec<wire::SubmitJobRequest>) -> Result<Vec<SubmittedJob>, Error> {
    let all = requests.len();
    let mut answers = futures::stream::iter(requests)
        .map(|request| {
            let distorted = request.scoring.as_ref().map(|scoring| scoring.distorted.clone());
            let mut client = client.clone();
            async move {
                let answer = client.submit_job(request).await?.into_inner();
                let distorted = distorted.unwrap_or_default();
                let deduplicated = answer.deduplicated;
                Ok::<_, RemoteError>(SubmittedJob { id: answer.job_id, distorted, deduplicated })
            }
        })
        .buffered(MAX_CONCURRENT_CALLS);
    let mut submitted = Vec::with_capacity(all);
    loop {
        match answers.try_next().await {
            Ok(Some(job)) => submitted.push(job),
            Ok(None) => return Ok(submitted),
            Err(error) => {
                if !submitted.is_empty() {
                    output::print(&table(&submitted, Look::PLAIN))?;
                    eprintln!("{} of {all} jobs were submitted before the error below", submitted.len());
                }
                return Err(error.into());
            }
        }
    }
}

/// A single job is printed as its id alone, for `$(…)` in a shell.
fn table(submitted: &[SubmittedJob], look: Look) -> String {
    if let [job] = submitted {
        if job.deduplicated {
            eprintln!("a job with this key was submitted before; this is its id");
        }
        return format!("{}\n", job.id);
    }
    let mut table = look.table(&["Job", "Distorted", ""], 3);
    for job in submitted {
        let note = if job.deduplicated { "submitted before" } else { "" };
        table.add_row([job.id.as_str(), view::job::short(&job.distorted), note]);
    }
    format!("{}\n", table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[(wire::JobStatus::Completed, 95.0)], Some(93.0), Exit::Done)]
    #[case(&[(wire::JobStatus::Completed, 95.0), (wire::JobStatus::Completed, 92.9)], Some(93.0), Exit::BelowMinimum)]
    #[case(&[(wire::JobStatus::Completed, 1.0), (wire::JobStatus::Failed, 0.0)], Some(93.0), Exit::Failed)]
    #[case(&[(wire::JobStatus::Cancelled, 0.0)], None, Exit::Failed)]
    #[case(&[(wire::JobStatus::Completed, 0.0)], None, Exit::Done)]
    fn the_worst_job_decides_the_exit_code(
        #[case] jobs: &[(wire::JobStatus, f64)],
        #[case] min_score: Option<f64>,
        #[case] expected: Exit,
    ) {
        let jobs: Vec<_> = jobs
            .iter()
            .map(|(status, final_score)| wire::Job {
                status: (*status).into(),
                final_score: *final_score,
                ..Default::default()
            })
            .collect();
        assert_eq!(exit_code(&jobs, min_score), expected);
    }
}
