//! Finds where to begin: behind the newest checkpoint of this run, or with the base model.

use std::path::PathBuf;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use jiff::Timestamp;
use tokio::time::Instant;
use vmafx_kit::causes::chain;
use vmafx_kit::health::ReadinessGate;
use vmafx_oci::Digest;

use crate::base::{self, BaseError};
use crate::checkpoint::{About, Checkpoint, History, HistoryError, Last, Registry, Saved};
use crate::learner::{BaseModel, Learner, LearnerError, ModelError, Options};
use crate::source::Place;
use crate::status::{self, Board, Phase, Written};

/// Between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// What is needed to find it.
#[derive(Debug)]
pub(super) struct Preparation {
    pub(super) registry: Registry,
    pub(super) base_model: String,
    pub(super) model_dir: Option<PathBuf>,
    pub(super) namespace: String,
    pub(super) options: Options,
}

/// Where a run begins.
pub(super) struct Beginning {
    pub(super) learner: Learner,
    /// The base model's JSON, for the next checkpoints.
    pub(super) base: Vec<u8>,
    pub(super) about: About,
    pub(super) place: Place,
    /// The number that comes next.
    pub(super) next: u64,
    /// The checkpoint that was gone on from.
    pub(super) parent: Option<Digest>,
    pub(super) last: Option<Last>,
}

/// Why a run cannot begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum PrepareError {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Base(#[from] BaseError),
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

impl From<ModelError> for PrepareError {
    fn from(error: ModelError) -> Self {
        Self::Base(error.into())
    }
}

impl PrepareError {
    /// Whether waiting may help.
    fn may_pass(&self) -> bool {
        match self {
            Self::History(error) => error.may_pass(),
            Self::Base(error) => error.may_pass(),
            Self::Learner(_) => false,
        }
    }

    /// Whether it is the registry of checkpoints that stands in the way.
    fn is_of_registry(&self) -> bool {
        matches!(self, Self::History(HistoryError::Registry { .. }))
    }
}

impl Preparation {
    /// Tries until it is known. A person may have to do something first; whatever it is, this notices.
    pub(super) async fn run(&self, board: &Board, learning: &ReadinessGate) -> Beginning {
        let mut pauses = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(500))
            .with_max_delay(LONGEST_PAUSE)
            .without_max_times()
            .build();
        loop {
            let error = match self.once(board).await {
                Ok(beginning) => return beginning,
                Err(error) => error,
            };
            tracing::warn!(error = &error as &dyn std::error::Error, "cannot begin yet");
            let told = chain(&error);
            learning.close(told.clone());
            board.update(|status| {
                status.phase = if error.may_pass() { Phase::Initializing } else { Phase::Failed };
                status.push_error = if error.is_of_registry() { told.clone() } else { String::new() };
                status.start_error = told;
            });
            tokio::time::sleep(pauses.next().unwrap_or(LONGEST_PAUSE)).await;
        }
    }

    async fn once(&self, board: &Board) -> Result<Beginning, PrepareError> {
        let restore = |saved: Saved| {
            let base = BaseModel::parse(&saved.base_model, &saved.base)
                .map_err(|error| LearnerError::Damaged { problem: chain(&error) })?;
            Ok((Learner::restore(base, self.options, &saved.learner)?, saved))
        };
        let History { next, newest, stable_version, passed_over } =
            self.registry.history(&self.base_model, restore).await?;
        let beginning = if let Some(checkpoint) = newest {
            tell(board, &checkpoint);
            self.go_on(checkpoint, next)
        } else {
            self.begin(next).await?
        };
        board.update(|status| {
            status.stable_version = stable_version;
            status.notice = passed_over.unwrap_or_default();
        });
        Ok(beginning)
    }

    /// Behind a checkpoint.
    fn go_on(&self, checkpoint: Checkpoint<(Learner, Saved)>, next: u64) -> Beginning {
        let Checkpoint { digest, facts, state: (learner, saved) } = checkpoint;
        tracing::info!(version = facts.version(), samples = facts.samples, "going on from a checkpoint");
        Beginning {
            about: self.about(&facts.base_digest),
            learner,
            base: saved.base,
            place: Place { cursor: saved.cursor, marks: saved.marks },
            next,
            parent: Some(digest),
            last: Some(Last { at: ago(facts.created, Timestamp::now()), samples: facts.samples }),
        }
    }

    /// With the base model.
    async fn begin(&self, next: u64) -> Result<Beginning, PrepareError> {
        let json = base::read(&self.base_model, self.model_dir.as_deref(), &self.registry.client).await?;
        let base = BaseModel::parse(&self.base_model, &json)?;
        tracing::info!(base_model = self.base_model, "beginning with the base model");
        let about = self.about(base.digest());
        let learner = Learner::new(base, self.options)?;
        Ok(Beginning { about, learner, base: json, place: Place::default(), next, parent: None, last: None })
    }

    fn about(&self, base_digest: &str) -> About {
        About {
            namespace: self.namespace.clone(),
            base_model: self.base_model.clone(),
            base_digest: base_digest.to_owned(),
            seed: self.options.seed,
            ema: self.options.ema,
        }
    }
}

/// What the last checkpoint was is known again.
fn tell<T>(board: &Board, checkpoint: &Checkpoint<T>) {
    let facts = &checkpoint.facts;
    let (version, digest) = (facts.version(), checkpoint.digest.to_string());
    board.update(|status| {
        status.checkpoint = Some(Written { version, digest, at: facts.created });
        status.gate = Some(status::Gate { passed: facts.gate_passed, message: facts.gate_message.clone() });
    });
}

/// When that was, by the clock that only goes forward; unknown if that is before it began.
fn ago(created: Timestamp, now: Timestamp) -> Option<Instant> {
    let passed = Duration::try_from(now.duration_since(created)).unwrap_or_default();
    Instant::now().checked_sub(passed)
}
