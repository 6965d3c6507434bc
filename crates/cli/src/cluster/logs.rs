//! `logs`: what was said where a job ran.
//!
//! A job with Pods of its own has their logs. A job of the queue has lines in the log of the node that has it: those
//! with its id.

mod lines;
mod node;
mod own;

use clap::Args;
use kube::core::DynamicObject;

use super::job::Job;
use super::kind::{Kind, job_name};
use super::reach::ReachArgs;
use super::select;
use super::trouble::KubeError;
use crate::{Error, Exit};

/// The container that scores.
const CONTAINER: &str = "agent";

/// Show what was said where a job ran.
///
/// A job that runs in Pods of its own has their logs, attempt by attempt. A job of the queue has the lines about it in
/// the log of the node that has it, if that node is a Pod of this cluster.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx logs trailer-1080p
  kubectl vmafx logs trailer-1080p -f
      Until the job has ended.
  kubectl vmafx logs trailer-1080p --previous --tail 50
      The attempt before the last one.")]
pub(super) struct LogsArgs {
    /// The job
    #[arg(value_name = "NAME")]
    name: String,

    /// Go on until the job has ended
    #[arg(short, long)]
    follow: bool,

    /// The attempt before the last one; of a job of the queue, the node's log before its last restart
    #[arg(short, long, conflicts_with = "follow")]
    previous: bool,

    /// Only the last lines
    #[arg(long, value_name = "N")]
    tail: Option<u32>,

    /// The container of the Pod
    #[arg(short, long, value_name = "NAME", default_value = CONTAINER)]
    container: String,

    /// Where the nodes of the queue run; looked for everywhere by default
    #[arg(long, value_name = "NAMESPACE")]
    node_namespace: Option<String>,
}

pub(super) async fn run(args: &LogsArgs, reach: &ReachArgs) -> Result<Exit, Error> {
    let cluster = reach.connect().await?;
    let found = select::named(&cluster, Kind::Job, &[job_name(&args.name)]).await?;
    let Some(object) = found.first() else { return Ok(Exit::Failed) };
    if Job(object).in_pods() {
        own::run(args, &cluster, object).await?;
    } else {
        node::run(args, &cluster, object).await?;
    }
    Ok(Exit::Done)
}

/// That nothing was said, and why.
fn nothing(object: &DynamicObject, why: &str) -> KubeError {
    let job = Job(object);
    KubeError::Senseless(vec![format!(
        "{} has no log: {why} (kubectl vmafx explain {} says where it stands)",
        job.name(),
        job.name()
    )])
}
