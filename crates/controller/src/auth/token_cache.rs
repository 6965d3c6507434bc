//! A cache of verified tokens, so that the next call with the same token costs a hash instead of a signature check.
//!
//! The cache has two generations: when the young one is full it replaces the old one, and entries of the old one that
//! were not used meanwhile are dropped. An entry is valid only while everything that decided it is unchanged: the
//! token's own validity, the issuer's keys (`version`), and the settings (`generation`). The cache stores the digest of
//! a token, never the token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::claims::ValidityPeriod;
use super::jwks::{KeyCache, UsableKeys};
use super::principal::Principal;

const MAX_GENERATION_ENTRIES: usize = 1024;

#[derive(Clone, Debug)]
pub(super) struct VerifiedToken {
    pub(super) principal: Principal,
    pub(super) validity: ValidityPeriod,
    /// The keys of the issuer; `kid` is the key that signed and `version` the key set at that time.
    pub(super) keys: Arc<KeyCache>,
    pub(super) kid: String,
    pub(super) version: u64,
}

#[derive(Debug)]
pub(super) struct CachedToken {
    verified: VerifiedToken,
    /// Generation of subjects and tenants.
    generation: u64,
}

impl CachedToken {
    pub(super) async fn principal_if_valid(&self, now: i64, generation: u64) -> Option<Principal> {
        let VerifiedToken { principal, validity, keys, kid, version } = &self.verified;
        if self.generation != generation || validity.check(now).is_err() {
            return None;
        }
        let UsableKeys { version: current, .. } = keys.find(kid).await.ok()?;
        (current == *version).then(|| principal.clone())
    }

    pub(super) fn expires_at(&self) -> i64 {
        self.verified.validity.expires_at()
    }
}

pub(super) type TokenDigest = [u8; 32];

pub(super) fn token_digest(token: &str) -> TokenDigest {
    Sha256::digest(token.as_bytes()).into()
}

#[derive(Debug, Default)]
pub(super) struct TokenCache(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<TokenDigest, Arc<CachedToken>>,
    old: HashMap<TokenDigest, Arc<CachedToken>>,
}

impl TokenCache {
    pub(super) fn get(&self, token: &TokenDigest) -> Option<Arc<CachedToken>> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = generations.young.get(token) {
            return Some(Arc::clone(cached));
        }
        let cached = generations.old.remove(token)?;
        generations.insert(*token, Arc::clone(&cached));
        Some(cached)
    }

    /// `generation` is that from before the token was verified.
    pub(super) fn insert(&self, token: TokenDigest, verified: VerifiedToken, generation: u64) {
        let cached = Arc::new(CachedToken { verified, generation });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(token, cached);
    }
}

impl Generations {
    fn insert(&mut self, token: TokenDigest, cached: Arc<CachedToken>) {
        if self.young.len() >= MAX_GENERATION_ENTRIES {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(token, cached);
    }
}
