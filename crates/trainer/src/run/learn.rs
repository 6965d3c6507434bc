//! Learns from samples as they come, and takes checkpoints on the way.
//!
//! One task learns; nothing else touches the model. A snapshot is taken between two samples, so it holds what was learned
//! up to a cursor and nothing behind it; it is pushed by a task of its own while learning goes on.

use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use vmafx_kit::health::Gate;
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::prepare::{Beginning, Preparation};
use super::send::{Outcome, Sender};
use crate::checkpoint::{Decision, Policy, Saved, Schedule, Snapshot};
use crate::learner::GateLimits;
use crate::source::{Place, Streamed};
use crate::status::{Board, Phase, TrainerMetrics};

/// Samples that are learned before others get their turn.
const AT_ONCE: usize = 256;

/// How often it is worked out how good the model is.
const EVALUATE: Duration = Duration::from_secs(1);

/// A trainer before it knows where to begin.
pub(super) struct Trainer {
    pub(super) preparation: Preparation,
    pub(super) policy: Policy,
    pub(super) limits: GateLimits,
    pub(super) grace: Duration,
    pub(super) learning: Gate,
    pub(super) board: Board,
    pub(super) metrics: TrainerMetrics,
}

/// Where samples come from.
pub(super) struct Inputs {
    /// Tells the stream where to begin.
    pub(super) begin: oneshot::Sender<Place>,
    pub(super) streamed: mpsc::Receiver<Streamed>,
}

impl Trainer {
    pub(super) async fn run(self, inputs: Inputs, shutdown: Shutdown) -> Result<(), BoxError> {
        let preparing = self.preparation.run(&self.board, &self.learning);
        let Some(beginning) = Box::pin(shutdown.cuts(preparing)).await else { return Ok(()) };
        let Inputs { begin, mut streamed } = inputs;
        // The receiver is gone only if the process is already shutting down.
        let _ = begin.send(beginning.place.clone());
        self.learning.open();
        let mut course = Course::new(self, beginning);
        course.learn(&mut streamed, &shutdown).await;
        drop(streamed);
        course.leave().await;
        Ok(())
    }
}

/// A run that learns.
pub(super) struct Course {
    pub(super) sender: Sender,
    pub(super) schedule: Schedule,
    pub(super) sending: JoinSet<Outcome>,
    pub(super) board: Board,
    pub(super) grace: Duration,
    metrics: TrainerMetrics,
    limits: GateLimits,
    run: Beginning,
    evaluated: Option<u64>,
}

impl Course {
    fn new(trainer: Trainer, run: Beginning) -> Self {
        let Trainer { preparation, policy, limits, grace, board, metrics, .. } = trainer;
        let sender =
            Sender::new(preparation.registry, run.next, run.parent.clone(), board.clone(), metrics.clone());
        let schedule = Schedule::new(policy, run.last);
        if let Some(at) = board.read(|status| status.checkpoint.as_ref().map(|written| written.at)) {
            metrics.last_checkpoint(at);
        }
        let sending = JoinSet::new();
        let mut course =
            Self { sender, schedule, sending, board, grace, metrics, limits, run, evaluated: None };
        course.evaluate();
        course.told();
        // Last: whoever sees that it runs sees how far it has come, too.
        course.board.update(|status| {
            status.phase = Phase::Running;
            status.start_error.clear();
            status.push_error.clear();
        });
        course
    }

    async fn learn(&mut self, streamed: &mut mpsc::Receiver<Streamed>, shutdown: &Shutdown) {
        let mut batch = Vec::with_capacity(AT_ONCE);
        let mut evaluating = tokio::time::interval(EVALUATE);
        evaluating.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stream_open = true;
        while !shutdown.has_begun() {
            let due = self.send_if_due();
            tokio::select! {
                () = shutdown.begun() => {}
                Some(outcome) = self.sending.join_next() => self.sent(outcome),
                () = sleep_until(due) => {}
                _ = evaluating.tick() => self.evaluate(),
                count = streamed.recv_many(&mut batch, AT_ONCE), if stream_open => {
                    stream_open = count > 0;
                    self.take(&mut batch);
                    tokio::task::yield_now().await;
                }
            }
        }
        self.evaluate();
    }

    /// Learns from items of the stream. Whatever becomes of one, the place is behind it.
    fn take(&mut self, batch: &mut Vec<Streamed>) {
        for Streamed { cursor, sample } in batch.drain(..) {
            if let Some(sample) = sample {
                match self.run.learner.learn(&sample) {
                    Ok(_) => self.metrics.learned(),
                    Err(refusal) => {
                        tracing::debug!(job_id = sample.job_id, %refusal, "a sample was refused");
                        self.metrics.refused(refusal.kind());
                    }
                }
                self.run.place.marks.add(&sample);
            }
            self.run.place.cursor = cursor;
        }
        self.told();
    }

    /// Sends a checkpoint if one is due; when to look again.
    fn send_if_due(&mut self) -> Option<Instant> {
        if self.schedule.is_sending() {
            return None;
        }
        let now = Instant::now();
        match self.schedule.decide(self.run.learner.samples(), now) {
            Decision::Take => self.send(),
            Decision::At(due) => return Some(due),
            Decision::Wait => return self.sender.promote_if_due(&mut self.sending, &mut self.schedule, now),
        }
        None
    }

    /// Takes a snapshot and sends it on its way.
    pub(super) fn send(&mut self) {
        let begun = Instant::now();
        let snapshot = self.snapshot(Timestamp::now());
        self.evaluate();
        self.schedule.sent();
        self.sending.spawn(self.sender.push(snapshot, begun));
    }

    /// One is there, or is not.
    pub(super) fn sent(&mut self, outcome: Result<Outcome, tokio::task::JoinError>) {
        self.sender.ended(outcome, &mut self.schedule);
        self.told();
    }

    fn snapshot(&self, now: Timestamp) -> Snapshot {
        let Beginning { learner, base, about, place, .. } = &self.run;
        let verdict = learner.gate(&self.limits);
        let state = Saved {
            cursor: place.cursor.clone(),
            marks: place.marks.clone(),
            base_model: about.base_model.clone(),
            base: base.clone(),
            learner: learner.state(),
        };
        Snapshot {
            facts: about.facts(self.sender.registry(), learner, &verdict, &place.cursor, now),
            model: learner.export().into(),
            state: state.to_bytes().into(),
        }
    }

    pub(super) fn samples(&self) -> u64 {
        self.run.learner.samples()
    }

    fn told(&self) {
        let samples = self.samples();
        let pending = self.schedule.pending(samples);
        self.metrics.pending(pending);
        self.board.update(|status| (status.samples, status.pending) = (samples, pending));
    }

    fn evaluate(&mut self) {
        let samples = self.samples();
        if self.evaluated != Some(samples) {
            self.evaluated = Some(samples);
            let evaluation = self.run.learner.evaluation();
            self.board.update(|status| status.evaluation = Some(evaluation));
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
