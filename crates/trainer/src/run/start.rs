//! Finds the starting point of a run: its latest checkpoint, or the base model.

use std::path::PathBuf;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use jiff::Timestamp;
use tokio::time::Instant;
use vmafx_kit::causes::chain;
use vmafx_kit::health::ReadinessGate;
use vmafx_oci::Digest;

use crate::base_model::{self, BaseModelError};
use crate::checkpoint::{
    CheckpointHistory, CheckpointRegistry, HistoryError, LastCheckpoint, RestoredCheckpoint, RunMetadata,
    TrainerState,
};
use crate::learner::{BaseModel, Learner, LearnerError, LearnerOptions, ModelError};
use crate::source::StreamPosition;
use crate::status::{CheckpointSummary, GateSummary, SharedStatus, TrainerPhase};

const MAX_RETRY_DELAY: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct StartingPointFinder {
    pub(super) registry: CheckpointRegistry,
    pub(super) base_model: String,
    pub(super) model_dir: Option<PathBuf>,
    pub(super) namespace: String,
    pub(super) options: LearnerOptions,
}

pub(super) struct StartingPoint {
    pub(super) learner: Learner,
    /// The base model's JSON, which every checkpoint contains.
    pub(super) base: Vec<u8>,
    pub(super) metadata: RunMetadata,
    pub(super) position: StreamPosition,
    /// The number of the next version.
    pub(super) next_number: u64,
    /// The checkpoint from which the run resumes.
    pub(super) parent: Option<Digest>,
    pub(super) last: Option<LastCheckpoint>,
}

/// Why a run cannot start.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Base(#[from] BaseModelError),
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

impl From<ModelError> for StartError {
    fn from(error: ModelError) -> Self {
        Self::Base(error.into())
    }
}

impl StartError {
    /// Whether a later attempt may succeed without a change of settings.
    fn may_pass(&self) -> bool {
        match self {
            Self::History(error) => error.may_pass(),
            Self::Base(error) => error.is_transient(),
            Self::Learner(_) => false,
        }
    }

    /// Whether the registry of the checkpoints is the cause.
    fn is_of_registry(&self) -> bool {
        matches!(self, Self::History(HistoryError::Registry { .. }))
    }
}

impl StartingPointFinder {
    /// Retries until it succeeds. An error that a person must fix is retried too, so that the fix takes effect
    /// without a restart.
    pub(super) async fn run(&self, status: &SharedStatus, learning: &ReadinessGate) -> StartingPoint {
        let mut delays = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(500))
            .with_max_delay(MAX_RETRY_DELAY)
            .without_max_times()
            .build();
        loop {
            let error = match self.find(status).await {
                Ok(start) => return start,
                Err(error) => error,
            };
            tracing::warn!(error = &error as &dyn std::error::Error, "cannot start training yet");
            let message = chain(&error);
            learning.close(message.clone());
            status.update(|status| {
                status.phase =
                    if error.may_pass() { TrainerPhase::Initializing } else { TrainerPhase::Failed };
                status.push_error = if error.is_of_registry() { message.clone() } else { String::new() };
                status.start_error = message;
            });
            tokio::time::sleep(delays.next().unwrap_or(MAX_RETRY_DELAY)).await;
        }
    }

    async fn find(&self, status: &SharedStatus) -> Result<StartingPoint, StartError> {
        let restore = |state: TrainerState| {
            let base = BaseModel::parse(&state.base_model, &state.base)
                .map_err(|error| LearnerError::Damaged { problem: chain(&error) })?;
            Ok((Learner::restore(base, self.options, &state.learner)?, state))
        };
        let CheckpointHistory { next_number, latest, stable_version, skipped } =
            self.registry.history(&self.base_model, restore).await?;
        let start = if let Some(checkpoint) = latest {
            publish(status, &checkpoint);
            self.resume_from_checkpoint(checkpoint, next_number)
        } else {
            self.start_from_base_model(next_number).await?
        };
        status.update(|status| {
            status.stable_version = stable_version;
            status.notice = skipped.unwrap_or_default();
        });
        Ok(start)
    }

    fn resume_from_checkpoint(
        &self,
        checkpoint: RestoredCheckpoint<(Learner, TrainerState)>,
        next_number: u64,
    ) -> StartingPoint {
        let RestoredCheckpoint { digest, facts, state: (learner, state) } = checkpoint;
        tracing::info!(version = facts.version(), samples = facts.samples, "resuming from a checkpoint");
        let at = instant_of(facts.created, Timestamp::now());
        StartingPoint {
            metadata: self.metadata(&facts.base_digest),
            learner,
            base: state.base,
            position: StreamPosition { cursor: state.cursor, fingerprints: state.fingerprints },
            next_number,
            parent: Some(digest),
            last: Some(LastCheckpoint { at, samples: facts.samples }),
        }
    }

    async fn start_from_base_model(&self, next_number: u64) -> Result<StartingPoint, StartError> {
        let directory = self.model_dir.as_deref();
        let json = base_model::load(&self.base_model, directory, &self.registry.client).await?;
        let base = BaseModel::parse(&self.base_model, &json)?;
        tracing::info!(base_model = self.base_model, "starting from the base model");
        Ok(StartingPoint {
            metadata: self.metadata(base.digest()),
            learner: Learner::new(base, self.options)?,
            base: json,
            position: StreamPosition::default(),
            next_number,
            parent: None,
            last: None,
        })
    }

    fn metadata(&self, base_digest: &str) -> RunMetadata {
        RunMetadata {
            namespace: self.namespace.clone(),
            base_model: self.base_model.clone(),
            base_digest: base_digest.to_owned(),
            seed: self.options.seed,
            ema: self.options.ema,
        }
    }
}

/// Makes the checkpoint visible in the status.
fn publish<T>(status: &SharedStatus, checkpoint: &RestoredCheckpoint<T>) {
    let facts = &checkpoint.facts;
    let (version, digest) = (facts.version(), checkpoint.digest.to_string());
    status.update(|status| {
        status.checkpoint = Some(CheckpointSummary { version, digest, created: facts.created });
        status.gate = Some(GateSummary { passed: facts.gate_passed, message: facts.gate_message.clone() });
    });
}

/// The monotonic time of a timestamp; `None` if it lies before the start of the monotonic clock.
fn instant_of(created: Timestamp, now: Timestamp) -> Option<Instant> {
    let elapsed = Duration::try_from(now.duration_since(created)).unwrap_or_default();
    Instant::now().checked_sub(elapsed)
}
