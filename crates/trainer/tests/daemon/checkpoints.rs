//! Reads the checkpoints in a registry.

use bytes::Bytes;
use vmafx_oci::checkpoint::{CheckpointMetadata, MODEL_MEDIA_TYPE, STATE_MEDIA_TYPE, version_number};
use vmafx_oci::{Digest, Manifest, RegistryClient, RegistryCredentials, Repository};
use vmafx_testkit::registry::RegistryServer;

pub(crate) struct RegistryReader {
    client: RegistryClient,
    repository: Repository,
}

pub(crate) struct Version {
    pub(crate) digest: Digest,
    pub(crate) facts: CheckpointMetadata,
    pub(crate) model: Bytes,
    pub(crate) state: Bytes,
}

impl RegistryReader {
    pub(crate) fn of(registry: &RegistryServer) -> Self {
        Self::at(registry.address(), RegistryCredentials::none())
    }

    pub(crate) fn at(address: &str, credentials: RegistryCredentials) -> Self {
        vmafx_kit::tls::install_crypto_provider();
        let client = RegistryClient::new(credentials, Vec::new()).unwrap();
        Self { client, repository: Repository::parse(&format!("{address}/models")).unwrap() }
    }

    /// The version numbers of a run, in ascending order.
    pub(crate) async fn numbers(&self, name: &str) -> Vec<u64> {
        let tags = self.client.tags(&self.repository).await.unwrap_or_default();
        let mut numbers: Vec<u64> = tags.iter().filter_map(|tag| version_number(name, tag)).collect();
        numbers.sort_unstable();
        numbers
    }

    pub(crate) async fn get(&self, tag: &str) -> Option<Version> {
        let (digest, manifest) = self.client.resolve(&self.repository.tagged(tag)).await.ok()?;
        let facts = CheckpointMetadata::parse(&manifest.annotations).unwrap();
        let (model, state) =
            (self.layer(&manifest, MODEL_MEDIA_TYPE).await, self.layer(&manifest, STATE_MEDIA_TYPE).await);
        Some(Version { digest, facts, model, state })
    }

    async fn layer(&self, manifest: &Manifest, media_type: &str) -> Bytes {
        self.client.blob(&self.repository, manifest.layer(media_type).unwrap(), 1 << 30).await.unwrap()
    }

    pub(crate) async fn push(&self, tag: &str, artifact: &vmafx_oci::Artifact) -> Digest {
        self.client.push(&self.repository, artifact, tag).await.unwrap()
    }
}
