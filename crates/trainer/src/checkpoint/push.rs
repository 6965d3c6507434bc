//! Brings a snapshot to the registry.
//!
//! 1. A number is taken that no tag has. If the next one is taken already, by a trainer that should be gone or by an
//!    earlier attempt of ours whose answer was lost, nothing is overwritten: the one behind the newest is taken.
//! 2. The artifact is pushed under its own tag, its manifest last.
//! 3. If the gate held, the stable tag is moved to it.
//!
//! A registry has no way to create a tag only if it does not exist, so two trainers that push in the same moment can
//! still meet; the next look then tells.

use vmafx_kit::causes::chain;
use vmafx_oci::{Digest, OciError};

use super::registry::Registry;
use super::snapshot::Snapshot;

/// Numbers that are tried before it is for another time.
const TRIES: usize = 3;

/// A version that is in the registry.
#[derive(Clone, Debug)]
pub struct Pushed {
    /// Its number.
    pub number: u64,
    /// Its tag.
    pub version: String,
    /// Its manifest.
    pub digest: Digest,
    /// A version that was found in its place and is not ours.
    pub met: Option<String>,
    /// What became of the stable tag.
    pub stable: Stable,
}

/// What became of the stable tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stable {
    /// The gate held it back.
    Kept,
    /// It is there.
    Moved,
    /// It could not be moved, and why.
    Failed(PushError),
}

/// Why a checkpoint is not in the registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {what}: {message}")]
pub struct PushError {
    /// One word.
    pub reason: &'static str,
    what: String,
    message: String,
}

impl PushError {
    fn new(what: String, error: &OciError) -> Self {
        Self { reason: error.reason().as_str(), what, message: chain(error) }
    }
}

impl Registry {
    /// Brings a snapshot there as version `next`, or as a later one if that is taken. `tried` are manifests of ours that
    /// may have got there without us hearing of it.
    pub async fn push(
        &self,
        snapshot: &Snapshot,
        next: u64,
        parent: Option<Digest>,
        tried: &mut Vec<Digest>,
    ) -> Result<Pushed, PushError> {
        // The words must stay the same while nothing changes, so they name no version.
        let failed =
            |error: OciError| PushError::new(format!("no checkpoint reached {}", self.repository), &error);
        let (mut number, mut met) = (next, None);
        for _ in 0..TRIES {
            let version = self.version(number);
            let artifact = snapshot.artifact(number, parent.clone());
            let digest = Digest::of(&artifact.manifest());
            match self.tagged(&version).await {
                Ok(None) => {
                    tried.push(digest.clone());
                    self.client.push(&self.repository, &artifact, &version).await.map_err(failed)?;
                }
                Ok(Some((there, _))) if there == digest => {}
                taken @ (Ok(Some(_)) | Err(OciError::Manifest(_))) => {
                    let ours = matches!(taken, Ok(Some((there, _))) if tried.contains(&there));
                    met = met.or((!ours).then_some(version));
                    let newest = self.numbers().await.map_err(failed)?.last().copied().unwrap_or_default();
                    number = newest.max(number).saturating_add(1);
                    continue;
                }
                Err(error) => return Err(failed(error)),
            }
            let stable = if snapshot.facts.gate_passed {
                self.promote(&digest).await.map_or_else(Stable::Failed, |()| Stable::Moved)
            } else {
                Stable::Kept
            };
            return Ok(Pushed { number, version, digest, met, stable });
        }
        let what = format!("no checkpoint reached {}", self.repository);
        let message = "another trainer takes one version after the other".to_owned();
        Err(PushError { reason: "VersionTaken", what, message })
    }

    /// Moves the stable tag.
    pub async fn promote(&self, digest: &Digest) -> Result<(), PushError> {
        let failed = |error: OciError| {
            PushError::new(format!("the tag {} in {} was not moved", self.stable(), self.repository), &error)
        };
        self.client.retag(&self.repository, digest, &self.stable()).await.map_err(failed)
    }
}
