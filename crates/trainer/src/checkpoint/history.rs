//! Finds the newest checkpoint that a run can go on from.
//!
//! | the newest version                                     | what is done                                                |
//! |--------------------------------------------------------|-------------------------------------------------------------|
//! | is ours and can be read                                | the run goes on from it                                     |
//! | is ours and cannot be read                             | the next older one is tried, and people are told            |
//! | is ours, of another base model                         | the run does not begin: it would be another one             |
//! | is another's, or no checkpoint                         | the next older one is tried                                 |
//! | cannot be had, because the registry does not answer    | nothing is known, so the run does not begin yet             |
//!
//! A run of which there are versions, and none that can be read, does not begin again from nothing: what it had learned
//! would be lost without anybody having said so.

use vmafx_kit::causes::chain;
use vmafx_oci::checkpoint::{CheckpointMetadata, STATE_MEDIA_TYPE};
use vmafx_oci::{Digest, Manifest, OciError};

use super::registry::Registry;
use super::saved::{Saved, SavedError};
use crate::learner::LearnerError;

/// Versions of others that are looked through for one of ours. They are below ours, unless two runs take turns.
const MOST_OF_OTHERS: usize = 256;

/// Bytes of a state: a million samples.
const LARGEST_STATE: u64 = 512 << 20;

/// A checkpoint that a run goes on from.
#[derive(Debug)]
pub struct Checkpoint<T> {
    /// Its manifest.
    pub digest: Digest,
    /// What it says of itself.
    pub facts: CheckpointMetadata,
    /// What was read of it.
    pub state: T,
}

/// What there is in the registry.
#[derive(Debug)]
pub struct History<T> {
    /// The number that comes next.
    pub next: u64,
    /// What the run goes on from.
    pub newest: Option<Checkpoint<T>>,
    /// What the stable tag means.
    pub stable_version: Option<String>,
    /// Newer ones of ours that could not be read, and why.
    pub passed_over: Option<String>,
}

/// Why a run cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Nothing is known.
    #[error("cannot look for checkpoints in {repository}")]
    Registry {
        /// Where.
        repository: String,
        /// Why not.
        #[source]
        source: OciError,
    },
    /// There are versions, and none can be read.
    #[error(
        "no checkpoint can be gone on from: {0}; delete the versions, or give the run another name, to begin anew"
    )]
    Unreadable(String),
    /// It would be another run.
    #[error(
        "{version} was learned from the base model {found}, not from {wanted}: give the run another name"
    )]
    OtherBase {
        /// The version.
        version: String,
        /// What it was learned from.
        found: String,
        /// What the settings say.
        wanted: String,
    },
}

impl HistoryError {
    /// Whether waiting may help.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Registry { source, .. } if source.may_succeed_later())
    }
}

/// What is wrong with one version.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Registry(#[from] OciError),
    #[error("it has no state")]
    NoState,
    #[error(transparent)]
    Saved(#[from] SavedError),
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

impl Registry {
    /// Looks. `read` makes of a state what is needed of it, or says why it cannot be used.
    pub async fn history<T>(
        &self,
        base_model: &str,
        read: impl Fn(Saved) -> Result<T, LearnerError>,
    ) -> Result<History<T>, HistoryError> {
        let unknown = |source| HistoryError::Registry { repository: self.repository.to_string(), source };
        let numbers = self.numbers().await.map_err(unknown)?;
        let stable = sensible(self.tagged(&self.stable()).await).map_err(unknown)?;
        let stable_version = stable.and_then(|(_, manifest)| facts(&manifest)).map(|facts| facts.version());
        let mut history = History {
            next: numbers.last().map_or(1, |newest| newest.saturating_add(1)),
            newest: None,
            stable_version,
            passed_over: None,
        };
        let mut others = 0;
        for number in numbers.into_iter().rev() {
            let version = self.version(number);
            let there = sensible(self.tagged(&version).await).map_err(unknown)?;
            let ours = there.and_then(|(digest, manifest)| Some((digest, facts(&manifest)?, manifest)));
            let Some((digest, facts, manifest)) = ours.filter(|(_, facts, _)| facts.uid == self.uid) else {
                others += 1;
                if others == MOST_OF_OTHERS {
                    break;
                }
                continue;
            };
            if facts.base_model != base_model {
                let (found, wanted) = (facts.base_model, base_model.to_owned());
                return Err(HistoryError::OtherBase { version, found, wanted });
            }
            match self.state(&manifest, &read).await {
                Ok(state) => {
                    history.newest = Some(Checkpoint { digest, facts, state });
                    return Ok(history);
                }
                Err(Fault::Registry(source)) if source.may_succeed_later() && !is_missing(&source) => {
                    return Err(unknown(source));
                }
                Err(fault) => {
                    let why = format!("{version} cannot be read: {}", chain(&fault));
                    tracing::warn!("{why}");
                    history.passed_over.get_or_insert(why);
                }
            }
        }
        match history.passed_over {
            Some(why) => Err(HistoryError::Unreadable(why)),
            None => Ok(history),
        }
    }

    async fn state<T>(
        &self,
        manifest: &Manifest,
        read: impl Fn(Saved) -> Result<T, LearnerError>,
    ) -> Result<T, Fault> {
        let layer = manifest.layer(STATE_MEDIA_TYPE).ok_or(Fault::NoState)?;
        let state = self.client.blob(&self.repository, layer, LARGEST_STATE).await?;
        Ok(read(Saved::from_bytes(&state)?)?)
    }
}

/// What is no manifest of an artifact, though a tag of ours is on it, is nobody's checkpoint.
fn sensible<T>(found: Result<Option<T>, OciError>) -> Result<Option<T>, OciError> {
    match found {
        Err(error) if !error.may_succeed_later() => Ok(None),
        found => found,
    }
}

/// What it says of itself, if it is a checkpoint.
fn facts(manifest: &Manifest) -> Option<CheckpointMetadata> {
    CheckpointMetadata::parse(&manifest.annotations).ok()
}

/// A layer that is gone does not come back by waiting.
fn is_missing(error: &OciError) -> bool {
    matches!(error, OciError::NotFound { .. })
}
