//! Reads the checkpoints in a registry.

use bytes::Bytes;
use vmafx_oci::checkpoint::{Facts, MODEL, STATE, number_of};
use vmafx_oci::{Client, Credentials, Digest, Manifest, Repository};
use vmafx_testkit::registry::Registry;

pub(crate) struct RegistryReader {
    client: Client,
    repository: Repository,
}

pub(crate) struct Version {
    pub(crate) digest: Digest,
    pub(crate) facts: Facts,
    pub(crate) model: Bytes,
    pub(crate) state: Bytes,
}

impl RegistryReader {
    pub(crate) fn of(registry: &Registry) -> Self {
        Self::at(registry.address(), Credentials::none())
    }

    pub(crate) fn at(address: &str, credentials: Credentials) -> Self {
        vmafx_kit::tls::choose_provider();
        let client = Client::new(credentials, Vec::new()).unwrap();
        Self { client, repository: Repository::parse(&format!("{address}/models")).unwrap() }
    }

    /// The version numbers of a run, in ascending order.
    pub(crate) async fn numbers(&self, name: &str) -> Vec<u64> {
        let tags = self.client.tags(&self.repository).await.unwrap_or_default();
        let mut numbers: Vec<u64> = tags.iter().filter_map(|tag| number_of(name, tag)).collect();
        numbers.sort_unstable();
        numbers
    }

    pub(crate) async fn get(&self, tag: &str) -> Option<Version> {
        let (digest, manifest) = self.client.resolve(&self.repository.tagged(tag)).await.ok()?;
        let facts = Facts::read(&manifest.annotations).unwrap();
        let (model, state) = (self.layer(&manifest, MODEL).await, self.layer(&manifest, STATE).await);
        Some(Version { digest, facts, model, state })
    }

    async fn layer(&self, manifest: &Manifest, media_type: &str) -> Bytes {
        self.client.blob(&self.repository, manifest.layer(media_type).unwrap(), 1 << 30).await.unwrap()
    }

    pub(crate) async fn push(&self, tag: &str, artifact: &vmafx_oci::Artifact) -> Digest {
        self.client.push(&self.repository, artifact, tag).await.unwrap()
    }
}
