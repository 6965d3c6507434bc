//! The repository and the tags of one run.

use std::sync::Arc;
use std::time::Duration;

use vmafx_oci::checkpoint::{stable_tag, version_tag};
use vmafx_oci::{
    Digest, DirectTransport, Manifest, OciError, RegistryClient, RegistryCredentials, RegistryLimits,
    Repository,
};

/// Timeout of one operation including the client's own retries. The trainer itself delays the next operation.
const OPERATION_TIMEOUT: Duration = Duration::from_mins(1);

/// A run of months has more versions; the latest ones are enough to resume.
const MAX_LISTED_VERSIONS: usize = 1000;

#[derive(Clone, Debug)]
pub struct CheckpointRegistry {
    pub client: RegistryClient,
    pub repository: Repository,
    /// Name of the run, with which its tags start.
    pub name: String,
    /// UID of the run, which its checkpoints carry.
    pub uid: String,
}

impl CheckpointRegistry {
    /// A client with docker's credentials.
    pub fn client(plain_http: &[String]) -> Result<RegistryClient, OciError> {
        let limits = RegistryLimits { operation: OPERATION_TIMEOUT, ..RegistryLimits::default() };
        let transport = Arc::new(DirectTransport::new(limits.connect)?);
        Ok(RegistryClient::with(transport, RegistryCredentials::of_process(), plain_http.to_vec(), limits))
    }

    /// The numbers of the latest versions under this name, of any run, in ascending order.
    pub async fn numbers(&self) -> Result<Vec<u64>, OciError> {
        match self.client.versions(&self.repository, &self.name, MAX_LISTED_VERSIONS).await {
            // A registry does not know a repository before the first push.
            Err(OciError::NotFound { .. }) => Ok(Vec::new()),
            numbers => numbers,
        }
    }

    /// `None` if the tag does not exist.
    pub async fn resolve(&self, tag: &str) -> Result<Option<(Digest, Manifest)>, OciError> {
        match self.client.resolve(&self.repository.tagged(tag)).await {
            Err(OciError::NotFound { .. }) => Ok(None),
            resolved => resolved.map(Some),
        }
    }

    pub fn version_tag(&self, number: u64) -> String {
        version_tag(&self.name, number)
    }

    pub fn stable_tag(&self) -> String {
        stable_tag(&self.name)
    }
}
