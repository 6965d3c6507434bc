//! Learns from samples as they arrive, and takes checkpoints meanwhile.
//!
//! A single task owns the model. It takes a snapshot between two samples, so the snapshot contains exactly the
//! samples up to its cursor. Another task pushes the snapshot while learning continues.

use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use vmafx_kit::health::ReadinessGate;
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::start::{StartingPoint, StartingPointFinder};
use super::upload::{CheckpointUploader, UploadOutcome};
use crate::checkpoint::{
    CheckpointDecision, CheckpointPolicy, CheckpointSchedule, CheckpointSnapshot, TrainerState,
};
use crate::learner::GateLimits;
use crate::source::{StreamItem, StreamPosition};
use crate::status::{SharedStatus, TrainerMetrics, TrainerPhase};

/// Samples that are learned before other tasks of the runtime get a turn.
const BATCH_SIZE: usize = 256;

const EVALUATION_INTERVAL: Duration = Duration::from_secs(1);

/// A trainer whose starting point is not known yet.
pub(super) struct Trainer {
    pub(super) finder: StartingPointFinder,
    pub(super) policy: CheckpointPolicy,
    pub(super) limits: GateLimits,
    pub(super) graceful_shutdown: Duration,
    /// Readiness gate that opens when training starts.
    pub(super) learning: ReadinessGate,
    pub(super) status: SharedStatus,
    pub(super) metrics: TrainerMetrics,
}

/// The connection to the task that reads samples.
pub(super) struct SampleInput {
    /// Tells the task where to start.
    pub(super) position: oneshot::Sender<StreamPosition>,
    pub(super) items: mpsc::Receiver<StreamItem>,
}

impl Trainer {
    pub(super) async fn run(self, input: SampleInput, shutdown: Shutdown) -> Result<(), BoxError> {
        let finding = self.finder.run(&self.status, &self.learning);
        let Some(start) = Box::pin(shutdown.run_until_begun(finding)).await else { return Ok(()) };
        let SampleInput { position, mut items } = input;
        // This fails only if the process is already shutting down.
        let _ = position.send(start.position.clone());
        self.learning.open();
        let mut run = TrainingRun::new(self, start);
        run.learn(&mut items, &shutdown).await;
        drop(items);
        run.shut_down().await;
        Ok(())
    }
}

pub(super) struct TrainingRun {
    pub(super) uploader: CheckpointUploader,
    pub(super) schedule: CheckpointSchedule,
    /// At most one task, which pushes a snapshot or moves the stable tag.
    pub(super) uploads: JoinSet<UploadOutcome>,
    pub(super) status: SharedStatus,
    pub(super) graceful_shutdown: Duration,
    metrics: TrainerMetrics,
    limits: GateLimits,
    /// The starting point, whose learner and position advance with each sample.
    current: StartingPoint,
    /// Number of samples in the published evaluation.
    evaluated_samples: Option<u64>,
}

impl TrainingRun {
    fn new(trainer: Trainer, start: StartingPoint) -> Self {
        let Trainer { finder, policy, limits, graceful_shutdown, status, metrics, .. } = trainer;
        let (next_number, parent) = (start.next_number, start.parent.clone());
        let uploader =
            CheckpointUploader::new(finder.registry, next_number, parent, status.clone(), metrics.clone());
        if let Some(at) = status.read(|status| status.checkpoint.as_ref().map(|latest| latest.created)) {
            metrics.last_checkpoint(at);
        }
        let mut run = Self {
            uploader,
            schedule: CheckpointSchedule::new(policy, start.last),
            uploads: JoinSet::new(),
            status,
            graceful_shutdown,
            metrics,
            limits,
            current: start,
            evaluated_samples: None,
        };
        run.publish_evaluation();
        run.publish_counts();
        // The phase changes last, so that a reader who sees `running` also sees the other values.
        run.status.update(|status| {
            status.phase = TrainerPhase::Running;
            status.start_error.clear();
            status.push_error.clear();
        });
        run
    }

    async fn learn(&mut self, items: &mut mpsc::Receiver<StreamItem>, shutdown: &Shutdown) {
        let mut batch = Vec::with_capacity(BATCH_SIZE);
        let mut evaluation_timer = tokio::time::interval(EVALUATION_INTERVAL);
        evaluation_timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stream_open = true;
        while !shutdown.has_begun() {
            let due = self.upload_if_due();
            tokio::select! {
                () = shutdown.begun() => {}
                Some(outcome) = self.uploads.join_next() => self.upload_ended(outcome),
                () = sleep_until(due) => {}
                _ = evaluation_timer.tick() => self.publish_evaluation(),
                count = items.recv_many(&mut batch, BATCH_SIZE), if stream_open => {
                    stream_open = count > 0;
                    self.learn_batch(&mut batch);
                    tokio::task::yield_now().await;
                }
            }
        }
        self.publish_evaluation();
    }

    /// The position advances past each sample, whether it was accepted or refused.
    fn learn_batch(&mut self, batch: &mut Vec<StreamItem>) {
        for item in batch.drain(..) {
            let Some(sample) = self.current.position.advance(item) else { continue };
            match self.current.learner.learn(&sample) {
                Ok(_) => self.metrics.learned(),
                Err(refusal) => {
                    tracing::debug!(job_id = sample.job_id, %refusal, "a sample was refused");
                    self.metrics.refused(refusal.reason());
                }
            }
        }
        self.publish_counts();
    }

    /// Starts an upload if one is due; otherwise returns the time at which one is, if that is known.
    fn upload_if_due(&mut self) -> Option<Instant> {
        if self.schedule.is_uploading() {
            return None;
        }
        let now = Instant::now();
        match self.schedule.decide(self.samples(), now) {
            CheckpointDecision::Take => self.upload(),
            CheckpointDecision::At(due) => return Some(due),
            CheckpointDecision::Wait => {
                return self.uploader.promote_if_due(&mut self.uploads, &mut self.schedule, now);
            }
        }
        None
    }

    /// Takes a snapshot and starts its upload.
    pub(super) fn upload(&mut self) {
        let started = Instant::now();
        let snapshot = self.snapshot(Timestamp::now());
        self.publish_evaluation();
        self.schedule.upload_started();
        self.uploads.spawn(self.uploader.push(snapshot, started));
    }

    pub(super) fn upload_ended(&mut self, outcome: Result<UploadOutcome, JoinError>) {
        self.uploader.handle(outcome, &mut self.schedule);
        self.publish_counts();
    }

    fn snapshot(&self, now: Timestamp) -> CheckpointSnapshot {
        let StartingPoint { learner, base, metadata, position, .. } = &self.current;
        let verdict = learner.gate(&self.limits);
        let state = TrainerState {
            cursor: position.cursor.clone(),
            fingerprints: position.fingerprints.clone(),
            base_model: metadata.base_model.clone(),
            base: base.clone(),
            learner: learner.state(),
        };
        CheckpointSnapshot {
            facts: metadata.facts(self.uploader.registry(), learner, &verdict, &position.cursor, now),
            model: learner.export().into(),
            state: state.to_bytes().into(),
        }
    }

    pub(super) fn samples(&self) -> u64 {
        self.current.learner.samples()
    }

    fn publish_counts(&self) {
        let samples = self.samples();
        let pending = self.schedule.pending(samples);
        self.metrics.pending(pending);
        self.status.update(|status| (status.samples, status.pending) = (samples, pending));
    }

    fn publish_evaluation(&mut self) {
        let samples = self.samples();
        if self.evaluated_samples != Some(samples) {
            self.evaluated_samples = Some(samples);
            let evaluation = self.current.learner.evaluation();
            let labellers = self.current.learner.labellers();
            self.metrics.labellers(labellers);
            let before = self.status.read(|status| status.labellers);
            if labellers.capped && !before.capped {
                tracing::warn!(
                    labellers = labellers.labellers,
                    share = labellers.largest_share,
                    "one labeller gave more than a third of the recent labels, which therefore count less"
                );
            }
            self.status.update(|status| {
                status.evaluation = Some(evaluation);
                status.labellers = labellers;
            });
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
