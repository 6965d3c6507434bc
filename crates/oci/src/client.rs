//! Pull, push and tags.
//!
//! Every call is one operation: it has a deadline ([`Limits::whole`]), signs in if the registry wants that, and begins
//! again after a pause while the answer may get better. An upload begins again from its start, because a registry that
//! broke off may have forgotten the session.
//!
//! | guarantee                                                     | guarded by, in `tests/oci`                            |
//! |---------------------------------------------------------------|-------------------------------------------------------|
//! | a token or password goes to the registry's own origin only    | `storage_elsewhere_never_sees_the_token`              |
//! | only the registry itself can make us sign in                  | `a_place_we_are_sent_to_cannot_ask_for_the_password`  |
//! | a manifest is pushed after everything that it names           | `a_manifest_comes_after_everything_that_it_names`     |
//! | what is there is not sent again                               | `what_is_there_is_not_sent_again`                     |
//! | nothing is taken that does not have its digest, or has no end | `a_blob_is_what_it_is_called_or_nothing` and the next |

mod answer;
mod limits;
mod place;
mod pull;
mod push;
mod session;
mod sign_in;
mod tags;

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use self::place::Places;
use self::session::{Right, Session};
use self::sign_in::Known;
use crate::artifact::Artifact;
use crate::credentials::Credentials;
use crate::digest::Digest;
use crate::error::OciError;
use crate::manifest::{Descriptor, Manifest};
use crate::reference::{Reference, Repository};
use crate::transport::{Direct, Transport};

pub use limits::Limits;
pub use pull::BlobReader;

/// Asks registries. Cheap to clone; the copies share their connections and tokens.
#[derive(Clone, Debug)]
pub struct Client(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    transport: Arc<dyn Transport>,
    credentials: Credentials,
    places: Places,
    limits: Limits,
    known: Mutex<Known>,
}

impl Client {
    /// One with connections of its own. TLS is left out on this machine and for the registries in `plain_http`, each
    /// `host` or `host:port`.
    pub fn new(credentials: Credentials, plain_http: Vec<String>) -> Result<Self, OciError> {
        let limits = Limits::default();
        let transport = Arc::new(Direct::new(limits.connect)?);
        Ok(Self::with(transport, credentials, plain_http, limits))
    }

    /// One that makes its requests in another way.
    pub fn with(
        transport: Arc<dyn Transport>,
        credentials: Credentials,
        plain_http: Vec<String>,
        limits: Limits,
    ) -> Self {
        let (places, known) = (Places::new(plain_http), Mutex::default());
        Self(Arc::new(Shared { transport, credentials, places, limits, known }))
    }

    /// Pushes an artifact, its manifest last, and gives it a tag. Blobs that are there are not sent again.
    pub async fn push(
        &self,
        repository: &Repository,
        artifact: &Artifact,
        tag: &str,
    ) -> Result<Digest, OciError> {
        self.session(repository, Right::Push)?.push(artifact, tag).await
    }

    /// Pushes a manifest that was made elsewhere, after the blobs that it names, and gives it a tag.
    pub async fn push_manifest(
        &self,
        repository: &Repository,
        blobs: &[Bytes],
        manifest: Bytes,
        tag: &str,
    ) -> Result<Digest, OciError> {
        self.session(repository, Right::Push)?.push_manifest(blobs, manifest, tag).await
    }

    /// Lets a tag mean what has this digest.
    pub async fn retag(&self, repository: &Repository, from: &Digest, tag: &str) -> Result<(), OciError> {
        self.session(repository, Right::Push)?.retag(from, tag).await
    }

    /// What a reference means.
    pub async fn resolve(&self, reference: &Reference) -> Result<(Digest, Manifest), OciError> {
        self.session(&reference.repository, Right::Pull)?.resolve(reference).await
    }

    /// A blob of at most `limit` bytes, which has its digest.
    pub async fn blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: u64,
    ) -> Result<Bytes, OciError> {
        self.session(repository, Right::Pull)?.blob(blob, limit).await
    }

    /// The same piece by piece, for whoever has a place for it.
    pub async fn open_blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: u64,
    ) -> Result<BlobReader, OciError> {
        self.session(repository, Right::Pull)?.open(blob, limit).await
    }

    /// All tags, in the registry's order; an error if there are more than 10 000. A repository that nothing was ever pushed to is [`OciError::NotFound`].
    pub async fn tags(&self, repository: &Repository) -> Result<Vec<String>, OciError> {
        self.session(repository, Right::Pull)?.tags().await
    }

    /// The numbers of the `newest` versions of a training, in order, however many tags there are beside them.
    pub async fn versions(
        &self,
        repository: &Repository,
        name: &str,
        newest: usize,
    ) -> Result<Vec<u64>, OciError> {
        self.session(repository, Right::Pull)?.versions(name, newest).await
    }

    fn session<'a>(&'a self, repository: &'a Repository, right: Right) -> Result<Session<'a>, OciError> {
        Session::new(&self.0, repository, right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_move(_: &impl Send) {}

    #[test]
    fn operations_may_run_on_any_thread() {
        let client = Client::new(Credentials::none(), Vec::new()).unwrap();
        let models = Repository::parse("localhost/models").unwrap();
        let (tagged, digest) = (models.tagged("a"), Digest::of(b""));
        let blob =
            Descriptor { media_type: String::new(), digest: digest.clone(), size: 0, annotations: [].into() };
        let artifact = Artifact { artifact_type: String::new(), annotations: [].into(), layers: Vec::new() };
        may_move(&client.push(&models, &artifact, "a"));
        may_move(&client.push_manifest(&models, &[], Bytes::new(), "a"));
        may_move(&client.retag(&models, &digest, "a"));
        may_move(&client.resolve(&tagged));
        may_move(&client.blob(&models, &blob, 0));
        may_move(&client.open_blob(&models, &blob, 0));
        may_move(&client.tags(&models));
        may_move(&client.versions(&models, "a", 1));
    }
}
