//! `logs`: the logs of a job.
//!
//! For a job with `execution: Pod` they are the logs of its Pods. For a job of the queue they are the lines with its id in
//! the log of its node.

mod lines;
mod node;
mod pods;

use clap::Args;
use kube::core::DynamicObject;

use super::connection::ConnectionArgs;
use super::error::KubeError;
use super::job::JobView;
use super::kind::{ResourceKind, job_name};
use super::select;
use crate::{Error, Exit};

const CONTAINER: &str = "agent";

/// Show the logs of a job.
///
/// For a job with its own Pods, these are the logs of the Pods, attempt by attempt. For a job of the queue, they are the
/// lines about the job in the log of its node, if that node is a Pod of this cluster.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx logs trailer-1080p
  kubectl vmafx logs trailer-1080p -f
      Follow the log until the job has ended.
  kubectl vmafx logs trailer-1080p --previous --tail 50
      Show the last lines of the attempt before the last one.")]
pub(super) struct LogsArgs {
    /// Name of the job
    #[arg(value_name = "NAME")]
    name: String,

    /// Follow the log until the job has ended
    #[arg(short, long)]
    follow: bool,

    /// Show the attempt before the last one or, for a job of the queue, the node's log before its last restart
    #[arg(short, long, conflicts_with = "follow")]
    previous: bool,

    /// Show only this number of last lines
    #[arg(long, value_name = "N")]
    tail: Option<u32>,

    /// Container of the Pod
    #[arg(short, long, value_name = "NAME", default_value = CONTAINER)]
    container: String,

    /// Namespace of the nodes of the queue; all namespaces are searched by default
    #[arg(long, value_name = "NAMESPACE")]
    node_namespace: Option<String>,
}

pub(super) async fn run(args: &LogsArgs, connection: &ConnectionArgs) -> Result<Exit, Error> {
    let cluster = connection.connect().await?;
    let jobs = select::get_by_name(&cluster, ResourceKind::Job, &[job_name(&args.name)]).await?;
    let Some(object) = jobs.first() else { return Ok(Exit::Failed) };
    if JobView(object).runs_in_own_pods() {
        pods::run(args, &cluster, object).await?;
    } else {
        node::run(args, &cluster, object).await?;
    }
    Ok(Exit::Done)
}

fn no_log(object: &DynamicObject, why: &str) -> KubeError {
    let job = JobView(object);
    KubeError::InvalidRequest(vec![format!(
        "{} has no log: {why} (kubectl vmafx explain {} has details)",
        job.name(),
        job.name()
    )])
}
