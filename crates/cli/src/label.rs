//! `vmafx label`: tells what viewers said, which makes a job something to learn from.

use clap::{Args, ValueEnum};
use vmafx_proto::controller::v1 as wire;

use crate::remote::{RemoteArgs, RemoteError};
use crate::{Error, Exit, output};

/// Say what viewers said of a job's clip. Labelled jobs are what models learn from.
#[derive(Args, Clone, Debug)]
pub struct LabelArgs {
    /// The job; with --key the idempotency key it was submitted with
    #[arg(value_name = "JOB")]
    job: String,

    /// What viewers said
    #[arg(value_name = "SCORE", value_parser = crate::score::score, allow_negative_numbers = true)]
    score: f64,

    /// The scale of that number
    #[arg(long, value_name = "SCALE", default_value = "percent")]
    scale: Scale,

    /// JOB is an idempotency key and not an id
    #[arg(long)]
    key: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Scales that viewers are asked on.
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
    let name = args.job.clone();
    let asked = wire::LabelJobRequest {
        target: Some(if args.key { Target::IdempotencyKey(name) } else { Target::JobId(name) }),
        ground_truth: Some(wire::GroundTruth {
            value: args.score,
            scale: wire::LabelScale::from(args.scale).into(),
        }),
    };
    let answer = client.label_job(asked).await.map_err(RemoteError::from)?.into_inner();
    let when = if answer.sampled { "a sample" } else { "a sample as soon as the job completes" };
    output::print(&format!("{}: labelled, {when}\n", answer.job_id))?;
    Ok(Exit::Done)
}
