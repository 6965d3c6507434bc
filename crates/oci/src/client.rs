//! Pull, push and tags.
//!
//! Every call is one operation: it has a deadline ([`RegistryLimits::operation`]), signs in if the registry asks for it,
//! and is retried with back-off after transient errors. An upload is retried from its start, because a registry that
//! disconnected may have lost the upload session.
//!
//! | guarantee                                                     | guarded by, in `tests/oci`                            |
//! |---------------------------------------------------------------|-------------------------------------------------------|
//! | a token or password is sent to the registry's own origin only | `storage_elsewhere_never_sees_the_token`              |
//! | only the registry itself can request credentials              | `a_redirect_target_cannot_ask_for_the_password`       |
//! | a manifest is pushed after everything that it names           | `a_manifest_comes_after_everything_that_it_names`     |
//! | a blob that exists is not uploaded again                      | `what_is_there_is_not_sent_again`                     |
//! | content without its digest or without an end is rejected      | `a_blob_is_what_it_is_called_or_nothing` and the next |

mod auth;
mod endpoint;
mod limits;
mod pull;
mod push;
mod response;
mod session;
mod tags;

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use self::auth::AuthCache;
use self::endpoint::RegistryEndpoints;
use self::session::{RegistrySession, TokenScope};
use crate::artifact::Artifact;
use crate::credentials::RegistryCredentials;
use crate::digest::Digest;
use crate::error::OciError;
use crate::manifest::{Descriptor, Manifest};
use crate::reference::{ArtifactReference, Repository};
use crate::transport::{DirectTransport, Transport};

pub use limits::RegistryLimits;
pub use pull::BlobReader;

/// A client for registries. Cheap to clone; clones share connections and tokens.
#[derive(Clone, Debug)]
pub struct RegistryClient(Arc<ClientState>);

#[derive(Debug)]
struct ClientState {
    transport: Arc<dyn Transport>,
    credentials: RegistryCredentials,
    endpoints: RegistryEndpoints,
    limits: RegistryLimits,
    auth: Mutex<AuthCache>,
}

impl RegistryClient {
    /// A client with its own HTTP client. Plain HTTP is used for this machine and for the registries in `plain_http`,
    /// each `host` or `host:port`.
    pub fn new(credentials: RegistryCredentials, plain_http: Vec<String>) -> Result<Self, OciError> {
        let limits = RegistryLimits::default();
        let transport = Arc::new(DirectTransport::new(limits.connect)?);
        Ok(Self::with(transport, credentials, plain_http, limits))
    }

    /// A client that sends its requests through `transport`.
    pub fn with(
        transport: Arc<dyn Transport>,
        credentials: RegistryCredentials,
        plain_http: Vec<String>,
        limits: RegistryLimits,
    ) -> Self {
        let (endpoints, auth) = (RegistryEndpoints::new(plain_http), Mutex::default());
        Self(Arc::new(ClientState { transport, credentials, endpoints, limits, auth }))
    }

    /// Pushes an artifact, its manifest last, and tags it. Blobs that exist already are not uploaded again.
    pub async fn push(
        &self,
        repository: &Repository,
        artifact: &Artifact,
        tag: &str,
    ) -> Result<Digest, OciError> {
        self.session(repository, TokenScope::Push)?.push(artifact, tag).await
    }

    /// Pushes a manifest that was built elsewhere, after the blobs that it names, and tags it.
    pub async fn push_manifest(
        &self,
        repository: &Repository,
        blobs: &[Bytes],
        manifest: Bytes,
        tag: &str,
    ) -> Result<Digest, OciError> {
        self.session(repository, TokenScope::Push)?.push_manifest(blobs, manifest, tag).await
    }

    /// Moves a tag to the manifest with this digest.
    pub async fn retag(&self, repository: &Repository, from: &Digest, tag: &str) -> Result<(), OciError> {
        self.session(repository, TokenScope::Push)?.retag(from, tag).await
    }

    pub async fn resolve(&self, reference: &ArtifactReference) -> Result<(Digest, Manifest), OciError> {
        self.session(&reference.repository, TokenScope::Pull)?.resolve(reference).await
    }

    /// A blob of at most `limit` bytes, verified against its digest.
    pub async fn blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: u64,
    ) -> Result<Bytes, OciError> {
        self.session(repository, TokenScope::Pull)?.blob(blob, limit).await
    }

    /// Like [`blob`](Self::blob), chunk by chunk.
    pub async fn open_blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: u64,
    ) -> Result<BlobReader, OciError> {
        self.session(repository, TokenScope::Pull)?.open(blob, limit).await
    }

    /// All tags, in the registry's order; an error if there are more than 10 000. A repository to which nothing was ever
    /// pushed is [`OciError::NotFound`].
    pub async fn tags(&self, repository: &Repository) -> Result<Vec<String>, OciError> {
        self.session(repository, TokenScope::Pull)?.tags().await
    }

    /// The numbers of the `newest` versions of a training in ascending order, however many other tags there are.
    pub async fn versions(
        &self,
        repository: &Repository,
        name: &str,
        newest: usize,
    ) -> Result<Vec<u64>, OciError> {
        self.session(repository, TokenScope::Pull)?.versions(name, newest).await
    }

    fn session<'a>(
        &'a self,
        repository: &'a Repository,
        scope: TokenScope,
    ) -> Result<RegistrySession<'a>, OciError> {
        RegistrySession::new(&self.0, repository, scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_send(_: &impl Send) {}

    #[test]
    fn operations_may_run_on_any_thread() {
        let client = RegistryClient::new(RegistryCredentials::none(), Vec::new()).unwrap();
        let models = Repository::parse("localhost/models").unwrap();
        let (tagged, digest) = (models.tagged("a"), Digest::of(b""));
        let blob =
            Descriptor { media_type: String::new(), digest: digest.clone(), size: 0, annotations: [].into() };
        let artifact = Artifact { artifact_type: String::new(), annotations: [].into(), layers: Vec::new() };
        assert_send(&client.push(&models, &artifact, "a"));
        assert_send(&client.push_manifest(&models, &[], Bytes::new(), "a"));
        assert_send(&client.retag(&models, &digest, "a"));
        assert_send(&client.resolve(&tagged));
        assert_send(&client.blob(&models, &blob, 0));
        assert_send(&client.open_blob(&models, &blob, 0));
        assert_send(&client.tags(&models));
        assert_send(&client.versions(&models, "a", 1));
    }
}
