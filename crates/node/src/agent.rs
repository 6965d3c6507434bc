//! Pulls jobs into slots, has them scored, and reports their results.
//!
//! | module              | does                                                                                |
//! |---------------------|-------------------------------------------------------------------------------------|
//! | `session`           | registers, sends heartbeats, registers again when the controller ended the session  |
//! | `slot`              | pulls a job, has it scored, reports the result; one loop per slot                    |
//! | `reports`           | delivers finished results, however long the controller is away                      |
//! | `outbox`            | finished results on disk, until the controller has answered                          |
//! | `running_jobs`      | the jobs of this process, their progress, and how to stop them                      |
//! | `lost_pulls`        | the pulls whose answer was lost, which the controller takes back                    |
//! | `wire`              | pure: converts a job from the wire, and a result to it                              |
//! | `controller_client` | the calls to the controller, with their timeouts and retries                        |
//!
//! **A session is kept until the controller says that it is over.** A controller that does not answer may be restarting,
//! and keeps our leases for us; registering anew would give up jobs that no other node has taken.
//!
//! **Shutdown.** When it begins, no slot pulls any more. Jobs run on until the grace period is over; a job that is not
//! done by then is stopped and released, so that it is pending again at once and is not counted as lost. A result that could
//! not be delivered by then stays in the outbox for the next process. Heartbeats stop last: until then they renew the leases
//! of running jobs.

mod controller_client;
mod lost_pulls;
mod metrics;
mod outbox;
mod reports;
mod running_jobs;
mod session;
mod slot;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use vmafx_kit::channel::GrpcChannel;
use vmafx_kit::health::ReadinessGate;
use vmafx_kit::tasks::{BoxError, TaskSet};
use vmafx_proto::controller::v1::{NodeCapability, ResourceRef};

use self::controller_client::ControllerClient;
pub use self::metrics::NodeMetrics;
pub use self::outbox::{Outbox, OutboxError};
use self::reports::Reports;
use self::running_jobs::RunningJobs;
use self::session::{Session, SessionKeeper};
use crate::scorer::Scorer;
use crate::start::KernelGuard;

/// What a node registers as.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeIdentity {
    pub name: String,
    pub capability: NodeCapability,
    /// The VmafxNode that the process belongs to.
    pub resource: Option<ResourceRef>,
    /// Tenants whose jobs the node runs besides those of its own tenant; `*`: all that the administrator permits.
    pub serves: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentTimeouts {
    /// Maximum interval between two heartbeats.
    pub heartbeat_interval: Duration,
    /// How long a pull waits for a job at the controller.
    pub pull_wait: Duration,
    /// Timeout of any other call.
    pub call: Duration,
    /// Grace period of running jobs at shutdown.
    pub shutdown_grace: Duration,
}

/// Adds the agent to the tasks of a process. Searches the outbox, which blocks for a moment.
pub fn run(
    tasks: &mut TaskSet,
    channel: &GrpcChannel,
    (identity, kernels): (NodeIdentity, KernelGuard),
    timeouts: AgentTimeouts,
    (scorer, outbox): (Scorer, Outbox),
    metrics: &NodeMetrics,
    registered: ReadinessGate,
) {
    let slots = identity.capability.concurrency;
    let backends = identity.capability.backends.clone();
    let serves = identity.serves.clone();
    let controller = ControllerClient::new(channel, timeouts);
    let jobs = RunningJobs::default();
    let reports = Reports::open(controller.clone(), outbox, metrics.reports_pending.clone());
    let (sender, session) = watch::channel(None::<Session>);
    let scorer = Arc::new(scorer);
    let shutdown = tasks.shutdown();
    let keeper = SessionKeeper {
        controller: controller.clone(),
        identity,
        timeouts,
        jobs: jobs.clone(),
        reports: reports.clone(),
        session: sender,
        registered,
    };
    // Services stop before support tasks, so heartbeats go on while slots finish their jobs.
    tasks.support("session", |last| keeper.run(last));
    let retries = reports.clone();
    tasks.support("reports", |last| retries.run(last));
    for number in 0..slots {
        let slot = slot::Slot {
            controller: controller.clone(),
            session: session.clone(),
            backends: backends.clone(),
            slots,
            serves: serves.clone(),
            jobs: jobs.clone(),
            reports: reports.clone(),
            scorer: scorer.clone(),
            metrics: metrics.clone(),
            kernels: kernels.clone(),
            shutdown_grace: timeouts.shutdown_grace,
        };
        let shutdown = shutdown.clone();
        tasks.service(format!("slot-{number}"), async move {
            Box::pin(slot.run(shutdown)).await;
            Ok::<_, BoxError>(())
        });
    }
}
