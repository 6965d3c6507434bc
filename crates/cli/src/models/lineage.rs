//! The ancestors of a checkpoint.

use vmafx_oci::RegistryFailure;
use vmafx_oci::checkpoint::CheckpointMetadata;

use super::checkpoints::Checkpoint;
use super::error::ModelsError;
use super::source::RegistryArtifact;

const MAX_ANCESTORS: usize = 50;

pub(super) struct Lineage {
    /// The nearest is first.
    pub(super) ancestors: Vec<Checkpoint>,
    /// Why the list ends before the first checkpoint of the training, if it does.
    pub(super) incomplete: Option<String>,
}

pub(super) async fn follow(
    artifact: &RegistryArtifact,
    checkpoint: &Checkpoint,
) -> Result<Lineage, ModelsError> {
    let mut lineage = Lineage { ancestors: Vec::new(), incomplete: None };
    let mut next = checkpoint.metadata.parent.clone();
    while let Some(digest) = next.take() {
        if lineage.ancestors.len() == MAX_ANCESTORS {
            lineage.incomplete = Some("older ones are not shown".to_owned());
            break;
        }
        let reference = artifact.reference.repository.pinned(digest.clone());
        let metadata = match artifact.client.resolve(&reference).await {
            Ok((_, manifest)) => {
                CheckpointMetadata::parse(&manifest.annotations).map_err(|error| error.to_string())
            }
            Err(error) if error.reason() == RegistryFailure::NotFound => Err("it was deleted".to_owned()),
            Err(source) => return Err(ModelsError::Registry { resource: reference.to_string(), source }),
        };
        match metadata {
            Ok(metadata) => {
                next.clone_from(&metadata.parent);
                lineage.ancestors.push(Checkpoint { digest, stable: false, metadata });
            }
            Err(problem) => {
                lineage.incomplete = Some(format!("{digest}: {problem}"));
                break;
            }
        }
    }
    Ok(lineage)
}
