//! Models that lie in an OCI registry as artifacts.
//!
//! A manifest names the layer that is the model, by digest: what arrives is used only if it has that digest, and if the
//! manifest has the digest that the job has pinned. A tag is asked for anew after a minute; while its registry is down,
//! what it meant last is used for a while, with a warning. Models are kept on disk by digest ([`cache`]), so that a
//! model is pulled once per machine.
//!
//! The protocol is a few GETs, made with the client that inputs are fetched with: the same limits, the same care about
//! addresses and secrets. Private networks may be reached, because that is where registries are; link-local addresses
//! may not. TLS may be left out on this machine and for registries in `VMAFX_OCI_PLAIN_HTTP`.

mod cache;
mod challenge;
mod credentials;
mod manifest;
mod reference;
mod registry;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use self::cache::Cache;
use self::manifest::ManifestError;
use self::reference::{Digest, Reference};
use self::registry::Registry;
use super::{Found, ModelSettings};
use crate::failure::{Failure, Reason};
use crate::fetch::{Fetcher, Problem};
use crate::scratch::ScratchError;
use crate::task::Model;

pub(super) use cache::Pin;
pub use credentials::Credentials;
pub use reference::ReferenceError;

/// Longest model.
const MODEL: u64 = 64 << 20;

/// References that are remembered.
const REMEMBERED: usize = 256;

/// Why a model cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArtifactError {
    #[error(transparent)]
    Fetch(#[from] Problem),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("{what} does not have the digest {expected}")]
    Digest { what: &'static str, expected: Digest },
    #[error("{0} without TLS: add it to VMAFX_OCI_PLAIN_HTTP if that is meant")]
    Plain(String),
    #[error("the model is longer than {MODEL} bytes")]
    TooLarge,
    #[error("the cache of models cannot be used")]
    Cache(#[source] std::io::Error),
}

impl ArtifactError {
    fn reason(&self) -> Reason {
        match self {
            Self::Fetch(Problem::NotFound(_) | Problem::Denied(_) | Problem::AddressInside(_))
            | Self::Plain(_) => Reason::ModelNotFound,
            Self::Fetch(problem) if problem.reason().may_pass() => problem.reason(),
            Self::Cache(_) => Reason::Internal,
            _ => Reason::ModelInvalid,
        }
    }

    fn may_pass(&self) -> bool {
        matches!(self, Self::Fetch(problem) if problem.reason().may_pass())
    }
}

/// Models of registries.
#[derive(Debug)]
pub(super) struct Artifacts {
    registry: Registry,
    cache: Cache,
    known: Mutex<HashMap<String, Known>>,
    pulls: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    fresh: Duration,
    stale: Duration,
}

/// What a reference meant, and when.
#[derive(Clone, Debug)]
struct Known {
    layer: Digest,
    at: Instant,
}

impl Artifacts {
    pub(super) fn new(
        settings: &ModelSettings,
        credentials: Credentials,
        fetcher: &Fetcher,
    ) -> Result<Self, ScratchError> {
        Ok(Self {
            registry: Registry::new(fetcher, credentials, settings.oci_plain_http.clone()),
            cache: Cache::open(&fetcher.tools().scratch, settings.model_cache_bytes.0)?,
            known: Mutex::default(),
            pulls: Mutex::default(),
            fresh: settings.model_tag_ttl.0,
            stale: settings.model_tag_stale.0,
        })
    }

    pub(super) async fn find(&self, name: &str) -> Result<Found, Failure> {
        let reference = Reference::parse(name)?;
        // One at a time asks for the same reference; the others find what it got. If it leaves, the next one asks.
        let pull = self.pull_of(name);
        let _alone = pull.lock().await;
        let pin = self
            .pinned(&reference, name)
            .await
            .map_err(|error| Failure::new(error.reason(), format!("{reference}: {error}")))?;
        Ok(Found {
            model: Model::File { path: pin.path().to_owned(), name: reference.to_string() },
            _pin: Some(pin),
        })
    }

    async fn pinned(&self, reference: &Reference, name: &str) -> Result<Pin, ArtifactError> {
        let known = self.known().get(name).cloned();
        // What is named by digest never means anything else.
        let trusted =
            known.as_ref().filter(|known| reference.digest.is_some() || known.at.elapsed() < self.fresh);
        if let Some(known) = trusted
            && let Some(pin) = self.cache.find(&known.layer).await?
        {
            return Ok(pin);
        }
        match self.pull(reference, name).await {
            Err(error) if error.may_pass() => {
                let usable = known.filter(|known| known.at.elapsed() < self.stale);
                let Some(known) = usable else { return Err(error) };
                let Some(pin) = self.cache.find(&known.layer).await? else { return Err(error) };
                let age = known.at.elapsed();
                tracing::warn!(model = %reference, %error, ?age, digest = %known.layer, "the registry does not answer: using what the tag meant before");
                Ok(pin)
            }
            other => other,
        }
    }

    async fn pull(&self, reference: &Reference, name: &str) -> Result<Pin, ArtifactError> {
        let mut session = self.registry.session(reference)?;
        let layer = session.model_layer().await?;
        let pin = if let Some(pin) = self.cache.find(&layer.digest).await? {
            pin
        } else {
            let file = session.blob(&layer).await?;
            self.cache.keep(file, &layer.digest).await?
        };
        let mut known = self.known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(name.to_owned(), Known { layer: layer.digest, at: Instant::now() });
        Ok(pin)
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
