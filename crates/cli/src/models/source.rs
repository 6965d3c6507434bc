//! A model by any of its names.

use std::borrow::Cow;

use vmafx_oci::checkpoint::{CheckpointMetadata, CheckpointMetadataError, stable_tag};
use vmafx_oci::manifest::MAX_MODEL_BYTES;
use vmafx_oci::{ArtifactReference, Digest, Manifest, OciError, RegistryClient};
use vmafx_scoring::engine::models::{Model, ModelChoice};

use super::RegistryArgs;
use super::error::ModelsError;
use super::versions::Version;

/// A model that is here.
#[derive(Debug)]
pub(super) struct Source {
    /// As it was asked for.
    pub(super) name: String,
    /// Of its JSON.
    pub(super) digest: String,
    pub(super) json: Vec<u8>,
    pub(super) artifact: Option<Stored>,
}

/// Where a model came from that lies in a registry.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) client: RegistryClient,
    pub(super) reference: ArtifactReference,
    pub(super) digest: Digest,
    pub(super) manifest: Manifest,
    /// What it says of itself, or why it says nothing.
    pub(super) version: Result<Version, CheckpointMetadataError>,
}

impl Source {
    /// `oci://…`, a built-in name, or a file.
    pub(super) async fn find(name: &str, registry: &RegistryArgs) -> Result<Self, ModelsError> {
        if name.starts_with("oci://") {
            return Self::pull(ArtifactReference::parse(name)?, registry.client()?).await;
        }
        let model = match name.parse() {
            Ok(ModelChoice::File(path)) => Model::file(&path)?,
            Ok(ModelChoice::Named(name)) => Model::named(&name)?,
            Ok(ModelChoice::Auto) => Model::named("auto")?,
            Err(never) => match never {},
        };
        let json = Cow::Borrowed(model.json()).into_owned();
        Ok(Self { name: name.to_owned(), digest: model.digest.clone(), json, artifact: None })
    }

    async fn pull(reference: ArtifactReference, client: RegistryClient) -> Result<Self, ModelsError> {
        let failed = |source: OciError| ModelsError::Registry { what: reference.to_string(), source };
        let (digest, manifest) = client.resolve(&reference).await.map_err(failed)?;
        let layer = manifest.model().map_err(|error| failed(error.into()))?;
        let json = client.blob(&reference.repository, layer, MAX_MODEL_BYTES).await.map_err(failed)?;
        let version = match CheckpointMetadata::parse(&manifest.annotations) {
            Ok(facts) => {
                let tag = reference.repository.tagged(stable_tag(&facts.name));
                // Nothing is stable where there is no such tag; whatever else is wrong was told above.
                let stable = client.resolve(&tag).await.is_ok_and(|(stable, _)| stable == digest);
                Ok(Version { digest: digest.clone(), stable, facts })
            }
            Err(error) => Err(error),
        };
        let (name, model) = (reference.to_string(), layer.digest.to_string());
        let stored = Stored { client, reference, digest, manifest, version };
        Ok(Self { name, digest: model, json: json.to_vec(), artifact: Some(stored) })
    }

    /// What it says of itself, if it is a checkpoint.
    pub(super) fn version(&self) -> Option<&Version> {
        self.artifact.as_ref()?.version.as_ref().ok()
    }
}
