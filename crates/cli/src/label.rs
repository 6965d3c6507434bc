//! `vmafx label`: adds the ground truth that makes a job a training sample.

use clap::{Args, ValueEnum};
use vmafx_proto::controller::v1 as wire;

use crate::remote::{RemoteArgs, RemoteError};
use crate::{Error, Exit, output};

/// Label a job with the quality that viewers gave its clip; models are trained on labelled jobs.
#[derive(Args, Clone, Debug)]
pub struct LabelArgs {
    /// Id of the job, or with --key the idempotency key of its submission
    #[arg(value_name = "JOB")]
    job: String,

    /// Quality according to viewers
    #[arg(value_name = "SCORE", value_parser = crate::score::score, allow_negative_numbers = true)]
    score: f64,

    /// Scale of SCORE
    #[arg(long, value_name = "SCALE", default_value = "percent")]
    scale: Scale,

    /// JOB is an idempotency key, not an id
    #[arg(long)]
    key: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    /// 0 to 100
    Percent,
    /// Mean opinion score, 1 to 5
    Mos,
}

impl From<Scale> for wire::LabelScale {
    fn from(scale: Scale) -> Self {
        match scale {
            Scale::Percent => Self::Percent,
            Scale::Mos => Self::Mos,
        }
    }
}

pub(crate) async fn run(args: &LabelArgs) -> Result<Exit, Error> {
    use wire::label_job_request::Target;
    let mut client = args.remote.client()?;
    let job = args.job.clone();
    let request = wire::LabelJobRequest {
        target: Some(if args.key { Target::IdempotencyKey(job) } else { Target::JobId(job) }),
        ground_truth: Some(wire::GroundTruth {
            value: args.score,
            scale: wire::LabelScale::from(args.scale).into(),
        }),
    };
    let answer = client.label_job(request).await.map_err(RemoteError::from)?.into_inner();
    let verb = if answer.sampled { "is" } else { "becomes, when it completes," };
    output::print(&format!("{}: labelled; the job {verb} a training sample\n", answer.job_id))?;
    Ok(Exit::Done)
}
