//! Pushes a snapshot to the registry.
//!
//! 1. The push uses a number that no tag has. If the next number is already used, by a trainer that should have stopped or
//!    by an earlier attempt whose response was lost, the push overwrites nothing and uses the number after the latest one.
//! 2. The artifact is pushed under its own tag, with its manifest last.
//! 3. If the promotion gate passed, the stable tag moves to the artifact.
//!
//! A registry cannot create a tag only if it does not exist, so two trainers that push at the same moment can still
//! overwrite each other; the next push of one of them then finds the foreign version.

use vmafx_kit::causes::chain;
use vmafx_oci::{Digest, OciError};

use super::registry::CheckpointRegistry;
use super::snapshot::CheckpointSnapshot;

/// Numbers that one push tries.
const MAX_ATTEMPTS: usize = 3;

/// A version in the registry.
#[derive(Clone, Debug)]
pub struct PushedCheckpoint {
    pub number: u64,
    /// Its tag.
    pub version: String,
    /// Digest of its manifest.
    pub digest: Digest,
    /// A version of another trainer that already had the expected number.
    pub conflicting_version: Option<String>,
    pub stable_tag: StableTagUpdate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StableTagUpdate {
    /// The promotion gate did not pass.
    NotPromoted,
    Moved,
    Failed(PushError),
}

/// Why a checkpoint is not in the registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {what}: {message}")]
pub struct PushError {
    /// The value of the metrics' label `reason`.
    pub reason: &'static str,
    what: String,
    message: String,
}

impl PushError {
    fn new(what: String, error: &OciError) -> Self {
        Self { reason: error.reason().as_str(), what, message: chain(error) }
    }
}

impl CheckpointRegistry {
    /// Pushes a snapshot as version `next_number`, or as a later one if that exists. `attempted` holds manifests of
    /// earlier attempts, which may have reached the registry although their responses were lost.
    pub async fn push(
        &self,
        snapshot: &CheckpointSnapshot,
        next_number: u64,
        parent: Option<Digest>,
        attempted: &mut Vec<Digest>,
    ) -> Result<PushedCheckpoint, PushError> {
        // The text names no version, because it must stay the same while the cause does.
        let what = || format!("cannot push a checkpoint to {}", self.repository);
        let failed = |error: OciError| PushError::new(what(), &error);
        let (mut number, mut conflicting_version) = (next_number, None);
        for _ in 0..MAX_ATTEMPTS {
            let version = self.version_tag(number);
            let artifact = snapshot.artifact(number, parent.clone());
            let digest = Digest::of(&artifact.manifest());
            match self.resolve(&version).await {
                Ok(None) => {
                    attempted.push(digest.clone());
                    self.client.push(&self.repository, &artifact, &version).await.map_err(failed)?;
                }
                Ok(Some((existing, _))) if existing == digest => {}
                taken @ (Ok(Some(_)) | Err(OciError::Manifest(_))) => {
                    let own = matches!(taken, Ok(Some((existing, _))) if attempted.contains(&existing));
                    conflicting_version = conflicting_version.or((!own).then_some(version));
                    let latest = self.numbers().await.map_err(failed)?.last().copied().unwrap_or_default();
                    number = latest.max(number).saturating_add(1);
                    continue;
                }
                Err(error) => return Err(failed(error)),
            }
            let stable_tag = if snapshot.facts.gate_passed {
                self.promote(&digest).await.map_or_else(StableTagUpdate::Failed, |()| StableTagUpdate::Moved)
            } else {
                StableTagUpdate::NotPromoted
            };
            return Ok(PushedCheckpoint { number, version, digest, conflicting_version, stable_tag });
        }
        let message = "another trainer keeps taking the next version".to_owned();
        Err(PushError { reason: "VersionTaken", what: what(), message })
    }

    /// Moves the stable tag.
    pub async fn promote(&self, digest: &Digest) -> Result<(), PushError> {
        let tag = self.stable_tag();
        let failed = |error: OciError| {
            PushError::new(format!("cannot move the tag {tag} in {}", self.repository), &error)
        };
        self.client.retag(&self.repository, digest, &tag).await.map_err(failed)
    }
}
