//! What was applied, so that it is not applied again.
//!
//! After an apply we know what we asked for and what became of it. As long as we ask for the same, and nobody has
//! changed the object since, another apply would do nothing, and is not sent.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::fingerprint::Fingerprint;
use crate::key::ObjectKey;

/// The applied objects of one kind.
#[derive(Debug, Default)]
pub(super) struct Applied(Mutex<HashMap<ObjectKey, Entry>>);

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    uid: String,
    asked: Fingerprint,
    became: Fingerprint,
}

impl Applied {
    /// An apply was answered.
    pub(super) fn remember(&self, key: ObjectKey, uid: &str, asked: Fingerprint, became: Fingerprint) {
        let entry = Entry { uid: uid.to_owned(), asked, became };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, entry);
    }

    /// Whether the object is still what our last apply made of it, and we want the same.
    pub(super) fn holds(&self, key: &ObjectKey, uid: &str, asked: Fingerprint, live: Fingerprint) -> bool {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).is_some_and(|entry| *entry == Entry { uid: uid.to_owned(), asked, became: live })
    }

    /// Nobody wants it any more.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
