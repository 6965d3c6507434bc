//! `explain`: why a job is in its state, and what to do next.

mod advice;
mod events;
mod explanation;
mod pods;

use clap::Args;
use jiff::Timestamp;
use kube::core::DynamicObject;
use vmafx_proto::controller::v1 as wire;

use self::explanation::JobExplanation;
pub(super) use self::pods::pods_of_job;
use super::connection::ConnectionArgs;
use super::job::JobView;
use super::kind::{ResourceKind, job_name};
use super::output::FormatArgs;
use super::select;
use crate::remote::RemoteArgs;
use crate::{Error, Exit};

const CONTROLLER_HINT: &str = "the controller knows the jobs ahead of this one; to ask it, run kubectl port-forward -n \
                               vmafx-system service/vmafx-controller 9090 and set VMAFX_CONTROLLER_ADDR=localhost:9090, \
                               VMAFX_CONTROLLER_TLS=true and VMAFX_CONTROLLER_CA_FILE";

/// Explain why a job is in its state, and what to do next.
///
/// The explanation is based on the resource, its events and, for a job with its own Pods, the Pods. If
/// `VMAFX_CONTROLLER_ADDR` is set, the controller adds the jobs ahead of a waiting job and the nodes that could run it.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx explain trailer-1080p
  kubectl vmafx explain trailer-1080p -o json | jq -r .reason
  kubectl get configmap vmafx-controller-ca -o jsonpath='{.data.ca\\.crt}' > ca.crt
  kubectl port-forward service/vmafx-controller 9090 &
  export VMAFX_CONTROLLER_ADDR=localhost:9090 VMAFX_CONTROLLER_TLS=true VMAFX_CONTROLLER_CA_FILE=ca.crt
  kubectl vmafx explain trailer-1080p")]
pub(super) struct ExplainArgs {
    /// Name of the job
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: &ExplainArgs, connection: &ConnectionArgs) -> Result<Exit, Error> {
    let cluster = connection.connect().await?;
    let jobs = select::get_by_name(&cluster, ResourceKind::Job, &[job_name(&args.name)]).await?;
    let Some(object) = jobs.first() else { return Ok(Exit::Failed) };
    let job = JobView(object);
    // A source that cannot be read becomes a note, so that the rest is still shown.
    let mut notes = Vec::new();
    let pods = if job.runs_in_own_pods() {
        or_note(pods::read(&cluster, job).await, &mut notes)
    } else {
        Vec::new()
    };
    let events = or_note(events::read(&cluster, object, &pods).await, &mut notes);
    let controller = ask_controller(args, object, &mut notes).await;
    let explanation = JobExplanation::new(object, &pods, &events, controller.as_ref(), notes);
    args.format.show_document(
        &explanation,
        || ResourceKind::Job.full_name(object),
        |look| explanation.text(controller.as_ref(), look, Timestamp::now()),
    )?;
    Ok(Exit::Done)
}

fn or_note<T>(read: Result<Vec<T>, super::KubeError>, notes: &mut Vec<String>) -> Vec<T> {
    read.unwrap_or_else(|error| {
        notes.push(error.to_string());
        Vec::new()
    })
}

/// The controller's explanation of a waiting job, if its address is set.
async fn ask_controller(
    args: &ExplainArgs,
    object: &DynamicObject,
    notes: &mut Vec<String>,
) -> Option<wire::ExplainResponse> {
    let job = JobView(object);
    let id = job.text("/status/controllerJobID");
    if job.runs_in_own_pods() || job.has_ended() || id.is_empty() {
        return None;
    }
    if args.remote.controller_addr.is_none() {
        if job.phase() == "Pending" {
            notes.push(CONTROLLER_HINT.to_owned());
        }
        return None;
    }
    let response = async {
        let mut client = args.remote.client()?;
        let request = wire::ExplainRequest { job_id: id.to_owned() };
        Ok::<_, crate::remote::RemoteError>(client.explain(request).await?.into_inner())
    };
    match response.await {
        Ok(response) => Some(response),
        Err(error) => {
            notes.push(format!("the controller could not be asked: {error}"));
            None
        }
    }
}
