//! Uploads.

use bytes::Bytes;
use reqwest::{Method, StatusCode};

use super::answer::Doing;
use super::pull::MANIFEST;
use super::session::{Ask, Session, location};
use crate::artifact::Artifact;
use crate::digest::Digest;
use crate::error::OciError;
use crate::manifest::OCI_MANIFEST;
use crate::reference::is_tag;

/// In which a registry says what it has stored.
const STORED: &str = "docker-content-digest";

impl Session<'_> {
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
        check(tag)?;
        if manifest.len() as u64 > MANIFEST {
            return Err(OciError::TooLarge { what: "the manifest", limit: MANIFEST });
        }
        for blob in blobs {
            self.retrying(|| self.upload(blob)).await?;
        }
        self.put_manifest(tag, OCI_MANIFEST, manifest).await
    }

    pub(super) async fn retag(&self, from: &Digest, tag: &str) -> Result<(), OciError> {
        check(tag)?;
        let stored = self.manifest(&from.to_string(), Some(from)).await?;
        self.put_manifest(tag, &stored.media_type, stored.json).await.map(drop)
    }

    /// Brings a blob, unless it is there.
    async fn upload(&self, content: &Bytes) -> Result<(), OciError> {
        let digest = Digest::of(content);
        let head = Ask::new(Method::HEAD, self.url(&format!("blobs/{digest}"))?);
        let answer = self.ask(&head).await?;
        if answer.response.status() != StatusCode::NOT_FOUND {
            return self.expect(answer, &[StatusCode::OK], Doing::Reading).await.map(drop);
        }
        let begin = Ask::new(Method::POST, self.url("blobs/uploads/")?);
        let begin = begin.content("application/octet-stream", Bytes::new());
        let answer = self.ask(&begin).await?;
        let answer = self.expect(answer, &[StatusCode::ACCEPTED], Doing::Storing).await?;
        // Relative or not, here or elsewhere, with a query that belongs to the upload.
        let mut place = location(answer.url(), &answer)?;
        place.query_pairs_mut().append_pair("digest", &digest.to_string());
        let bring = Ask::new(Method::PUT, place).content("application/octet-stream", content.clone());
        let answer = self.ask(&bring).await?;
        match self.expect(answer, &[StatusCode::CREATED, StatusCode::NO_CONTENT], Doing::Storing).await {
            // The place was there a moment ago: the registry has forgotten the upload, not the repository.
            Err(OciError::NotFound { answer }) => Err(OciError::Unavailable { answer }),
            other => other.map(drop),
        }
    }

    async fn put_manifest(&self, tag: &str, media_type: &str, json: Bytes) -> Result<Digest, OciError> {
        let ask = Ask::new(Method::PUT, self.url(&format!("manifests/{tag}"))?);
        let ask = ask.content(media_type, json.clone());
        let stored = self.retrying(|| self.put_once(&ask)).await?;
        let expected = Digest::of(&json);
        match stored.map(|stored| stored.parse::<Digest>()) {
            Some(stored) if stored.as_ref() != Ok(&expected) => {
                Err(OciError::Digest { what: "what the registry has stored", expected })
            }
            _ => Ok(expected),
        }
    }

    async fn put_once(&self, ask: &Ask) -> Result<Option<String>, OciError> {
        let answer = self.ask(ask).await?;
        let wanted = [StatusCode::CREATED, StatusCode::OK, StatusCode::ACCEPTED];
        let answer = self.expect(answer, &wanted, Doing::Storing).await?;
        let stored = answer.headers().get(STORED).and_then(|value| value.to_str().ok());
        Ok(stored.map(str::to_owned))
    }
}

fn check(tag: &str) -> Result<(), OciError> {
    if is_tag(tag) { Ok(()) } else { Err(OciError::Tag(tag.to_owned())) }
}
