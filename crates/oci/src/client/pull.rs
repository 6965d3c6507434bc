//! Pulling manifests and blobs.

use bytes::{Bytes, BytesMut};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Response, StatusCode};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout_at};

use super::limits::RegistryLimits;
use super::response::RegistryAccess;
use super::session::{RegistryRequest, RegistrySession};
use crate::digest::Digest;
use crate::error::OciError;
use crate::manifest::{Descriptor, Manifest, OCI_MANIFEST};
use crate::reference::ArtifactReference;

/// CNCF Distribution accepts no larger manifests either.
pub(super) const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// Includes the index type, so that the error can say that it is an index.
const MANIFEST_TYPES: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.index.v1+json";

/// Memory that is reserved for a blob before its first byte arrives.
const MAX_INITIAL_CAPACITY: u64 = 1 << 20;

pub(super) struct StoredManifest {
    pub(super) media_type: String,
    pub(super) json: Bytes,
}

impl RegistrySession<'_> {
    pub(super) async fn resolve(
        &self,
        reference: &ArtifactReference,
    ) -> Result<(Digest, Manifest), OciError> {
        let stored = self.manifest(&reference.digest_or_tag(), reference.digest.as_ref()).await?;
        Ok((Digest::of(&stored.json), Manifest::parse(&stored.json)?))
    }

    /// The manifest with this tag or digest, verified against `pinned`.
    pub(super) async fn manifest(
        &self,
        name: &str,
        pinned: Option<&Digest>,
    ) -> Result<StoredManifest, OciError> {
        let request =
            RegistryRequest::new(Method::GET, self.url(&format!("manifests/{name}"))?).accept(MANIFEST_TYPES);
        let stored = self.retrying(|| self.manifest_once(&request)).await?;
        match pinned {
            Some(expected) if Digest::of(&stored.json) != *expected => {
                Err(OciError::DigestMismatch { what: "its manifest", expected: expected.clone() })
            }
            _ => Ok(stored),
        }
    }

    async fn manifest_once(&self, request: &RegistryRequest) -> Result<StoredManifest, OciError> {
        let response = self.send(request).await?;
        let response = self.expect(response, &[StatusCode::OK], RegistryAccess::Read).await?;
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.unwrap_or(OCI_MANIFEST).to_owned();
        let json = self.read_body(response, MAX_MANIFEST_BYTES, "its manifest").await?.into();
        Ok(StoredManifest { media_type, json })
    }

    pub(super) async fn blob(&self, blob: &Descriptor, limit: u64) -> Result<Bytes, OciError> {
        self.retrying(|| self.blob_once(blob, limit)).await
    }

    async fn blob_once(&self, blob: &Descriptor, limit: u64) -> Result<Bytes, OciError> {
        let mut reader = self.open_once(blob, limit).await?;
        let mut content =
            BytesMut::with_capacity(usize::try_from(blob.size.min(MAX_INITIAL_CAPACITY)).unwrap_or_default());
        while let Some(chunk) = reader.chunk().await? {
            content.extend_from_slice(&chunk);
        }
        Ok(content.freeze())
    }

    pub(super) async fn open(&self, blob: &Descriptor, limit: u64) -> Result<BlobReader, OciError> {
        self.retrying(|| self.open_once(blob, limit)).await
    }

    async fn open_once(&self, blob: &Descriptor, limit: u64) -> Result<BlobReader, OciError> {
        if blob.size > limit {
            return Err(OciError::TooLarge { what: "its layer", limit });
        }
        let request = RegistryRequest::new(Method::GET, self.url(&format!("blobs/{}", blob.digest))?);
        let response = self.send(&request).await?;
        let response = self.expect(response, &[StatusCode::OK], RegistryAccess::Read).await?;
        let limits = self.client.limits.clone();
        let (blob, hash) = (blob.clone(), Sha256::new());
        Ok(BlobReader { response, blob, hash: Some(hash), got: 0, limits, deadline: self.deadline })
    }
}

/// A blob that is being downloaded. Its content is verified only once [`BlobReader::chunk`] has returned `None`.
#[derive(Debug)]
pub struct BlobReader {
    response: Response,
    blob: Descriptor,
    hash: Option<Sha256>,
    got: u64,
    limits: RegistryLimits,
    deadline: Instant,
}

impl BlobReader {
    /// The next chunk; `None` after the last one, if the content has its digest.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, OciError> {
        let size = self.blob.size;
        let idle_until = Instant::now() + self.limits.idle;
        let chunk = timeout_at(idle_until.min(self.deadline), self.response.chunk()).await.map_err(|_| {
            if idle_until < self.deadline {
                OciError::Timeout(self.limits.idle)
            } else {
                OciError::DeadlineExceeded(self.limits.operation)
            }
        })?;
        let truncated = OciError::Truncated { got: self.got, of: size };
        let Ok(chunk) = chunk else { return Err(truncated) };
        match (chunk, &mut self.hash) {
            (Some(chunk), Some(hash)) => {
                hash.update(&chunk);
                self.got += chunk.len() as u64;
                if self.got > size {
                    Err(OciError::TooLarge { what: "its layer", limit: size })
                } else {
                    Ok(Some(chunk))
                }
            }
            (None, _) if self.got < size => Err(truncated),
            (None, hash) => {
                let actual = hash.take().map(|hash| Digest::from_hash(&hash.finalize()));
                let expected = self.blob.digest.clone();
                if actual.is_none_or(|actual| actual == expected) {
                    Ok(None)
                } else {
                    Err(OciError::DigestMismatch { what: "its layer", expected })
                }
            }
            (Some(_), None) => Err(OciError::Protocol("a body continues after its end")),
        }
    }
}
