//! Pushing manifests and blobs.

use bytes::Bytes;
use reqwest::{Method, StatusCode};

use super::pull::MAX_MANIFEST_BYTES;
use super::response::RegistryAccess;
use super::session::{RegistryRequest, RegistrySession, location};
use crate::artifact::Artifact;
use crate::digest::Digest;
use crate::error::OciError;
use crate::manifest::OCI_MANIFEST;
use crate::reference::is_tag;

/// Response header with the digest of the manifest that was stored.
const CONTENT_DIGEST: &str = "docker-content-digest";

impl RegistrySession<'_> {
    pub(super) async fn push(&self, artifact: &Artifact, tag: &str) -> Result<Digest, OciError> {
        let blobs: Vec<_> = artifact.blobs().collect();
        self.push_manifest(&blobs, Bytes::from(artifact.manifest()), tag).await
    }

    pub(super) async fn push_manifest(
        &self,
        blobs: &[Bytes],
        manifest: Bytes,
        tag: &str,
    ) -> Result<Digest, OciError> {
        check_tag(tag)?;
        if manifest.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(OciError::TooLarge { what: "the manifest", limit: MAX_MANIFEST_BYTES });
        }
        for blob in blobs {
            self.retrying(|| self.upload(blob)).await?;
        }
        self.put_manifest(tag, OCI_MANIFEST, manifest).await
    }

    pub(super) async fn retag(&self, from: &Digest, tag: &str) -> Result<(), OciError> {
        check_tag(tag)?;
        let stored = self.manifest(&from.to_string(), Some(from)).await?;
        self.put_manifest(tag, &stored.media_type, stored.json).await.map(drop)
    }

    /// Uploads a blob, unless it exists.
    async fn upload(&self, content: &Bytes) -> Result<(), OciError> {
        let digest = Digest::of(content);
        let head = RegistryRequest::new(Method::HEAD, self.url(&format!("blobs/{digest}"))?);
        let response = self.send(&head).await?;
        if response.status() != StatusCode::NOT_FOUND {
            return self.expect(response, &[StatusCode::OK], RegistryAccess::Read).await.map(drop);
        }
        let start = RegistryRequest::new(Method::POST, self.url("blobs/uploads/")?);
        let start = start.content("application/octet-stream", Bytes::new());
        let response = self.send(&start).await?;
        let response = self.expect(response, &[StatusCode::ACCEPTED], RegistryAccess::Store).await?;
        // The location may be relative or on another host, and its query belongs to the upload session.
        let mut upload_url = location(response.url(), &response)?;
        upload_url.query_pairs_mut().append_pair("digest", &digest.to_string());
        let put = RegistryRequest::new(Method::PUT, upload_url)
            .content("application/octet-stream", content.clone());
        let response = self.send(&put).await?;
        let stored = [StatusCode::CREATED, StatusCode::NO_CONTENT];
        match self.expect(response, &stored, RegistryAccess::Store).await {
            // The registry has lost the upload session, not the repository: the retry starts a new one.
            Err(OciError::NotFound { response }) => Err(OciError::Unavailable { response }),
            other => other.map(drop),
        }
    }

    async fn put_manifest(&self, tag: &str, media_type: &str, json: Bytes) -> Result<Digest, OciError> {
        let request = RegistryRequest::new(Method::PUT, self.url(&format!("manifests/{tag}"))?)
            .content(media_type, json.clone());
        let stored = self.retrying(|| self.put_once(&request)).await?;
        let expected = Digest::of(&json);
        match stored.map(|stored| stored.parse::<Digest>()) {
            Some(stored) if stored.as_ref() != Ok(&expected) => {
                Err(OciError::DigestMismatch { what: "the manifest that the registry stored", expected })
            }
            _ => Ok(expected),
        }
    }

    async fn put_once(&self, request: &RegistryRequest) -> Result<Option<String>, OciError> {
        let response = self.send(request).await?;
        let stored = [StatusCode::CREATED, StatusCode::OK, StatusCode::ACCEPTED];
        let response = self.expect(response, &stored, RegistryAccess::Store).await?;
        let digest = response.headers().get(CONTENT_DIGEST).and_then(|value| value.to_str().ok());
        Ok(digest.map(str::to_owned))
    }
}

fn check_tag(tag: &str) -> Result<(), OciError> {
    if is_tag(tag) { Ok(()) } else { Err(OciError::InvalidTag(tag.to_owned())) }
}
