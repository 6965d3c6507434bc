//! From a checkpoint back to where its training began.

use vmafx_oci::RegistryFailure;
use vmafx_oci::checkpoint::CheckpointMetadata;

use super::error::ModelsError;
use super::source::Stored;
use super::versions::Version;

/// Checkpoints that are followed back.
const LONGEST: usize = 50;

/// The chain of parents, the nearest first.
pub(super) struct Lineage {
    pub(super) parents: Vec<Version>,
    /// Why it ends where it ends, if not at the beginning.
    pub(super) cut: Option<String>,
}

/// Follows the parents of a checkpoint.
pub(super) async fn follow(stored: &Stored, version: &Version) -> Result<Lineage, ModelsError> {
    let mut lineage = Lineage { parents: Vec::new(), cut: None };
    let mut next = version.facts.parent.clone();
    while let Some(digest) = next.take() {
        if lineage.parents.len() == LONGEST {
            lineage.cut = Some("and further back".to_owned());
            break;
        }
        let reference = stored.reference.repository.pinned(digest.clone());
        let facts = match stored.client.resolve(&reference).await {
            Ok((_, manifest)) => {
                CheckpointMetadata::parse(&manifest.annotations).map_err(|error| error.to_string())
            }
            Err(error) if error.reason() == RegistryFailure::NotFound => {
                Err("it is not there any more".to_owned())
            }
            Err(source) => return Err(ModelsError::Registry { what: reference.to_string(), source }),
        };
        match facts {
            Ok(facts) => {
                next.clone_from(&facts.parent);
                lineage.parents.push(Version { digest, stable: false, facts });
            }
            Err(problem) => {
                lineage.cut = Some(format!("{digest}: {problem}"));
                break;
            }
        }
    }
    Ok(lineage)
}
