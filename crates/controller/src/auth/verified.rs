//! Tokens that were found good, so that the next call with the same one costs a hash instead of a signature.
//!
//! Bounded by turning over: when the young half is full it becomes the old half, and what nobody asked for since is
//! gone. What is remembered holds only as long as what it was decided by: the token's own time, the issuer's keys,
//! the settings (`generation`). The token itself is not kept, only its digest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::claims::Window;
use super::jwks::{Found, Keys};
use crate::identity::Identity;

/// Of each half.
const MOST: usize = 1024;

/// What a token was found to be.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    pub(super) identity: Identity,
    pub(super) window: Window,
    /// The issuer's keys, the one that signed, and which edition of the keys that was.
    pub(super) keys: Arc<Keys>,
    pub(super) kid: String,
    pub(super) edition: u64,
    /// Of subjects or tenants.
    pub(super) generation: u64,
}

impl Verified {
    /// Who it is, if everything is still as it was.
    pub(super) async fn still(&self, second: i64, generation: u64) -> Option<Identity> {
        if self.generation != generation || self.window.check(second).is_err() {
            return None;
        }
        let Found { edition, .. } = self.keys.find(&self.kid).await.ok()?;
        (edition == self.edition).then(|| self.identity.clone())
    }
}

/// A token, unrecognisable.
pub(super) type Fingerprint = [u8; 32];

/// Its digest.
pub(super) fn fingerprint(token: &str) -> Fingerprint {
    Sha256::digest(token.as_bytes()).into()
}

/// The memory.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<Halves>);

#[derive(Debug, Default)]
struct Halves {
    young: HashMap<Fingerprint, Arc<Verified>>,
    old: HashMap<Fingerprint, Arc<Verified>>,
}

impl Memory {
    pub(super) fn get(&self, token: &Fingerprint) -> Option<Arc<Verified>> {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = halves.young.get(token) {
            return Some(Arc::clone(known));
        }
        let known = halves.old.remove(token)?;
        halves.keep(*token, Arc::clone(&known));
        Some(known)
    }

    pub(super) fn keep(&self, token: Fingerprint, verified: Verified) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keep(token, Arc::new(verified));
    }
}

impl Halves {
    fn keep(&mut self, token: Fingerprint, verified: Arc<Verified>) {
        if self.young.len() >= MOST {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(token, verified);
    }
}
