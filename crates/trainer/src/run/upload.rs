//! Uploads checkpoints to the registry, one at a time, and publishes the results.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use jiff::Timestamp;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use vmafx_oci::Digest;

use crate::checkpoint::{
    CheckpointRegistry, CheckpointSchedule, CheckpointSnapshot, LastCheckpoint, PushError, PushedCheckpoint,
    StableTagUpdate,
};
use crate::status::{CheckpointSummary, GateSummary, SharedStatus, TrainerMetrics};

const MAX_RETRY_DELAY: Duration = Duration::from_mins(5);

pub(super) enum UploadOutcome {
    Push {
        result: Result<PushedCheckpoint, PushError>,
        summary: SnapshotSummary,
        attempted: Vec<Digest>,
        took: Duration,
    },
    /// Only the stable tag was to be moved.
    Promote(Result<(), PushError>),
}

/// What is still needed of a snapshot after its upload.
pub(super) struct SnapshotSummary {
    samples: u64,
    created: Timestamp,
    gate: GateSummary,
}

/// A version to which the stable tag could not be moved yet.
struct PendingPromotion {
    digest: Digest,
    version: String,
    due: Instant,
}

pub(super) struct CheckpointUploader {
    registry: CheckpointRegistry,
    next_number: u64,
    parent: Option<Digest>,
    /// Manifests of failed attempts, which may have reached the registry although their responses were lost.
    attempted: Vec<Digest>,
    promotion: Option<PendingPromotion>,
    delays: ExponentialBackoff,
    status: SharedStatus,
    metrics: TrainerMetrics,
}

impl CheckpointUploader {
    pub(super) fn new(
        registry: CheckpointRegistry,
        next_number: u64,
        parent: Option<Digest>,
        status: SharedStatus,
        metrics: TrainerMetrics,
    ) -> Self {
        let (attempted, delays) = (Vec::new(), retry_delays());
        Self { registry, next_number, parent, attempted, promotion: None, delays, status, metrics }
    }

    pub(super) fn registry(&self) -> &CheckpointRegistry {
        &self.registry
    }

    /// One attempt to push a snapshot. `started` is when the snapshot was begun.
    pub(super) fn push(
        &self,
        snapshot: CheckpointSnapshot,
        started: Instant,
    ) -> impl Future<Output = UploadOutcome> + Send + 'static {
        let (registry, next_number, parent) = (self.registry.clone(), self.next_number, self.parent.clone());
        let mut attempted = self.attempted.clone();
        async move {
            let result = registry.push(&snapshot, next_number, parent, &mut attempted).await;
            let facts = snapshot.facts;
            let summary = SnapshotSummary {
                samples: facts.samples,
                created: facts.created,
                gate: GateSummary { passed: facts.gate_passed, message: facts.gate_message },
            };
            UploadOutcome::Push { result, summary, attempted, took: started.elapsed() }
        }
    }

    /// Starts to move the stable tag if that is pending and due. Returns the time at which a pending move becomes due.
    pub(super) fn promote_if_due(
        &mut self,
        uploads: &mut JoinSet<UploadOutcome>,
        schedule: &mut CheckpointSchedule,
        now: Instant,
    ) -> Option<Instant> {
        let PendingPromotion { digest, due, .. } = self.promotion.as_ref()?;
        if *due > now {
            return Some(*due);
        }
        let (registry, digest) = (self.registry.clone(), digest.clone());
        schedule.upload_started();
        uploads.spawn(async move { UploadOutcome::Promote(registry.promote(&digest).await) });
        None
    }

    pub(super) fn has_pending_promotion(&self) -> bool {
        self.promotion.is_some()
    }

    /// Makes a pending promotion due now and resets the retry delays.
    pub(super) fn retry_now(&mut self) {
        if let Some(promotion) = &mut self.promotion {
            promotion.due = Instant::now();
        }
        self.delays = retry_delays();
    }

    pub(super) fn handle(
        &mut self,
        outcome: Result<UploadOutcome, JoinError>,
        schedule: &mut CheckpointSchedule,
    ) {
        match outcome {
            Ok(UploadOutcome::Push { result: Ok(pushed), summary, took, .. }) => {
                self.pushed(pushed, summary, took, schedule);
            }
            Ok(UploadOutcome::Push { result: Err(error), attempted, .. }) => {
                self.attempted = attempted;
                self.failed(&error);
                schedule.push_failed(self.next_retry());
            }
            Ok(UploadOutcome::Promote(Ok(()))) => {
                schedule.promotion_ended();
                self.promoted();
            }
            Ok(UploadOutcome::Promote(Err(error))) => {
                schedule.promotion_ended();
                self.failed(&error);
                let due = self.next_retry();
                if let Some(promotion) = &mut self.promotion {
                    promotion.due = due;
                }
            }
            Err(error) => {
                tracing::error!(%error, "the upload of a checkpoint was aborted");
                schedule.push_failed(self.next_retry());
            }
        }
    }

    fn pushed(
        &mut self,
        pushed: PushedCheckpoint,
        summary: SnapshotSummary,
        took: Duration,
        schedule: &mut CheckpointSchedule,
    ) {
        let PushedCheckpoint { number, version, digest, conflicting_version, stable_tag } = pushed;
        let SnapshotSummary { samples, created, gate } = summary;
        tracing::info!(version, %digest, samples, ?took, ?stable_tag, "pushed a checkpoint");
        self.metrics.pushed(took);
        self.metrics.last_checkpoint(created);
        self.next_number = number.saturating_add(1);
        self.parent = Some(digest.clone());
        self.attempted.clear();
        self.delays = retry_delays();
        schedule.checkpoint_pushed(LastCheckpoint { at: Some(Instant::now()), samples });
        let notice = conflicting_version.map(|conflict| {
            format!(
                "another trainer pushed {conflict} under this run's name; this run continued with {version}"
            )
        });
        self.status.update(|status| {
            let (version, digest) = (version.clone(), digest.to_string());
            status.checkpoint = Some(CheckpointSummary { version, digest, created });
            status.gate = Some(gate);
            status.push_error.clear();
            status.notice = notice.unwrap_or_default();
        });
        match stable_tag {
            StableTagUpdate::NotPromoted => {}
            StableTagUpdate::Moved => {
                self.promotion = Some(PendingPromotion { digest, version, due: Instant::now() });
                self.promoted();
            }
            StableTagUpdate::Failed(error) => {
                self.failed(&error);
                let due = self.next_retry();
                self.promotion = Some(PendingPromotion { digest, version, due });
            }
        }
    }

    fn promoted(&mut self) {
        let Some(PendingPromotion { version, .. }) = self.promotion.take() else { return };
        self.status.update(|status| {
            status.stable_version = Some(version);
            status.push_error.clear();
        });
    }

    fn failed(&self, error: &PushError) {
        tracing::warn!(error = error as &dyn std::error::Error, "cannot upload to the registry");
        self.metrics.push_failed(error.reason);
        self.status.update(|status| status.push_error = error.to_string());
    }

    fn next_retry(&mut self) -> Instant {
        Instant::now() + self.delays.next().unwrap_or(MAX_RETRY_DELAY)
    }
}

fn retry_delays() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_secs(1))
        .with_max_delay(MAX_RETRY_DELAY)
        .without_max_times()
        .build()
}
