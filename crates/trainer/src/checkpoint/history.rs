//! Finds the latest checkpoint from which a run can resume.
//!
//! | the latest version                                | what happens                                               |
//! |---------------------------------------------------|------------------------------------------------------------|
//! | belongs to this run and is readable               | the run resumes from it                                    |
//! | belongs to this run and is not readable           | the next older version is tried, and the status says so    |
//! | belongs to this run, with another base model      | the run does not start: the result would be another model  |
//! | belongs to another run, or is not a checkpoint    | the next older version is tried                            |
//! | is unknown, because the registry does not respond | the run does not start yet                                 |
//!
//! A run whose versions are all unreadable does not start again from the base model, because that would silently
//! discard everything it has learned.

use vmafx_kit::causes::chain;
use vmafx_oci::checkpoint::{CheckpointMetadata, STATE_MEDIA_TYPE};
use vmafx_oci::{Digest, Manifest, OciError};

use super::registry::CheckpointRegistry;
use super::trainer_state::{TrainerState, TrainerStateError};
use crate::learner::LearnerError;

/// Versions of other runs that are read in search of one of this run. Another run's versions are older than those of
/// this run, unless two runs push alternately.
const MAX_FOREIGN_VERSIONS: usize = 256;

/// Enough for a million samples.
const MAX_STATE_BYTES: u64 = 512 << 20;

#[derive(Debug)]
pub struct RestoredCheckpoint<T> {
    /// Digest of its manifest.
    pub digest: Digest,
    pub facts: CheckpointMetadata,
    /// What the caller made of the state layer.
    pub state: T,
}

/// What the registry contains of a run.
#[derive(Debug)]
pub struct CheckpointHistory<T> {
    /// The number of the next version.
    pub next_number: u64,
    /// The latest readable checkpoint of the run.
    pub latest: Option<RestoredCheckpoint<T>>,
    /// The version that the stable tag refers to.
    pub stable_version: Option<String>,
    /// The latest version of the run that is not readable, and why.
    pub skipped: Option<String>,
}

/// Why a run cannot start.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("cannot look for checkpoints in {repository}")]
    Registry {
        repository: String,
        #[source]
        source: OciError,
    },
    #[error(
        "none of the run's checkpoints is readable: {0}; to start again from the base model, delete these versions or give the run another name"
    )]
    Unreadable(String),
    #[error(
        "{version} was trained on the base model {found}, and the settings name {expected}; give the run another name"
    )]
    OtherBase { version: String, found: String, expected: String },
}

impl HistoryError {
    /// Whether a later attempt may succeed without a change of settings.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Registry { source, .. } if source.may_succeed_later())
    }
}

/// Why one version is not readable.
#[derive(Debug, thiserror::Error)]
enum VersionError {
    #[error(transparent)]
    Registry(#[from] OciError),
    #[error("it has no state layer")]
    NoState,
    #[error(transparent)]
    State(#[from] TrainerStateError),
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

impl CheckpointRegistry {
    /// `restore` turns a state layer into what the caller needs, or says why it cannot be used.
    pub async fn history<T>(
        &self,
        base_model: &str,
        restore: impl Fn(TrainerState) -> Result<T, LearnerError>,
    ) -> Result<CheckpointHistory<T>, HistoryError> {
        let unknown = |source| HistoryError::Registry { repository: self.repository.to_string(), source };
        let numbers = self.numbers().await.map_err(unknown)?;
        let stable = ignore_invalid(self.resolve(&self.stable_tag()).await).map_err(unknown)?;
        let stable_version = stable.and_then(|(_, manifest)| facts(&manifest)).map(|facts| facts.version());
        let mut history = CheckpointHistory {
            next_number: numbers.last().map_or(1, |latest| latest.saturating_add(1)),
            latest: None,
            stable_version,
            skipped: None,
        };
        let mut foreign_versions = 0;
        for number in numbers.into_iter().rev() {
            let version = self.version_tag(number);
            let resolved = ignore_invalid(self.resolve(&version).await).map_err(unknown)?;
            let checkpoint =
                resolved.and_then(|(digest, manifest)| Some((digest, facts(&manifest)?, manifest)));
            let own = checkpoint.filter(|(_, facts, _)| facts.uid == self.uid);
            let Some((digest, facts, manifest)) = own else {
                foreign_versions += 1;
                if foreign_versions == MAX_FOREIGN_VERSIONS {
                    break;
                }
                continue;
            };
            if facts.base_model != base_model {
                let (found, expected) = (facts.base_model, base_model.to_owned());
                return Err(HistoryError::OtherBase { version, found, expected });
            }
            match self.restore(&manifest, &restore).await {
                Ok(state) => {
                    history.latest = Some(RestoredCheckpoint { digest, facts, state });
                    return Ok(history);
                }
                // `may_succeed_later` includes `NotFound`, but a deleted layer does not return.
                Err(VersionError::Registry(source))
                    if source.may_succeed_later() && !matches!(source, OciError::NotFound { .. }) =>
                {
                    return Err(unknown(source));
                }
                Err(error) => {
                    let problem = format!("{version} cannot be read: {}", chain(&error));
                    tracing::warn!("{problem}");
                    history.skipped.get_or_insert(problem);
                }
            }
        }
        match history.skipped {
            Some(problem) => Err(HistoryError::Unreadable(problem)),
            None => Ok(history),
        }
    }

    async fn restore<T>(
        &self,
        manifest: &Manifest,
        restore: impl Fn(TrainerState) -> Result<T, LearnerError>,
    ) -> Result<T, VersionError> {
        let layer = manifest.layer(STATE_MEDIA_TYPE).ok_or(VersionError::NoState)?;
        let state = self.client.blob(&self.repository, layer, MAX_STATE_BYTES).await?;
        Ok(restore(TrainerState::from_bytes(&state)?)?)
    }
}

/// A tag that refers to something other than an artifact's manifest belongs to no run, so it is treated as absent.
fn ignore_invalid<T>(resolved: Result<Option<T>, OciError>) -> Result<Option<T>, OciError> {
    match resolved {
        Err(error) if !error.may_succeed_later() => Ok(None),
        resolved => resolved,
    }
}

/// `None` if the artifact is not a checkpoint.
fn facts(manifest: &Manifest) -> Option<CheckpointMetadata> {
    CheckpointMetadata::parse(&manifest.annotations).ok()
}
