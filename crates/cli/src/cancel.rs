//! `vmafx cancel`.

use clap::Args;
use vmafx_proto::controller::v1 as wire;

use crate::remote::{RemoteArgs, RemoteError};
use crate::{Error, Exit, output};

/// Cancel jobs that are pending or running; jobs that have ended stay as they are.
#[derive(Args, Clone, Debug)]
pub struct CancelArgs {
    /// Ids of the jobs
    #[arg(value_name = "JOB", required = true)]
    ids: Vec<String>,

    /// Reason, stored with the job
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Cancels every job that exists; an unknown id does not stop the others.
pub(crate) async fn run(args: &CancelArgs) -> Result<Exit, Error> {
    let mut client = args.remote.client()?;
    let mut exit = Exit::Done;
    for id in &args.ids {
        let request = wire::CancelJobRequest {
            job_id: id.clone(),
            reason: args.reason.clone(),
            cause: wire::CancelCause::Unspecified.into(),
        };
        match client.cancel_job(request).await {
            Ok(answer) => output::print(&format!("{id}: {}\n", answer.into_inner().message))?,
            Err(status) if status.code() == tonic::Code::NotFound => {
                eprintln!("error: {}", status.message());
                exit = Exit::Failed;
            }
            Err(status) => return Err(RemoteError::from(status).into()),
        }
    }
    Ok(exit)
}
