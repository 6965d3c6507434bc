//! Whom the API server is to trust, as it is kept in a Secret, and how that changes over the years.
//!
//! | key                       | holds                                                                        |
//! |---------------------------|------------------------------------------------------------------------------|
//! | `tls.crt`, `tls.key`      | the authority that signs                                                     |
//! | `next.crt`, `next.key`    | the authority that will sign, once its certificate is known everywhere       |
//! | `previous.crt`            | the authority that signed before, until its last leaf has ended              |
//! | `ca.crt`                  | all of their certificates: what belongs into every `caBundle`                |
//! | annotation `vmafx.dev/next-since`     | when the next authority was made                                 |
//! | annotation `vmafx.dev/previous-until` | when the previous one is forgotten                               |
//!
//! Every replica may take every step: the Secret is written by its resource version, so that one of them wins and the
//! others read what it wrote.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::ca::{AUTHORITY_REPLACED_BEFORE, CaCertificate, CaError, CertificateAuthority, LEAF_LIFE};
use super::clock::SkewedTime;

/// How long a new authority is known before it signs: every API server must have heard of it.
pub const KNOWN_FOR: SignedDuration = SignedDuration::from_mins(10);

/// How long the previous authority is trusted: as long as the last leaf that it can have signed, and a day for a
/// replica that was slow.
pub const TRUSTED_FOR: SignedDuration = SignedDuration::from_hours(LEAF_LIFE.as_hours() + 24);

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const NEXT_CERTIFICATE: &str = "next.crt";
const NEXT_KEY: &str = "next.key";
const PREVIOUS: &str = "previous.crt";
const BUNDLE: &str = "ca.crt";
const NEXT_SINCE: &str = "vmafx.dev/next-since";
const PREVIOUS_UNTIL: &str = "vmafx.dev/previous-until";

/// Why a Secret holds nothing to work with.
#[derive(Debug, thiserror::Error)]
pub enum AuthoritySetError {
    /// A key is missing, or holds no text.
    #[error("{key} is missing or no text")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A key holds something else.
    #[error("{key} cannot be used")]
    Unusable {
        /// The key.
        key: &'static str,
        /// Why not.
        #[source]
        source: CaError,
    },
}

/// What happened to the trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationStep {
    /// A next authority was made.
    NextMade,
    /// The next authority signs.
    NextSigns,
    /// The previous authority is forgotten.
    PreviousForgotten,
}

/// The authorities there are.
#[derive(Clone, Debug)]
pub struct AuthoritySet {
    /// The one that signs.
    pub current: Arc<CertificateAuthority>,
    /// The one that will, and since when it is there.
    pub next: Option<(Arc<CertificateAuthority>, Timestamp)>,
    /// The one that did, and until when it is trusted.
    pub previous: Option<(CaCertificate, Timestamp)>,
}

impl AuthoritySet {
    /// A new authority, and none beside it.
    pub fn make(now: SkewedTime) -> Result<Self, CaError> {
        Ok(Self { current: Arc::new(CertificateAuthority::make(now)?), next: None, previous: None })
    }

    /// Reads what a Secret holds. Only the authority that signs must be good: one beside it that cannot be used is
    /// left out, and made anew when it is needed.
    pub fn read(secret: &Secret) -> Result<Self, AuthoritySetError> {
        let text = |key: &'static str| {
            let bytes = secret.data.as_ref().and_then(|data| data.get(key));
            bytes
                .and_then(|bytes| std::str::from_utf8(&bytes.0).ok())
                .ok_or(AuthoritySetError::Missing { key })
        };
        let time = |key: &str| secret.metadata.annotations.as_ref()?.get(key)?.parse::<Timestamp>().ok();
        let current = CertificateAuthority::read(text(CERTIFICATE)?, text(KEY)?);
        let current = current.map_err(|source| AuthoritySetError::Unusable { key: CERTIFICATE, source })?;
        let next = || {
            let authority =
                CertificateAuthority::read(text(NEXT_CERTIFICATE).ok()?, text(NEXT_KEY).ok()?).ok()?;
            Some((Arc::new(authority), time(NEXT_SINCE)?))
        };
        let previous = || {
            let root = CaCertificate::read(text(PREVIOUS).ok()?).ok()?;
            let until = time(PREVIOUS_UNTIL).unwrap_or(root.ends);
            Some((root, until))
        };
        Ok(Self { current: Arc::new(current), next: next(), previous: previous() })
    }

    /// Puts it into a Secret, in the place of what was there.
    pub fn write(&self, secret: &mut Secret) {
        let mut data = BTreeMap::from([
            (CERTIFICATE, self.current.root.pem.clone()),
            (KEY, self.current.key_pem()),
            (BUNDLE, self.bundle()),
        ]);
        let annotations = secret.metadata.annotations.get_or_insert_default();
        annotations.retain(|key, _| key != NEXT_SINCE && key != PREVIOUS_UNTIL);
        if let Some((next, since)) = &self.next {
            data.extend([(NEXT_CERTIFICATE, next.root.pem.clone()), (NEXT_KEY, next.key_pem())]);
            annotations.insert(NEXT_SINCE.to_owned(), since.to_string());
        }
        if let Some((previous, until)) = &self.previous {
            data.insert(PREVIOUS, previous.pem.clone());
            annotations.insert(PREVIOUS_UNTIL.to_owned(), until.to_string());
        }
        let bytes = |(key, text): (&str, String)| (key.to_owned(), ByteString(text.into_bytes()));
        secret.data = Some(data.into_iter().map(bytes).collect());
    }

    /// The certificates of all authorities, oldest first: a change of roles changes nothing in it.
    pub fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|(next, _)| &next.root);
        let previous = self.previous.as_ref().map(|(previous, _)| previous);
        let mut roots: Vec<_> = [Some(&self.current.root), next, previous].into_iter().flatten().collect();
        roots.sort_by(|a, b| (a.begins, &a.pem).cmp(&(b.begins, &b.pem)));
        roots.iter().map(|root| root.pem.trim_end()).collect::<Vec<_>>().join("\n") + "\n"
    }

    /// The next step, if one is due; `published` says whether the API server has had exactly this bundle already.
    pub fn advance(&self, now: SkewedTime, published: bool) -> Result<Option<(Self, RotationStep)>, CaError> {
        let mut after = self.clone();
        let current = &self.current.root;
        let change = match (&self.next, &self.previous) {
            (_, Some((_, until))) if now.time >= *until => {
                after.previous = None;
                RotationStep::PreviousForgotten
            }
            (None, _) if now.time >= current.ends - AUTHORITY_REPLACED_BEFORE => {
                after.next = Some((Arc::new(CertificateAuthority::make(now)?), now.time));
                RotationStep::NextMade
            }
            // An authority that has ended vouches for nobody, so there is nothing to wait for.
            (Some((next, since)), None)
                if (published && now.time >= *since + KNOWN_FOR) || now.time >= current.ends =>
            {
                after.previous = Some((current.clone(), now.time + TRUSTED_FOR));
                after.current = Arc::clone(next);
                after.next = None;
                RotationStep::NextSigns
            }
            _ => return Ok(None),
        };
        Ok(Some((after, change)))
    }
}

#[cfg(test)]
mod tests;
