//! `vmafx explain`: why a job is waiting.

use std::fmt::Write as _;

use clap::Args;
use comfy_table::Cell;
use jiff::Timestamp;
use vmafx_controller::http::shape;
use vmafx_proto::controller::v1 as wire;

use crate::output::OutputArgs;
use crate::remote::{RemoteArgs, RemoteError};
use crate::terminal::Look;
use crate::{Error, Exit, view};

/// Explain why a job is waiting: the jobs ahead of it, the nodes that could run it, and when it is retried.
#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// Id of the job
    #[arg(value_name = "JOB")]
    id: String,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(crate) async fn run(args: &ExplainArgs) -> Result<Exit, Error> {
    let client = args.remote.client()?;
    let job_id = args.id.clone();
    let job = client.clone().get_job(wire::GetJobRequest { job_id: job_id.clone() }).await;
    let job = job.map_err(RemoteError::from)?.into_inner();
    let why = client.clone().explain(wire::ExplainRequest { job_id }).await;
    let why = why.map_err(RemoteError::from)?.into_inner();
    args.output.show(&document(&why), |look, _| text(&job, &why, look, Timestamp::now()))?;
    Ok(Exit::Done)
}

/// The JSON document, the same as that of the controller's HTTP API.
pub(crate) fn document(why: &wire::ExplainResponse) -> shape::Explanation {
    let supply = |supply: &wire::BackendSupply| shape::BackendSupply {
        backend: supply.backend.clone(),
        nodes: supply.nodes,
        slots: supply.slots,
        busy: supply.busy,
    };
    shape::Explanation {
        reason: match why.reason() {
            wire::WaitReason::Unspecified => "None",
            wire::WaitReason::NoNode => "NoNode",
            wire::WaitReason::NoBackend => "NoBackend",
            wire::WaitReason::BackingOff => "BackingOff",
            wire::WaitReason::Busy => "Busy",
            wire::WaitReason::Ready => "Ready",
            wire::WaitReason::Quarantined => "Quarantined",
            wire::WaitReason::TenantLimit => "TenantLimit",
        }
        .to_owned(),
        message: why.message.clone(),
        ahead_by_priority: why.ahead_by_priority,
        ahead_by_age: why.ahead_by_age,
        backends: why.backends.iter().map(supply).collect(),
        next_eligible_at: view::job::instant(why.next_eligible_at_ms),
    }
}

fn text(job: &wire::Job, why: &wire::ExplainResponse, look: Look, now: Timestamp) -> String {
    let table = view::job::table(std::slice::from_ref(job), look, false, now);
    format!("{table}\n{}", details(why, look))
}

/// The controller's message, the number of jobs ahead, and the capacity per backend.
pub(crate) fn details(why: &wire::ExplainResponse, look: Look) -> String {
    let mut text = format!("{}\n", why.message);
    let ahead = why.ahead_by_priority + why.ahead_by_age;
    if ahead > 0 {
        let _ = writeln!(
            text,
            "Jobs ahead: {} with a higher priority, {} older ones.",
            why.ahead_by_priority, why.ahead_by_age
        );
    }
    if !why.backends.is_empty() {
        let mut table = look.table(&["Backend", "Nodes", "Slots", "Busy"], 1);
        for supply in &why.backends {
            table.add_row([
                Cell::new(&supply.backend),
                Cell::new(supply.nodes),
                Cell::new(supply.slots),
                Cell::new(supply.busy),
            ]);
        }
        let _ = write!(text, "\n{}\n", table.trim_fmt());
    }
    text
}
