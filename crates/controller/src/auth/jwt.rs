//! JSON Web Tokens: parsing before verification, and the verification of the signature.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::claims::Claims;
use super::outcome::AuthOutcome;

/// Longer tokens are refused before they are hashed or parsed. Kubernetes tokens have about 1 KiB, those of issuers
/// that add many claims up to 8 KiB.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;

const RS256: &str = "RS256";
const MAX_KID_BYTES: usize = 256;

/// A well-formed RS256 token whose signature has not been verified: nothing in it can be trusted.
#[derive(Debug)]
pub(super) struct UnverifiedToken<'a> {
    token: &'a str,
    pub(super) kid: String,
    pub(super) issuer: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Issuer {
    iss: Option<String>,
}

impl<'a> UnverifiedToken<'a> {
    /// The algorithm is checked before anything else, so that no other algorithm ever reaches the verification.
    pub(super) fn parse(token: &'a str) -> Result<Self, AuthOutcome> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(AuthOutcome::TooLarge);
        }
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(_), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(AuthOutcome::Malformed);
        };
        let header: Header = json(header)?;
        if header.alg != RS256 {
            return Err(AuthOutcome::Algorithm);
        }
        if header.crit.is_some() {
            return Err(AuthOutcome::Malformed); // RFC 7515: an unsupported critical extension invalidates the token
        }
        let kid = header.kid.filter(|kid| kid.len() <= MAX_KID_BYTES).ok_or(AuthOutcome::UnknownKey)?;
        let claims: Issuer = json(claims)?;
        Ok(Self { token, kid, issuer: claims.iss.ok_or(AuthOutcome::Issuer)? })
    }

    /// Returns the claims if `key` signed the token.
    pub(super) fn verify(&self, key: &DecodingKey) -> Result<Claims, AuthOutcome> {
        // `validate_claims` checks times by the injected clock, and issuer and audience by tenant.
        let mut signature_only = Validation::new(Algorithm::RS256);
        signature_only.required_spec_claims.clear();
        signature_only.validate_exp = false;
        signature_only.validate_nbf = false;
        signature_only.validate_aud = false;
        let decoded = jsonwebtoken::decode(self.token, key, &signature_only);
        decoded.map(|decoded| Claims(decoded.claims)).map_err(|error| match error.kind() {
            jsonwebtoken::errors::ErrorKind::InvalidSignature => AuthOutcome::Signature,
            jsonwebtoken::errors::ErrorKind::InvalidAlgorithm => AuthOutcome::Algorithm,
            _ => AuthOutcome::Malformed,
        })
    }
}

/// The issuer that a token claims, without verification.
pub(super) fn issuer(token: &str) -> Option<String> {
    let claims: Issuer = json(token.split('.').nth(1)?).ok()?;
    claims.iss.filter(|name| !name.is_empty())
}

fn json<T: for<'de> Deserialize<'de>>(part: &str) -> Result<T, AuthOutcome> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| AuthOutcome::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| AuthOutcome::Malformed)
}
