//! `vmafx submit`: hands pairs of clips to a controller, and waits for their scores if asked to.

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

/// Calls at a time: the controller makes one commit of what comes together.
const AT_ONCE: usize = 32;

#[derive(Serialize)]
struct Submissions {
    jobs: Vec<shape::Submitted>,
}

/// A job that the controller has.
struct Taken {
    id: String,
    distorted: String,
    known: bool,
}

pub(crate) async fn run(args: &SubmitArgs) -> Result<Exit, Error> {
    let asked = args.requests()?;
    let client = args.remote.client()?;
    let taken = submit(&client, asked).await?;
    if !args.wait {
        let submitted = |job: &Taken| shape::Submitted {
            id: Uuid::try_parse(&job.id).unwrap_or_default(),
            deduplicated: job.known,
        };
        let document = Submissions { jobs: taken.iter().map(submitted).collect() };
        args.output.show(&document, |look, _| table(&taken, look))?;
        return Ok(Exit::Done);
    }
    let stopped = interrupt::token().map_err(Error::Signals)?;
    let ids: Vec<String> = taken.iter().map(|job| job.id.clone()).collect();
    let jobs = tokio::select! {
        jobs = wait::wait(&client, &taken) => jobs?,
        () = stopped.cancelled() => {
            let named = if ids.len() == 1 { ids[0].as_str() } else { "JOB..." };
            eprintln!("not waited for any more; the jobs go on. See `vmafx watch`, or end them: vmafx cancel {named}");
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
    Ok(verdict(&jobs, args.min_score))
}

/// A job without a score weighs more than one with a low score.
fn verdict(jobs: &[wire::Job], least: Option<f64>) -> Exit {
    if jobs.iter().any(|job| job.status() != wire::JobStatus::Completed) {
        return Exit::Failed;
    }
    let mut exit = Exit::Done;
    for job in jobs {
        if let Some(least) = least.filter(|least| job.final_score < *least) {
            eprintln!("{}: {:.3} is below {least}", job.id, job.final_score);
            exit = Exit::BelowMinimum;
        }
    }
    exit
}

/// Submits in order. What was taken before a call failed is told, so that nobody submits it again.
async fn submit(client: &Client, asked: Vec<wire::SubmitJobRequest>) -> Result<Vec<Taken>, Error> {
    let all = asked.len();
    let mut answers = futures::stream::iter(asked)
        .map(|request| {
            let distorted = request.scoring.as_ref().map(|scoring| scoring.distorted.clone());
            let mut client = client.clone();
            async move {
                let answer = client.submit_job(request).await?.into_inner();
                let distorted = distorted.unwrap_or_default();
                Ok::<_, RemoteError>(Taken { id: answer.job_id, distorted, known: answer.deduplicated })
            }
        })
        .buffered(AT_ONCE);
    let mut taken = Vec::with_capacity(all);
    loop {
        match answers.try_next().await {
            Ok(Some(job)) => taken.push(job),
            Ok(None) => return Ok(taken),
            Err(error) => {
                if !taken.is_empty() {
                    output::print(&table(&taken, Look::PLAIN))?;
                    eprintln!("{} of {all} jobs were submitted before the error below", taken.len());
                }
                return Err(error.into());
            }
        }
    }
}

/// One job is its id alone, for `$(…)`.
fn table(taken: &[Taken], look: Look) -> String {
    if let [job] = taken {
        if job.known {
            eprintln!("the key is known: this is the job of an earlier submission");
        }
        return format!("{}\n", job.id);
    }
    let mut table = look.table(&["Job", "Distorted", ""], 3);
    for job in taken {
        let note = if job.known { "known before" } else { "" };
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
    fn the_exit_code_tells_the_worst(
        #[case] jobs: &[(wire::JobStatus, f64)],
        #[case] least: Option<f64>,
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
        assert_eq!(verdict(&jobs, least), expected);
    }
}
