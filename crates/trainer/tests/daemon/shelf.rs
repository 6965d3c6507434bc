//! What is in the registry.

use bytes::Bytes;
use vmafx_oci::checkpoint::{Facts, MODEL, STATE, number_of};
use vmafx_oci::{Client, Credentials, Digest, Manifest, Repository};
use vmafx_testkit::registry::Registry;

pub(crate) struct Shelf {
    client: Client,
    repository: Repository,
}

/// A version, whole.
pub(crate) struct Version {
    pub(crate) digest: Digest,
    pub(crate) facts: Facts,
    pub(crate) model: Bytes,
    pub(crate) state: Bytes,
}

impl Shelf {
    pub(crate) fn of(registry: &Registry) -> Self {
        Self::at(registry.address(), Credentials::none())
    }

    pub(crate) fn at(address: &str, credentials: Credentials) -> Self {
        vmafx_kit::tls::install_crypto_provider();
        let client = Client::new(credentials, Vec::new()).unwrap();
        Self { client, repository: Repository::parse(&format!("{address}/models")).unwrap() }
    }

    /// The versions of a run, in order.
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

    async fn layer(&self, manifest: &Manifest, kind: &str) -> Bytes {
        self.client.blob(&self.repository, manifest.layer(kind).unwrap(), 1 << 30).await.unwrap()
    }

    /// Puts something under a tag.
    pub(crate) async fn put(&self, tag: &str, artifact: &vmafx_oci::Artifact) -> Digest {
        self.client.push(&self.repository, artifact, tag).await.unwrap()
    }
}
