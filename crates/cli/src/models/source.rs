//! A model from a registry, a built-in one, or a file.

use vmafx_oci::checkpoint::{CheckpointMetadata, CheckpointMetadataError, stable_tag};
use vmafx_oci::manifest::MAX_MODEL_BYTES;
use vmafx_oci::{ArtifactReference, Digest, Manifest, OciError, RegistryClient};
use vmafx_scoring::engine::models::{Model, ModelChoice};

use super::RegistryArgs;
use super::checkpoints::Checkpoint;
use super::error::ModelsError;

#[derive(Debug)]
pub(super) struct ModelSource {
    /// The name that the user gave.
    pub(super) name: String,
    /// Digest of the JSON.
    pub(super) digest: String,
    pub(super) json: Vec<u8>,
    pub(super) artifact: Option<RegistryArtifact>,
}

#[derive(Debug)]
pub(super) struct RegistryArtifact {
    pub(super) client: RegistryClient,
    pub(super) reference: ArtifactReference,
    pub(super) digest: Digest,
    pub(super) manifest: Manifest,
    /// The error says why the artifact is not a checkpoint, such as a model that another tool pushed.
    pub(super) checkpoint: Result<Checkpoint, CheckpointMetadataError>,
}

impl ModelSource {
    pub(super) async fn load(name: &str, registry: &RegistryArgs) -> Result<Self, ModelsError> {
        if name.starts_with("oci://") {
            return Self::pull(ArtifactReference::parse(name)?, registry.client()?).await;
        }
        let model = match name.parse() {
            Ok(ModelChoice::File(path)) => Model::file(&path)?,
            Ok(ModelChoice::Named(name)) => Model::named(&name)?,
            Ok(ModelChoice::Auto) => Model::named("auto")?,
            Err(never) => match never {},
        };
        let json = model.json().to_vec();
        Ok(Self { name: name.to_owned(), digest: model.digest, json, artifact: None })
    }

    async fn pull(reference: ArtifactReference, client: RegistryClient) -> Result<Self, ModelsError> {
        let failed = |source: OciError| ModelsError::Registry { resource: reference.to_string(), source };
        let (digest, manifest) = client.resolve(&reference).await.map_err(failed)?;
        let layer = manifest.model().map_err(|error| failed(error.into()))?;
        let json = client.blob(&reference.repository, layer, MAX_MODEL_BYTES).await.map_err(failed)?;
        let checkpoint = match CheckpointMetadata::parse(&manifest.annotations) {
            Ok(metadata) => {
                let tag = reference.repository.tagged(stable_tag(&metadata.name));
                // Without a readable stable tag the checkpoint is shown as not stable.
                let stable = client.resolve(&tag).await.is_ok_and(|(stable, _)| stable == digest);
                Ok(Checkpoint { digest: digest.clone(), stable, metadata })
            }
            Err(error) => Err(error),
        };
        let (name, model) = (reference.to_string(), layer.digest.to_string());
        let artifact = RegistryArtifact { client, reference, digest, manifest, checkpoint };
        Ok(Self { name, digest: model, json: json.to_vec(), artifact: Some(artifact) })
    }

    pub(super) fn checkpoint(&self) -> Option<&Checkpoint> {
        self.artifact.as_ref()?.checkpoint.as_ref().ok()
    }
}
