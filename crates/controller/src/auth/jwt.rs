//! Tokens: what can be said of one before its signature is checked, and the check.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::cause::Outcome;
use super::claims::Claims;

/// Longer ones are not even looked at. Tokens of Kubernetes have about 1 KiB, those of talkative issuers 8 KiB.
pub(super) const LONGEST: usize = 16 * 1024;

/// The name of the only algorithm.
const RS256: &str = "RS256";
/// Longest name of a key.
const LONGEST_KID: usize = 256;

/// A token that is worth looking up a key for. Nothing in it is known to be true.
#[derive(Debug)]
pub(super) struct Presented<'a> {
    token: &'a str,
    /// The key it names.
    pub(super) kid: String,
    /// The issuer it names.
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

impl<'a> Presented<'a> {
    /// Takes a token apart. The algorithm is looked at before anything else, so that nothing is ever tried with
    /// another one.
    pub(super) fn read(token: &'a str) -> Result<Self, Outcome> {
        if token.len() > LONGEST {
            return Err(Outcome::TooLarge);
        }
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(_), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Outcome::Malformed);
        };
        let header: Header = json(header)?;
        if header.alg != RS256 {
            return Err(Outcome::Algorithm);
        }
        if header.crit.is_some() {
            return Err(Outcome::Malformed); // a demand to understand something, and we understand nothing
        }
        let kid = header.kid.filter(|kid| kid.len() <= LONGEST_KID).ok_or(Outcome::UnknownKey)?;
        let claims: Issuer = json(claims)?;
        Ok(Self { token, kid, issuer: claims.iss.ok_or(Outcome::Issuer)? })
    }

    /// The claims, once the signature is found to be the key's.
    pub(super) fn verify(&self, key: &DecodingKey) -> Result<Claims, Outcome> {
        // Times, issuer and audience are ours to check: by our clock, and by tenant.
        let mut signature_alone = Validation::new(Algorithm::RS256);
        signature_alone.required_spec_claims.clear();
        signature_alone.validate_exp = false;
        signature_alone.validate_nbf = false;
        signature_alone.validate_aud = false;
        let decoded = jsonwebtoken::decode(self.token, key, &signature_alone);
        decoded.map(|decoded| Claims(decoded.claims)).map_err(|error| match error.kind() {
            jsonwebtoken::errors::ErrorKind::InvalidSignature => Outcome::Signature,
            jsonwebtoken::errors::ErrorKind::InvalidAlgorithm => Outcome::Algorithm,
            _ => Outcome::Malformed,
        })
    }
}

/// Whom a token says that it is from, whatever it is signed with.
pub(super) fn issuer(token: &str) -> Option<String> {
    let claims: Issuer = json(token.split('.').nth(1)?).ok()?;
    claims.iss.filter(|name| !name.is_empty())
}

fn json<T: for<'de> Deserialize<'de>>(part: &str) -> Result<T, Outcome> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| Outcome::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| Outcome::Malformed)
}
