//! Models that are artifacts of an OCI registry.
//!
//! A manifest names the layer of the model by digest: a layer is used only if it has that digest, and if the manifest has the
//! digest that the job pins. A tag is resolved again after a minute; while its registry is down, its last resolution is used
//! for a while, with a warning. Models are cached on disk by digest ([`model_cache`]), so that a model is pulled once per
//! machine.
//!
//! [`vmafx_oci`] implements the protocol, with the limits of the fetcher. A job chooses the registry, and the registry its
//! token server and redirects, so each of these connections passes [`vmafx_kit::egress`]: private networks are refused unless
//! an administrator listed the host. Registries on this machine and those in `VMAFX_OCI_PLAIN_HTTP` need no TLS.

mod model_cache;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use vmafx_job::{Failure, FailureReason, RetryClass};
use vmafx_oci::manifest::MAX_MODEL_BYTES;
use vmafx_oci::{
    ArtifactReference, BlobReader, Descriptor, Digest, GuardedTransport, OciError, RegistryClient,
    RegistryCredentials, RegistryFailure,
};

use self::model_cache::ModelCache;
use super::{ModelSettings, ModelsError, ResolvedModel};
use crate::fetch::{FetchContext, FetchProblem, Fetcher};
use crate::scratch::{ReserveMode, ScratchFile};
use crate::task::ModelSource;

pub(super) use model_cache::CachedModel;

/// A model is small, so a pull that takes longer will not succeed.
const PULL_TIMEOUT: Duration = Duration::from_mins(5);

/// References whose resolution is kept.
const MAX_RESOLUTIONS: usize = 256;

/// Why a model cannot be pulled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArtifactError {
    #[error(transparent)]
    Registry(#[from] OciError),
    #[error(transparent)]
    Scratch(#[from] FetchProblem),
    #[error("cannot use the cache of models")]
    Cache(#[source] std::io::Error),
}

impl ArtifactError {
    fn reason(&self) -> FailureReason {
        match self {
            Self::Scratch(problem) => problem.reason(),
            Self::Cache(_) => FailureReason::Internal,
            Self::Registry(error) => match error.reason() {
                RegistryFailure::Unavailable | RegistryFailure::TlsFailed => FailureReason::SourceUnreachable,
                RegistryFailure::Unauthorized | RegistryFailure::Denied => FailureReason::ModelMissingOnNode,
                RegistryFailure::NotFound | RegistryFailure::Refused | RegistryFailure::WithoutTls => {
                    FailureReason::ModelNotFound
                }
                RegistryFailure::Full
                | RegistryFailure::StorageFailed
                | RegistryFailure::ReadOnly
                | RegistryFailure::DigestMismatch
                | RegistryFailure::ManifestInvalid
                | RegistryFailure::TooLarge => FailureReason::ModelInvalid,
            },
        }
    }

    fn is_retryable(&self) -> bool {
        !matches!(self, Self::Cache(_))
            && matches!(self.reason().retry_class(), RetryClass::Node | RetryClass::Moment)
    }
}

#[derive(Debug)]
pub(super) struct OciModels {
    client: RegistryClient,
    context: Arc<FetchContext>,
    cache: ModelCache,
    resolutions: Mutex<HashMap<String, Resolution>>,
    pulls: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    /// How long a resolution is used without asking the registry.
    ttl: Duration,
    /// How long a resolution is used while the registry does not answer.
    max_stale: Duration,
}

/// What a reference was resolved to, and when.
#[derive(Clone, Debug)]
struct Resolution {
    manifest: Digest,
    layer: Digest,
    at: Instant,
}

impl OciModels {
    pub(super) fn new(
        settings: &ModelSettings,
        credentials: RegistryCredentials,
        fetcher: &Fetcher,
    ) -> Result<Self, ModelsError> {
        let context = Arc::clone(fetcher.context());
        let transport = Arc::new(GuardedTransport::new(context.limits.connect, settings.private_hosts())?);
        let limits = vmafx_oci::RegistryLimits {
            connect: context.limits.connect,
            headers: context.limits.headers,
            idle: context.limits.idle,
            operation: PULL_TIMEOUT.min(context.limits.total),
            attempts: context.limits.attempts,
            back_off: context.limits.back_off,
            max_redirects: context.limits.redirects,
        };
        Ok(Self {
            client: RegistryClient::with(transport, credentials, settings.oci_plain_http.clone(), limits),
            context,
            cache: ModelCache::open(&fetcher.context().scratch, settings.model_cache_bytes.0)?,
            resolutions: Mutex::default(),
            pulls: Mutex::default(),
            ttl: settings.model_tag_ttl.0,
            max_stale: settings.model_tag_stale.0,
        })
    }

    pub(super) async fn find(&self, name: &str) -> Result<ResolvedModel, Failure> {
        let reference = ArtifactReference::parse(name)
            .map_err(|error| Failure::new(FailureReason::ModelNotFound, error.to_string()))?;
        // One job at a time resolves a reference, and the others use the result. If it is cancelled, the next one continues.
        let pull = self.pull_lock(name);
        let _exclusive = pull.lock().await;
        let (cached, manifest) = self
            .resolve(&reference, name)
            .await
            .map_err(|error| Failure::new(error.reason(), format!("{reference}: {error}")))?;
        // A tag moves, so the digest tells which model was used, and the name can be requested again as it is.
        let name = match reference.digest {
            Some(_) => reference.to_string(),
            None => format!("{reference}@{manifest}"),
        };
        Ok(ResolvedModel {
            source: ModelSource::File { path: cached.path().to_owned(), name },
            _cached: Some(cached),
        })
    }

    /// The model's file, and the digest of the manifest that names it.
    async fn resolve(
        &self,
        reference: &ArtifactReference,
        name: &str,
    ) -> Result<(CachedModel, Digest), ArtifactError> {
        let last = self.resolutions().get(name).cloned();
        // A digest always means the same model.
        let is_fresh = |last: &&Resolution| reference.digest.is_some() || last.at.elapsed() < self.ttl;
        if let Some(last) = last.as_ref().filter(is_fresh)
            && let Some(cached) = self.cache.find(&last.layer).await?
        {
            return Ok((cached, last.manifest.clone()));
        }
        match self.pull(reference, name).await {
            Err(error) if error.is_retryable() => {
                let usable = last.filter(|last| last.at.elapsed() < self.max_stale);
                let Some(last) = usable else { return Err(error) };
                let Some(cached) = self.cache.find(&last.layer).await? else { return Err(error) };
                let age = last.at.elapsed();
                tracing::warn!(model = %reference, %error, ?age, digest = %last.layer, "the registry does not answer; using the last resolution of the tag");
                Ok((cached, last.manifest))
            }
            other => other,
        }
    }

    async fn pull(
        &self,
        reference: &ArtifactReference,
        name: &str,
    ) -> Result<(CachedModel, Digest), ArtifactError> {
        let (digest, manifest) = self.client.resolve(reference).await?;
        let layer = manifest.model().map_err(OciError::from)?;
        let cached = if let Some(cached) = self.cache.find(&layer.digest).await? {
            cached
        } else {
            let file = self.fetch(reference, layer).await?;
            self.cache.insert(file, &layer.digest).await?
        };
        let mut resolutions = self.resolutions();
        if resolutions.len() >= MAX_RESOLUTIONS {
            resolutions.clear();
        }
        let resolution =
            Resolution { manifest: digest.clone(), layer: layer.digest.clone(), at: Instant::now() };
        resolutions.insert(name.to_owned(), resolution);
        Ok((cached, digest))
    }

    /// Downloads a layer into a file; a broken download starts again at the beginning.
    async fn fetch(
        &self,
        reference: &ArtifactReference,
        layer: &Descriptor,
    ) -> Result<ScratchFile, ArtifactError> {
        let mut delays = self.context.limits.retry_delays();
        loop {
            let blob = self.client.open_blob(&reference.repository, layer, MAX_MODEL_BYTES).await?;
            match self.receive(blob, layer.size).await {
                Err(ArtifactError::Registry(error)) if error.is_transient() => {
                    let Some(delay) = delays.next() else { return Err(error.into()) };
                    tokio::time::sleep(delay).await;
                }
                other => return other,
            }
        }
    }

    /// A layer with another digest is an error, and its file is removed.
    async fn receive(&self, mut blob: BlobReader, size: u64) -> Result<ScratchFile, ArtifactError> {
        let mut file = self.context.scratch.file().map_err(FetchProblem::from)?;
        file.reserve(size, ReserveMode::Wait).await.map_err(FetchProblem::from)?;
        while let Some(chunk) = blob.chunk().await? {
            file.write(&chunk).await.map_err(FetchProblem::from)?;
        }
        file.finish().await.map_err(FetchProblem::from)?;
        Ok(file)
    }

    fn resolutions(&self) -> std::sync::MutexGuard<'_, HashMap<String, Resolution>> {
        self.resolutions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pull_lock(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut pulls = self.pulls.lock().unwrap_or_else(PoisonError::into_inner);
        pulls.retain(|_, pull| pull.strong_count() > 0);
        let pull = pulls.get(name).and_then(Weak::upgrade).unwrap_or_default();
        pulls.insert(name.to_owned(), Arc::downgrade(&pull));
        pull
    }
}
