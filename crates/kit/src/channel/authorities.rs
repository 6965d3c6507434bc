//! The certificate authorities that a client trusts.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Where a client has its certificate authorities from; never from two places, because a private CA is set exactly so
/// that no public one can vouch for another server.
#[derive(Clone, Debug)]
pub enum TrustedAuthorities {
    /// Those of the system.
    System,
    /// A PEM file, which is replaced at run time when a CA is rotated.
    File(PathBuf),
    /// Those that this process manages itself.
    Shared(SharedAuthorities),
}

/// Certificate authorities as PEM. Clones share them. Until the first ones are there, no server is trusted.
#[derive(Clone, Debug, Default)]
pub struct SharedAuthorities(Arc<Mutex<Arc<str>>>);

impl SharedAuthorities {
    pub fn replace(&self, pem: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = pem.into();
    }

    /// Empty before the first ones.
    pub fn pem(&self) -> Arc<str> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
