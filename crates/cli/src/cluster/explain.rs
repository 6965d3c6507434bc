//! `explain`: why a job is where it is, and what to do next.

mod advice;
mod events;
mod pods;
mod story;

use clap::Args;
use jiff::Timestamp;
use kube::core::DynamicObject;
use vmafx_proto::controller::v1 as wire;

pub(super) use self::pods::of_job;
use self::story::Story;
use super::job::Job;
use super::kind::{Kind, job_name};
use super::output::FormatArgs;
use super::reach::ReachArgs;
use super::select;
use crate::remote::RemoteArgs;
use crate::{Error, Exit};

const ASK: &str = "the controller can say who is ahead: kubectl port-forward -n vmafx-system \
                   service/vmafx-controller 9090, and set VMAFX_CONTROLLER_ADDR=localhost:9090";

/// Say why a job is where it is, and what to do next.
///
/// Read from the resource, its events and, for jobs that run in a Pod, its Pods. For a job that waits in the queue the
/// controller is asked too, if `VMAFX_CONTROLLER_ADDR` names it: who is ahead, and which nodes could take it.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx explain trailer-1080p
  kubectl vmafx explain trailer-1080p -o json | jq -r .reason
  kubectl port-forward service/vmafx-controller 9090 &
  VMAFX_CONTROLLER_ADDR=localhost:9090 kubectl vmafx explain trailer-1080p")]
pub(super) struct ExplainArgs {
    /// The job
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: &ExplainArgs, reach: &ReachArgs) -> Result<Exit, Error> {
    let cluster = reach.connect().await?;
    let found = select::named(&cluster, Kind::Job, &[job_name(&args.name)]).await?;
    let Some(object) = found.first() else { return Ok(Exit::Failed) };
    let job = Job(object);
    // What cannot be read does not hide the rest.
    let mut notes = Vec::new();
    let pods = if job.in_pods() { noted(pods::read(&cluster, job).await, &mut notes) } else { Vec::new() };
    let events = noted(events::read(&cluster, object, &pods).await, &mut notes);
    let live = live(args, object, &mut notes).await;
    let story = Story::new(object, &pods, &events, live.as_ref(), notes);
    args.format.tell(
        &story,
        || Kind::Job.full_name(object),
        |look| story.text(live.as_ref(), look, Timestamp::now()),
    )?;
    Ok(Exit::Done)
}

fn noted<T>(read: Result<Vec<T>, super::KubeError>, notes: &mut Vec<String>) -> Vec<T> {
    read.unwrap_or_else(|error| {
        notes.push(error.to_string());
        Vec::new()
    })
}

/// The controller's own words on a job that waits, if it can be asked.
async fn live(
    args: &ExplainArgs,
    object: &DynamicObject,
    notes: &mut Vec<String>,
) -> Option<wire::ExplainResponse> {
    let job = Job(object);
    let id = job.text("/status/controllerJobID");
    if job.in_pods() || job.is_over() || id.is_empty() {
        return None;
    }
    if args.remote.controller_addr.is_none() {
        if job.phase() == "Pending" {
            notes.push(ASK.to_owned());
        }
        return None;
    }
    let asked = async {
        let mut client = args.remote.client()?;
        let asked = wire::ExplainRequest { job_id: id.to_owned() };
        Ok::<_, crate::remote::RemoteError>(client.explain(asked).await?.into_inner())
    };
    match asked.await {
        Ok(why) => Some(why),
        Err(error) => {
            notes.push(format!("the controller could not be asked: {error}"));
            None
        }
    }
}
