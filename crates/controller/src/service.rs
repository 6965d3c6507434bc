//! Every operation of the controller, in the words of the domain: gRPC and HTTP are two ways to say the same.
//!
//! | operation                             | where                | who calls (the gate checks it before)  |
//! |---------------------------------------|----------------------|----------------------------------------|
//! | submit                                | `service/submit.rs`  | writer, admin                          |
//! | job, attempts, jobs, explain, nodes   | `service/read.rs`    | reader, writer, admin                  |
//! | cancel, label                         | `service/change.rs`  | writer, admin                          |
//! | snapshot, watch                       | `service/watch.rs`   | reader, writer, admin                  |
//! | samples                               | `service/samples.rs` | reader, writer, admin                  |
//! | `score_and_wait`                      | `service/score.rs`   | writer, admin                          |
//! | register, heartbeat                   | `service/session.rs` | node                                   |
//! | pull, report, release                 | `service/work.rs`    | node                                   |
//!
//! Each takes the caller and a plain request, and answers or refuses. What is wrong with a request is found here
//! ([`check`]), before anything is stored. A job of another tenant is no job: see ADR 0010.

pub mod answer;
mod change;
pub mod check;
mod errands;
mod explain;
mod read;
pub mod request;
mod roots;
mod samples;
mod score;
mod session;
mod submit;
mod watch;
mod work;

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use vmafx_kit::tasks::Shutdown;
use vmafx_queue::Store;
use vmafx_queue::clock::Clock;
use vmafx_queue::policy::Policy;

use self::errands::Errands;
pub use self::roots::{NoRoots, Roots};
pub use self::work::Delivery;
use crate::dispatch::Dispatch;
use crate::live::Live;
use crate::metrics::ControllerMetrics;
use crate::refusal::Refusal;

/// Items of an answer that goes on. Nothing is read before it is asked for: a reader that is slow holds one page.
pub type Items<T> = BoxStream<'static, Result<T, Refusal>>;

/// What a service is made of.
pub struct Parts {
    /// The queue.
    pub store: Arc<dyn Store>,
    /// The queue's time.
    pub clock: Arc<dyn Clock>,
    /// Where clips may lie.
    pub roots: Arc<dyn Roots>,
    /// Counts what happens.
    pub metrics: ControllerMetrics,
    /// How patient the queue is.
    pub policy: Policy,
    /// How patient the service is.
    pub patience: Patience,
    /// Ends waiting calls when it begins.
    pub shutdown: Shutdown,
}

/// How patient the service is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The longest a pull waits for work.
    pub longest_pull: Duration,
    /// How long somebody may wait for a score; the job fails afterwards.
    pub longest_score: Duration,
    /// A stream without anything to say says so this often.
    pub bookmark: Duration,
    /// Changes within this time are sent together.
    pub gather: Duration,
    /// Streams that may be open at once.
    pub streams: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            longest_pull: Duration::from_secs(30),
            longest_score: Duration::from_mins(30),
            bookmark: Duration::from_secs(10),
            gather: Duration::from_millis(20),
            streams: 1024,
        }
    }
}

/// The controller's operations. Clones are the same service.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    roots: Arc<dyn Roots>,
    metrics: ControllerMetrics,
    policy: Policy,
    patience: Patience,
    shutdown: Shutdown,
    dispatch: Dispatch,
    live: Live,
    errands: Errands,
}

impl Service {
    /// Puts the parts together. Waiting calls are woken by `background`.
    pub fn new(parts: Parts) -> Self {
        let Parts { store, clock, roots, metrics, policy, patience, shutdown } = parts;
        let dispatch = Dispatch::new(clock.clone());
        let live = Live::new(patience.streams);
        let errands = Errands::default();
        Self(Arc::new(Inner {
            store,
            clock,
            roots,
            metrics,
            policy,
            patience,
            shutdown,
            dispatch,
            live,
            errands,
        }))
    }

    /// The queue.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// What is counted.
    pub fn metrics(&self) -> &ControllerMetrics {
        &self.0.metrics
    }

    /// How patient the queue is.
    pub fn policy(&self) -> &Policy {
        &self.0.policy
    }

    pub(crate) fn dispatch(&self) -> &Dispatch {
        &self.0.dispatch
    }

    pub(crate) fn live(&self) -> &Live {
        &self.0.live
    }

    /// Waits for what calls left behind when their callers went away: jobs to give back or to cancel. Called after
    /// the last call and before the store is closed.
    pub async fn finish(&self) {
        self.0.errands.finish().await;
    }
}

/// What waiting calls answer at shutdown.
fn shutting_down() -> Refusal {
    Refusal::Unavailable("the controller is shutting down".to_owned())
}
