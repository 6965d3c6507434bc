//! Models that lie in an OCI registry as artifacts.
//!
//! A manifest names the layer that is the model, by digest: what arrives is used only if it has that digest, and if the
//! manifest has the digest that the job has pinned. A tag is asked for anew after a minute; while its registry is down,
//! what it meant last is used for a while, with a warning. Models are kept on disk by digest ([`cache`]), so that a
//! model is pulled once per machine.
//!
//! The protocol is [`vmafx_oci`]'s; its requests are made with the client that inputs are fetched with ([`guarded`]):
//! the same limits, the same care about addresses and secrets. Private networks may be reached, because that is where
//! registries are; link-local addresses may not. TLS may be left out on this machine and for registries in
//! `VMAFX_OCI_PLAIN_HTTP`.

mod cache;
mod guarded;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use vmafx_job::{Failure, FailureReason};
use vmafx_oci::manifest::MAX_MODEL_BYTES;
use vmafx_oci::{
    ArtifactReference, BlobReader, Descriptor, Digest, OciError, RegistryClient, RegistryCredentials,
    RegistryFailure,
};

use self::cache::Cache;
use self::guarded::Guarded;
use super::{Found, ModelSettings};
use crate::fetch::{Fetcher, Problem, Tools};
use crate::scratch::{Patience, ScratchError, ScratchFile};
use crate::task::ModelSource;

pub(super) use cache::Pin;

/// A model is small: whoever needs longer is not coming.
const WHOLE: Duration = Duration::from_mins(5);

/// References that are remembered.
const REMEMBERED: usize = 256;

/// Why a model cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArtifactError {
    #[error(transparent)]
    Registry(#[from] OciError),
    #[error(transparent)]
    Scratch(#[from] Problem),
    #[error("the cache of models cannot be used")]
    Cache(#[source] std::io::Error),
}

impl ArtifactError {
    fn reason(&self) -> FailureReason {
        match self {
            Self::Scratch(problem) => problem.reason(),
            Self::Cache(_) => FailureReason::Internal,
            Self::Registry(error) => match error.reason() {
                RegistryFailure::Unavailable | RegistryFailure::TlsFailed => FailureReason::SourceUnreachable,
                RegistryFailure::Unauthorized
                | RegistryFailure::Denied
                | RegistryFailure::NotFound
                | RegistryFailure::Refused
                | RegistryFailure::WithoutTls => FailureReason::ModelNotFound,
                RegistryFailure::Full
                | RegistryFailure::StorageFailed
                | RegistryFailure::ReadOnly
                | RegistryFailure::DigestMismatch
                | RegistryFailure::ManifestInvalid
                | RegistryFailure::TooLarge => FailureReason::ModelInvalid,
            },
        }
    }

    fn may_pass(&self) -> bool {
        !matches!(self, Self::Cache(_)) && self.reason().is_retryable()
    }
}

/// Models of registries.
#[derive(Debug)]
pub(super) struct Artifacts {
    client: RegistryClient,
    tools: Arc<Tools>,
    cache: Cache,
    known: Mutex<HashMap<String, Known>>,
    pulls: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    fresh: Duration,
    stale: Duration,
}

/// What a reference meant, and when.
#[derive(Clone, Debug)]
struct Known {
    manifest: Digest,
    layer: Digest,
    at: Instant,
}

impl Artifacts {
    pub(super) fn new(
        settings: &ModelSettings,
        credentials: RegistryCredentials,
        fetcher: &Fetcher,
    ) -> Result<Self, ScratchError> {
        let tools = Arc::clone(fetcher.tools());
        let transport = Arc::new(Guarded(Arc::clone(&tools)));
        let limits = vmafx_oci::RegistryLimits {
            connect: tools.limits.connect,
            headers: tools.limits.headers,
            idle: tools.limits.idle,
            operation: WHOLE.min(tools.limits.whole),
            attempts: tools.limits.attempts,
            back_off: tools.limits.back_off,
            max_redirects: tools.limits.redirects,
        };
        Ok(Self {
            client: RegistryClient::with(transport, credentials, settings.oci_plain_http.clone(), limits),
            tools,
            cache: Cache::open(&fetcher.tools().scratch, settings.model_cache_bytes.0)?,
            known: Mutex::default(),
            pulls: Mutex::default(),
            fresh: settings.model_tag_ttl.0,
            stale: settings.model_tag_stale.0,
        })
    }

    pub(super) async fn find(&self, name: &str) -> Result<Found, Failure> {
        let reference = ArtifactReference::parse(name)
            .map_err(|error| Failure::new(FailureReason::ModelNotFound, error.to_string()))?;
        // One at a time asks for the same reference; the others find what it got. If it leaves, the next one asks.
        let pull = self.pull_of(name);
        let _alone = pull.lock().await;
        let (pin, manifest) = self
            .pinned(&reference, name)
            .await
            .map_err(|error| Failure::new(error.reason(), format!("{reference}: {error}")))?;
        // A tag moves; with its digest the name says what was used, and can be asked for again.
        let name = match reference.digest {
            Some(_) => reference.to_string(),
            None => format!("{reference}@{manifest}"),
        };
        Ok(Found { model: ModelSource::File { path: pin.path().to_owned(), name }, _pin: Some(pin) })
    }

    /// The model's file, and the digest of the manifest that names it.
    async fn pinned(
        &self,
        reference: &ArtifactReference,
        name: &str,
    ) -> Result<(Pin, Digest), ArtifactError> {
        let known = self.known().get(name).cloned();
        // What is named by digest never means anything else.
        let trusted =
            known.as_ref().filter(|known| reference.digest.is_some() || known.at.elapsed() < self.fresh);
        if let Some(known) = trusted
            && let Some(pin) = self.cache.find(&known.layer).await?
        {
            return Ok((pin, known.manifest.clone()));
        }
        match self.pull(reference, name).await {
            Err(error) if error.may_pass() => {
                let usable = known.filter(|known| known.at.elapsed() < self.stale);
                let Some(known) = usable else { return Err(error) };
                let Some(pin) = self.cache.find(&known.layer).await? else { return Err(error) };
                let age = known.at.elapsed();
                tracing::warn!(model = %reference, %error, ?age, digest = %known.layer, "the registry does not answer: using what the tag meant before");
                Ok((pin, known.manifest))
            }
            other => other,
        }
    }

    async fn pull(&self, reference: &ArtifactReference, name: &str) -> Result<(Pin, Digest), ArtifactError> {
        let (digest, manifest) = self.client.resolve(reference).await?;
        let layer = manifest.model().map_err(OciError::from)?;
        let pin = if let Some(pin) = self.cache.find(&layer.digest).await? {
            pin
        } else {
            let file = self.fetch(reference, layer).await?;
            self.cache.keep(file, &layer.digest).await?
        };
        let mut known = self.known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        let now = Known { manifest: digest.clone(), layer: layer.digest.clone(), at: Instant::now() };
        known.insert(name.to_owned(), now);
        Ok((pin, digest))
    }

    /// Gets a layer into a file, from its beginning again if it breaks off.
    async fn fetch(
        &self,
        reference: &ArtifactReference,
        layer: &Descriptor,
    ) -> Result<ScratchFile, ArtifactError> {
        let mut pauses = self.tools.limits.pauses();
        loop {
            let blob = self.client.open_blob(&reference.repository, layer, MAX_MODEL_BYTES).await?;
            match self.receive(blob, layer.size).await {
                Err(ArtifactError::Registry(error)) if error.is_transient() => {
                    let Some(pause) = pauses.next() else { return Err(error.into()) };
                    tokio::time::sleep(pause).await;
                }
                other => return other,
            }
        }
    }

    /// What does not have its digest is thrown away with its file.
    async fn receive(&self, mut blob: BlobReader, size: u64) -> Result<ScratchFile, ArtifactError> {
        let mut file = self.tools.scratch.file().map_err(Problem::from)?;
        file.reserve(size, Patience::Waits).await.map_err(Problem::from)?;
        while let Some(piece) = blob.chunk().await? {
            file.write(&piece).await.map_err(Problem::from)?;
        }
        file.finish().await.map_err(Problem::from)?;
        Ok(file)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pull_of(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut pulls = self.pulls.lock().unwrap_or_else(PoisonError::into_inner);
        pulls.retain(|_, pull| pull.strong_count() > 0);
        let pull = pulls.get(name).and_then(Weak::upgrade).unwrap_or_default();
        pulls.insert(name.to_owned(), Arc::downgrade(&pull));
        pull
    }
}
