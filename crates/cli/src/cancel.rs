//! `vmafx cancel`: ends jobs that are not wanted any more.

use clap::Args;
use vmafx_proto::controller::v1 as wire;

use crate::remote::{RemoteArgs, RemoteError};
use crate::{Error, Exit, output};

/// End jobs that wait or run. One that is over stays as it is.
#[derive(Args, Clone, Debug)]
pub struct CancelArgs {
    /// The jobs
    #[arg(value_name = "JOB", required = true)]
    ids: Vec<String>,

    /// Why; kept with the job
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Every job is tried: one that does not exist does not save the others.
pub(crate) async fn run(args: &CancelArgs) -> Result<Exit, Error> {
    let mut client = args.remote.client()?;
    let mut exit = Exit::Done;
    for id in &args.ids {
        let asked = wire::CancelJobRequest {
            job_id: id.clone(),
            reason: args.reason.clone(),
            cause: wire::CancelCause::Unspecified.into(),
        };
        match client.cancel_job(asked).await {
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
