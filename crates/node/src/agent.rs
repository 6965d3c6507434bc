//! Pulls jobs into slots, has them scored, and reports.
//!
//! | module    | does                                                                                          |
//! |-----------|-----------------------------------------------------------------------------------------------|
//! | `session` | registers, sends heartbeats, registers again when the controller has forgotten us             |
//! | `slot`    | pulls a job, has it scored, says how it ended; one loop per slot                               |
//! | `score`   | one job: inputs, model, worker, report                                                        |
//! | `board`   | what runs, how far it is, and how to end it                                                   |
//! | `wire`    | pure: a job off the wire, a result onto it                                                    |
//! | `calls`   | the calls to the controller, with their patience                                              |
//!
//! **A session is kept until the controller says that it is over.** A controller that does not answer may be restarting,
//! and keeps our leases for us; registering anew would give up jobs that nobody else has taken.
//!
//! **Leaving.** When shutdown begins, no slot pulls any more. Jobs go on until the grace is over; what is not done then
//! is ended and released, so that it waits again at once and is not counted as lost. Heartbeats stop last: until then
//! the leases of what runs are kept.

mod board;
mod calls;
mod metrics;
mod score;
mod session;
mod slot;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use vmafx_kit::channel::GrpcChannel;
use vmafx_kit::health::ReadinessGate;
use vmafx_kit::tasks::{BoxError, TaskSet};

use self::board::Board;
use self::calls::Controller;
pub use self::metrics::{Backend, Maker, NodeMetrics};
pub use self::score::{Scored, Scorer, Scoring};
use self::session::Registered;

/// Who this node is, as it registers.
#[derive(Clone, Debug, PartialEq)]
pub struct Who {
    /// Name of the process.
    pub name: String,
    /// What it can do.
    pub capability: vmafx_proto::controller::v1::NodeCapability,
    /// The VmafxNode it belongs to.
    pub resource: Option<vmafx_proto::controller::v1::ResourceRef>,
}

/// How patient it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Between two heartbeats, at most.
    pub heartbeat: Duration,
    /// How long a pull waits for work.
    pub pull: Duration,
    /// For any other call.
    pub call: Duration,
    /// For jobs that run when shutdown begins.
    pub grace: Duration,
}

/// Adds the agent to the tasks of a process.
pub fn run(
    tasks: &mut TaskSet,
    channel: &GrpcChannel,
    who: Who,
    patience: Patience,
    scorer: Scorer,
    metrics: &NodeMetrics,
    registered: ReadinessGate,
) {
    let slots = who.capability.concurrency;
    let backends = who.capability.backends.clone();
    let controller = Controller::new(channel, patience);
    let board = Board::default();
    let (sender, session) = watch::channel(None::<Registered>);
    let scorer = Arc::new(scorer);
    let leaving = tasks.shutdown();
    let keeper = session::Keeper {
        controller: controller.clone(),
        who,
        patience,
        board: board.clone(),
        session: sender,
        registered,
    };
    // Slots are services and end first; the session is their support.
    tasks.support("session", |last| keeper.run(last));
    for number in 0..slots {
        let slot = slot::Slot {
            controller: controller.clone(),
            session: session.clone(),
            backends: backends.clone(),
            slots,
            board: board.clone(),
            scorer: scorer.clone(),
            metrics: metrics.clone(),
            grace: patience.grace,
        };
        let leaving = leaving.clone();
        tasks.service(format!("slot-{number}"), async move {
            slot.run(leaving).await;
            Ok::<_, BoxError>(())
        });
    }
}
