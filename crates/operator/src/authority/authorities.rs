//! The certificate authorities that clients trust, as a Secret stores them, and their rotation. For the webhooks the
//! client is the API server.
//!
//! | key                       | holds                                                                        |
//! |---------------------------|------------------------------------------------------------------------------|
//! | `tls.crt`, `tls.key`      | the current authority, which signs                                           |
//! | `next.crt`, `next.key`    | the next authority, until every client has its certificate                   |
//! | `previous.crt`            | the previous authority, until the last certificate that it signed expires    |
//! | `ca.crt`                  | the certificates of all three: what clients trust                            |
//! | annotation `vmafx.dev/next-since`     | when the next authority was generated                            |
//! | annotation `vmafx.dev/previous-until` | when the previous authority is removed                           |
//!
//! Every replica may perform every rotation step: the Secret is written by its resource version, so that one replica
//! wins and the others read what it wrote.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::ca::{AUTHORITY_REPLACED_BEFORE, CERTIFICATE_LIFE, CaCertificate, CaError, CertificateAuthority};
use super::clock::SkewedTime;

/// Time from the publication of the next authority to its first signature, so that every client has its certificate.
/// The kubelet needs up to two minutes to update the volume of a Pod.
pub const PUBLISHED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// How long the previous authority is trusted: the validity of the last certificate that it can have signed, and a day
/// for a slow replica.
pub const TRUSTED_FOR: SignedDuration = SignedDuration::from_hours(CERTIFICATE_LIFE.as_hours() + 24);

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const NEXT_CERTIFICATE: &str = "next.crt";
const NEXT_KEY: &str = "next.key";
const PREVIOUS: &str = "previous.crt";
const BUNDLE: &str = "ca.crt";
const NEXT_SINCE: &str = "vmafx.dev/next-since";
const PREVIOUS_UNTIL: &str = "vmafx.dev/previous-until";

/// Why the content of the Secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthoritySetError {
    #[error("{key} is missing or not text")]
    Missing { key: &'static str },
    #[error("{key} cannot be used")]
    Unusable {
        key: &'static str,
        #[source]
        source: CaError,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationStep {
    NextGenerated,
    /// The next authority is the current one now.
    NextPromoted,
    PreviousRemoved,
}

#[derive(Clone, Debug)]
pub struct AuthoritySet {
    pub current: Arc<CertificateAuthority>,
    /// With the time of its generation.
    pub next: Option<(Arc<CertificateAuthority>, Timestamp)>,
    /// With the time until which it is trusted.
    pub previous: Option<(CaCertificate, Timestamp)>,
}

impl AuthoritySet {
    pub fn generate(now: SkewedTime) -> Result<Self, CaError> {
        Ok(Self { current: Arc::new(CertificateAuthority::generate(now)?), next: None, previous: None })
    }

    /// Only the current authority must be valid: a next or previous one that cannot be used is ignored, and the next
    /// one is generated again when it is due.
    pub fn parse(secret: &Secret) -> Result<Self, AuthoritySetError> {
        let text = |key: &'static str| {
            let bytes = secret.data.as_ref().and_then(|data| data.get(key));
            bytes
                .and_then(|bytes| std::str::from_utf8(&bytes.0).ok())
                .ok_or(AuthoritySetError::Missing { key })
        };
        let time = |key: &str| secret.metadata.annotations.as_ref()?.get(key)?.parse::<Timestamp>().ok();
        let current = CertificateAuthority::parse(text(CERTIFICATE)?, text(KEY)?);
        let current = current.map_err(|source| AuthoritySetError::Unusable { key: CERTIFICATE, source })?;
        let next = || {
            let authority =
                CertificateAuthority::parse(text(NEXT_CERTIFICATE).ok()?, text(NEXT_KEY).ok()?).ok()?;
            Some((Arc::new(authority), time(NEXT_SINCE)?))
        };
        let previous = || {
            let root = CaCertificate::parse(text(PREVIOUS).ok()?).ok()?;
            let until = time(PREVIOUS_UNTIL).unwrap_or(root.not_after);
            Some((root, until))
        };
        Ok(Self { current: Arc::new(current), next: next(), previous: previous() })
    }

    /// Replaces the content of the Secret.
    pub fn write(&self, secret: &mut Secret) {
        let mut data = BTreeMap::from([
            (CERTIFICATE, self.current.certificate.pem.clone()),
            (KEY, self.current.key_pem()),
            (BUNDLE, self.bundle()),
        ]);
        let annotations = secret.metadata.annotations.get_or_insert_default();
        annotations.retain(|key, _| key != NEXT_SINCE && key != PREVIOUS_UNTIL);
        if let Some((next, since)) = &self.next {
            data.extend([(NEXT_CERTIFICATE, next.certificate.pem.clone()), (NEXT_KEY, next.key_pem())]);
            annotations.insert(NEXT_SINCE.to_owned(), since.to_string());
        }
        if let Some((previous, until)) = &self.previous {
            data.insert(PREVIOUS, previous.pem.clone());
            annotations.insert(PREVIOUS_UNTIL.to_owned(), until.to_string());
        }
        let bytes = |(key, text): (&str, String)| (key.to_owned(), ByteString(text.into_bytes()));
        secret.data = Some(data.into_iter().map(bytes).collect());
    }

    /// The certificates of all authorities, oldest first, so that a promotion does not change it.
    pub fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|(next, _)| &next.certificate);
        let previous = self.previous.as_ref().map(|(previous, _)| previous);
        let mut roots: Vec<_> =
            [Some(&self.current.certificate), next, previous].into_iter().flatten().collect();
        roots.sort_by(|a, b| (a.not_before, &a.pem).cmp(&(b.not_before, &b.pem)));
        roots.iter().map(|root| root.pem.trim_end()).collect::<Vec<_>>().join("\n") + "\n"
    }

    /// The next step, if one is due; `published` says whether the configuration had exactly this bundle already.
    pub fn advance(&self, now: SkewedTime, published: bool) -> Result<Option<(Self, RotationStep)>, CaError> {
        let mut after = self.clone();
        let current = &self.current.certificate;
        let step = match (&self.next, &self.previous) {
            (_, Some((_, until))) if now.time >= *until => {
                after.previous = None;
                RotationStep::PreviousRemoved
            }
            (None, _) if now.time >= current.not_after - AUTHORITY_REPLACED_BEFORE => {
                after.next = Some((Arc::new(CertificateAuthority::generate(now)?), now.time));
                RotationStep::NextGenerated
            }
            // An expired authority verifies nothing, so there is nothing to wait for.
            (Some((next, since)), None)
                if (published && now.time >= *since + PUBLISHED_FOR) || now.time >= current.not_after =>
            {
                after.previous = Some((current.clone(), now.time + TRUSTED_FOR));
                after.current = Arc::clone(next);
                after.next = None;
                RotationStep::NextPromoted
            }
            _ => return Ok(None),
        };
        Ok(Some((after, step)))
    }
}

#[cfg(test)]
mod tests;
