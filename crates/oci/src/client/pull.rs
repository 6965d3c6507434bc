//! Manifests and blobs.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Response, StatusCode};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout_at};

use super::answer::Doing;
use super::session::{Ask, Session};
use crate::digest::Digest;
use crate::error::OciError;
use crate::manifest::{Descriptor, Manifest, OCI_MANIFEST};
use crate::reference::Reference;

/// Longest manifest; distribution's own registry takes no longer ones.
pub(super) const MANIFEST: u64 = 4 << 20;

/// An index is asked for too, so that it can be told what it is.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.index.v1+json";

/// Room that is made for a blob before the first byte of it is here.
const AT_ONCE: u64 = 1 << 20;

/// A manifest as it lies in a registry.
pub(super) struct Stored {
    pub(super) media_type: String,
    pub(super) json: Bytes,
}

impl Session<'_> {
    pub(super) async fn resolve(&self, reference: &Reference) -> Result<(Digest, Manifest), OciError> {
        let stored = self.manifest(&reference.wanted(), reference.digest.as_ref()).await?;
        Ok((Digest::of(&stored.json), Manifest::parse(&stored.json)?))
    }

    /// The manifest of that name, which has the digest if one is given.
    pub(super) async fn manifest(&self, name: &str, pinned: Option<&Digest>) -> Result<Stored, OciError> {
        let ask = Ask::new(Method::GET, self.url(&format!("manifests/{name}"))?).accept(MANIFESTS);
        let stored = self.retrying(|| self.manifest_once(&ask)).await?;
        match pinned {
            Some(expected) if Digest::of(&stored.json) != *expected => {
                Err(OciError::Digest { what: "its manifest", expected: expected.clone() })
            }
            _ => Ok(stored),
        }
    }

    async fn manifest_once(&self, ask: &Ask) -> Result<Stored, OciError> {
        let answer = self.ask(ask).await?;
        let answer = self.expect(answer, &[StatusCode::OK], Doing::Reading).await?;
        let media_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.unwrap_or(OCI_MANIFEST).to_owned();
        let json = self.whole(answer, MANIFEST, "its manifest").await?.into();
        Ok(Stored { media_type, json })
    }

    pub(super) async fn blob(&self, blob: &Descriptor, limit: u64) -> Result<Bytes, OciError> {
        self.retrying(|| self.blob_once(blob, limit)).await
    }

    async fn blob_once(&self, blob: &Descriptor, limit: u64) -> Result<Bytes, OciError> {
        let mut reader = self.open_once(blob, limit).await?;
        let mut whole = BytesMut::with_capacity(usize::try_from(blob.size.min(AT_ONCE)).unwrap_or_default());
        while let Some(piece) = reader.piece().await? {
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    pub(super) async fn open(&self, blob: &Descriptor, limit: u64) -> Result<BlobReader, OciError> {
        self.retrying(|| self.open_once(blob, limit)).await
    }

    async fn open_once(&self, blob: &Descriptor, limit: u64) -> Result<BlobReader, OciError> {
        if blob.size > limit {
            return Err(OciError::TooLarge { what: "its layer", limit });
        }
        let ask = Ask::new(Method::GET, self.url(&format!("blobs/{}", blob.digest))?);
        let answer = self.ask(&ask).await?;
        let answer = self.expect(answer, &[StatusCode::OK], Doing::Reading).await?;
        let (idle, whole) = (self.client.limits.idle, self.client.limits.whole);
        let (blob, hash) = (blob.clone(), Sha256::new());
        Ok(BlobReader { answer, blob, hash: Some(hash), got: 0, idle, whole, deadline: self.deadline })
    }
}

/// A blob on its way. What has come is good only once [`BlobReader::piece`] has said that there is no more.
#[derive(Debug)]
pub struct BlobReader {
    answer: Response,
    blob: Descriptor,
    hash: Option<Sha256>,
    got: u64,
    idle: Duration,
    whole: Duration,
    deadline: Instant,
}

impl BlobReader {
    /// The next piece; nothing after the last one, if all of them together have the digest.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, OciError> {
        let (size, now) = (self.blob.size, Instant::now());
        let quiet = now + self.idle;
        let at = quiet.min(self.deadline);
        let piece = timeout_at(at, self.answer.chunk()).await.map_err(|_| {
            if quiet < self.deadline { OciError::Silent(self.idle) } else { OciError::Overdue(self.whole) }
        })?;
        let cut = OciError::Cut { got: self.got, of: size };
        let Ok(piece) = piece else { return Err(cut) };
        match (piece, &mut self.hash) {
            (Some(piece), Some(hash)) => {
                hash.update(&piece);
                self.got += piece.len() as u64;
                let limit = size;
                if self.got > size {
                    Err(OciError::TooLarge { what: "its layer", limit })
                } else {
                    Ok(Some(piece))
                }
            }
            (None, _) if self.got < size => Err(cut),
            (None, hash) => {
                let found = hash.take().map(|hash| Digest::from_hash(&hash.finalize()));
                let expected = self.blob.digest.clone();
                if found.is_none_or(|found| found == expected) {
                    Ok(None)
                } else {
                    Err(OciError::Digest { what: "its layer", expected })
                }
            }
            (Some(_), None) => Err(OciError::Protocol("it goes on behind its end")),
        }
    }
}
