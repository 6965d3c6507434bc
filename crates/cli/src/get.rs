//! `vmafx get jobs` and `vmafx get nodes`.

use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use vmafx_controller::http::shape;
use vmafx_proto::controller::v1 as wire;

use crate::output::OutputArgs;
use crate::remote::{Client, RemoteArgs, RemoteError};
use crate::{Error, Exit, view};

/// Number of jobs per call.
const PAGE_SIZE: u32 = 500;

/// Show jobs or nodes of a controller.
#[derive(Args, Clone, Debug)]
pub struct GetArgs {
    #[command(subcommand)]
    target: GetTarget,
}

#[derive(Clone, Debug, Subcommand)]
enum GetTarget {
    /// Show jobs, newest first, or the given ones
    #[command(visible_alias = "job")]
    Jobs(Box<JobsArgs>),
    /// Show the connected nodes
    #[command(visible_alias = "node")]
    Nodes(Box<NodesArgs>),
}

#[derive(Args, Clone, Debug)]
struct JobsArgs {
    /// Ids of jobs; all jobs by default
    #[arg(value_name = "JOB")]
    ids: Vec<String>,

    /// Show only jobs with one of these statuses
    #[arg(long, value_name = "STATUS", value_delimiter = ',', conflicts_with = "ids")]
    status: Vec<StatusFilter>,

    /// Maximum number of jobs to show
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusFilter {
    /// Waiting for a node
    Pending,
    /// Being scored
    Running,
    /// Scored
    Completed,
    /// Ended without a score
    Failed,
    /// Cancelled by a user
    Cancelled,
}

impl From<StatusFilter> for wire::JobStatus {
    fn from(status: StatusFilter) -> Self {
        match status {
            StatusFilter::Pending => Self::Pending,
            StatusFilter::Running => Self::Running,
            StatusFilter::Completed => Self::Completed,
            StatusFilter::Failed => Self::Failed,
            StatusFilter::Cancelled => Self::Cancelled,
        }
    }
}

pub(crate) fn status_numbers(statuses: &[StatusFilter]) -> Vec<i32> {
    statuses.iter().map(|status| wire::JobStatus::from(*status).into()).collect()
}

pub(crate) async fn run(args: &GetArgs) -> Result<Exit, Error> {
    match &args.target {
        GetTarget::Jobs(args) => jobs(args).await,
        GetTarget::Nodes(args) => nodes(args).await,
    }
}

async fn jobs(args: &JobsArgs) -> Result<Exit, Error> {
    let client = args.remote.client()?;
    let (jobs, more) = if args.ids.is_empty() {
        list(&client, args).await?
    } else {
        (get_by_id(&client, &args.ids).await?, false)
    };
    args.output.show(&view::job::documents(&jobs), |look, wide| {
        view::job::table(&jobs, look, wide, Timestamp::now())
    })?;
    if more {
        eprintln!("there are more jobs; raise --limit to see them");
    }
    Ok(Exit::Done)
}

async fn get_by_id(client: &Client, ids: &[String]) -> Result<Vec<wire::Job>, RemoteError> {
    let mut jobs = Vec::with_capacity(ids.len());
    for id in ids {
        let request = wire::GetJobRequest { job_id: id.clone() };
        jobs.push(client.clone().get_job(request).await?.into_inner());
    }
    Ok(jobs)
}

/// The newest jobs, and whether there are more.
async fn list(client: &Client, args: &JobsArgs) -> Result<(Vec<wire::Job>, bool), RemoteError> {
    let mut request = wire::ListJobsRequest {
        status_filter: status_numbers(&args.status),
        newest_first: true,
        ..wire::ListJobsRequest::default()
    };
    let mut jobs = Vec::new();
    loop {
        let left = u32::try_from(args.limit.saturating_sub(jobs.len())).unwrap_or(PAGE_SIZE);
        request.page_size = left.min(PAGE_SIZE);
        if request.page_size == 0 {
            return Ok((jobs, true));
        }
        let page = client.clone().list_jobs(request.clone()).await?.into_inner();
        jobs.extend(page.jobs);
        if page.next_page_token.is_empty() {
            return Ok((jobs, false));
        }
        request.page_token = page.next_page_token;
    }
}

async fn nodes(args: &NodesArgs) -> Result<Exit, Error> {
    let mut client = args.remote.client()?;
    let nodes =
        client.list_nodes(wire::ListNodesRequest {}).await.map_err(RemoteError::from)?.into_inner().nodes;
    let document = shape::NodeList { nodes: nodes.iter().map(view::node::document).collect() };
    args.output.show(&document, |look, wide| view::node::table(&nodes, look, wide, Timestamp::now()))?;
    Ok(Exit::Done)
}
