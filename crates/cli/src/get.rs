//! `vmafx get jobs` and `vmafx get nodes`.

use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use vmafx_controller::http::shape;
use vmafx_proto::controller::v1 as wire;

use crate::output::OutputArgs;
use crate::remote::{Client, RemoteArgs, RemoteError};
use crate::{Error, Exit, view};

/// Most jobs of one call.
const PAGE: u32 = 500;

/// Show jobs or nodes.
#[derive(Args, Clone, Debug)]
pub struct GetArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Show jobs, newest first, or the ones that are named
    #[command(visible_alias = "job")]
    Jobs(Box<JobsArgs>),
    /// Show the nodes that are connected
    #[command(visible_alias = "node")]
    Nodes(Box<NodesArgs>),
}

#[derive(Args, Clone, Debug)]
struct JobsArgs {
    /// Jobs by id; all without one
    #[arg(value_name = "JOB")]
    ids: Vec<String>,

    /// Only jobs in these states
    #[arg(long, value_name = "STATUS", value_delimiter = ',', conflicts_with = "ids")]
    status: Vec<Status>,

    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "ids")]
    limit: usize,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Args, Clone, Debug)]
struct NodesArgs {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Where a job can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Status {
    /// Waiting for a node
    Pending,
    /// Being scored
    Running,
    /// Scored
    Completed,
    /// Without a score
    Failed,
    /// Not wanted any more
    Cancelled,
}

impl From<Status> for wire::JobStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::Running => Self::Running,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

/// The numbers of states, as the wire has them.
pub(crate) fn filter(states: &[Status]) -> Vec<i32> {
    states.iter().map(|status| wire::JobStatus::from(*status).into()).collect()
}

pub(crate) async fn run(args: &GetArgs) -> Result<Exit, Error> {
    match &args.what {
        What::Jobs(args) => jobs(args).await,
        What::Nodes(args) => nodes(args).await,
    }
}

async fn jobs(args: &JobsArgs) -> Result<Exit, Error> {
    let client = args.remote.client()?;
    let (jobs, more) = if args.ids.is_empty() {
        list(&client, args).await?
    } else {
        (named(&client, &args.ids).await?, false)
    };
    args.output.show(&view::job::documents(&jobs), |look, wide| {
        view::job::table(&jobs, look, wide, Timestamp::now())
    })?;
    if more {
        eprintln!("there are more: --limit shows them");
    }
    Ok(Exit::Done)
}

async fn named(client: &Client, ids: &[String]) -> Result<Vec<wire::Job>, RemoteError> {
    let mut jobs = Vec::with_capacity(ids.len());
    for id in ids {
        let asked = wire::GetJobRequest { job_id: id.clone() };
        jobs.push(client.clone().get_job(asked).await?.into_inner());
    }
    Ok(jobs)
}

/// The newest jobs, and whether there are more.
async fn list(client: &Client, args: &JobsArgs) -> Result<(Vec<wire::Job>, bool), RemoteError> {
    let mut asked = wire::ListJobsRequest {
        status_filter: filter(&args.status),
        newest_first: true,
        ..wire::ListJobsRequest::default()
    };
    let mut jobs = Vec::new();
    loop {
        let left = u32::try_from(args.limit.saturating_sub(jobs.len())).unwrap_or(PAGE);
        asked.page_size = left.min(PAGE);
        if asked.page_size == 0 {
            return Ok((jobs, true));
        }
        let page = client.clone().list_jobs(asked.clone()).await?.into_inner();
        jobs.extend(page.jobs);
        if page.next_page_token.is_empty() {
            return Ok((jobs, false));
        }
        asked.page_token = page.next_page_token;
    }
}

async fn nodes(args: &NodesArgs) -> Result<Exit, Error> {
    let mut client = args.remote.client()?;
    let asked = wire::ListNodesRequest {};
    let nodes = client.list_nodes(asked).await.map_err(RemoteError::from)?.into_inner().nodes;
    let document = shape::NodeList { nodes: nodes.iter().map(view::node::document).collect() };
    args.output.show(&document, |look, wide| view::node::table(&nodes, look, wide, Timestamp::now()))?;
    Ok(Exit::Done)
}
