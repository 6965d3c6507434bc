//! One run's part of a registry.

use std::sync::Arc;
use std::time::Duration;

use vmafx_oci::checkpoint::{stable_tag, version_tag};
use vmafx_oci::{
    ArtifactReference, Digest, DirectTransport, Manifest, OciError, RegistryClient, RegistryCredentials,
    RegistryLimits, Repository,
};

/// One operation, with all its attempts. The back-off between operations is ours.
const WHOLE: Duration = Duration::from_mins(1);

/// Versions that are looked at. A run of months has more, and goes on all the same.
const NEWEST: usize = 1000;

/// Where the checkpoints of a run are.
#[derive(Clone, Debug)]
pub struct Registry {
    /// Asks the registry.
    pub client: RegistryClient,
    /// Where they are.
    pub repository: Repository,
    /// What their tags begin with.
    pub name: String,
    /// Whose they are.
    pub uid: String,
}

impl Registry {
    /// A client for registries, with docker's credentials.
    pub fn client(plain_http: &[String]) -> Result<RegistryClient, OciError> {
        let limits = RegistryLimits { operation: WHOLE, ..RegistryLimits::default() };
        let transport = Arc::new(DirectTransport::new(limits.connect)?);
        Ok(RegistryClient::with(transport, RegistryCredentials::of_process(), plain_http.to_vec(), limits))
    }

    /// The newest versions that there are under this name, whoever made them, in order.
    pub async fn numbers(&self) -> Result<Vec<u64>, OciError> {
        match self.client.versions(&self.repository, &self.name, NEWEST).await {
            // Nothing was ever pushed there.
            Err(OciError::NotFound { .. }) => Ok(Vec::new()),
            numbers => numbers,
        }
    }

    /// What a tag means; nothing if there is no such tag.
    pub async fn tagged(&self, tag: &str) -> Result<Option<(Digest, Manifest)>, OciError> {
        match self.client.resolve(&self.reference(tag)).await {
            Err(OciError::NotFound { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// The tag of a version.
    pub fn version(&self, number: u64) -> String {
        version_tag(&self.name, number)
    }

    /// The tag of the version that is known to be good.
    pub fn stable(&self) -> String {
        stable_tag(&self.name)
    }

    fn reference(&self, tag: &str) -> ArtifactReference {
        self.repository.tagged(tag)
    }
}
