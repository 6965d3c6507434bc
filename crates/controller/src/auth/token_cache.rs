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
use crate::identity::Identity;

const MAX_GENERATION_ENTRIES: usize = 1024;

#[derive(Clone, Debug)]
pub(super) struct VerifiedToken {
    pub(super) identity: Identity,
    pub(super) validity: ValidityPeriod,
    /// The keys of the issuer; `kid` is the key that signed and `version` the key set at that time.
    pub(super) keys: Arc<KeyCache>,
    pub(super) kid: String,
    pub(super) version: u64,
    /// Generation of subjects or tenants.
    pub(super) generation: u64,
}

impl VerifiedToken {
    pub(super) async fn identity_if_valid(&self, now: i64, generation: u64) -> Option<Identity> {
        if self.generation != generation || self.validity.check(now).is_err() {
            return None;
        }
        let UsableKeys { version, .. } = self.keys.find(&self.kid).await.ok()?;
        (version == self.version).then(|| self.identity.clone())
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
    young: HashMap<TokenDigest, Arc<VerifiedToken>>,
    old: HashMap<TokenDigest, Arc<VerifiedToken>>,
}

impl TokenCache {
    pub(super) fn get(&self, token: &TokenDigest) -> Option<Arc<VerifiedToken>> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = generations.young.get(token) {
            return Some(Arc::clone(cached));
        }
        let cached = generations.old.remove(token)?;
        generations.insert(*token, Arc::clone(&cached));
        Some(cached)
    }

    pub(super) fn insert(&self, token: TokenDigest, verified: VerifiedToken) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(token, Arc::new(verified));
    }
}

impl Generations {
    fn insert(&mut self, token: TokenDigest, verified: Arc<VerifiedToken>) {
        if self.young.len() >= MAX_GENERATION_ENTRIES {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(token, verified);
    }
}
