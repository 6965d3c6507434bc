//! The objects of one kind that the operator applies: their cache, live reads, writes, and a record of the last apply.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::Client;
use serde_json::{Map, Value};

use super::fingerprint::Fingerprint;
use super::snapshot::Snapshot;
use crate::client::requests::{self, ApplyTo, Namespaced};
use crate::error::ApiError;
use crate::key::ObjectKey;
use crate::runtime::{Cache, ObjectIdentity};

pub(super) struct AppliedObjects<K, S> {
    client: Client,
    cache: Cache<S>,
    snapshot: fn(K) -> S,
    last_applies: Mutex<HashMap<ObjectKey, LastApply>>,
}

/// What an apply sent, and what the object was afterwards. While both stay the same, another apply would change nothing
/// and is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastApply {
    uid: String,
    sent: Fingerprint,
    result: Fingerprint,
}

impl LastApply {
    pub(super) fn of(body: &Map<String, Value>, live: &impl Snapshot) -> Self {
        Self { uid: live.uid().to_owned(), sent: Fingerprint::of_body(body), result: live.fingerprint() }
    }
}

/// An object as it was observed, and the last apply to it.
#[derive(Debug, PartialEq)]
pub struct ObservedObject<S> {
    pub live: Option<Arc<S>>,
    pub last_apply: Option<LastApply>,
}

impl<S> Default for ObservedObject<S> {
    fn default() -> Self {
        Self { live: None, last_apply: None }
    }
}

impl<S: Snapshot> ObservedObject<S> {
    /// The apply of `body` to the live object, unless it would repeat the last one.
    pub(super) fn apply(&self, body: Map<String, Value>) -> Option<ObjectWrite> {
        let live = self.live.as_deref()?;
        let unchanged = self.last_apply.as_ref() == Some(&LastApply::of(&body, live));
        (!unchanged).then(|| ObjectWrite::Apply(live.identity().clone(), body))
    }
}

/// A write to one object.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectWrite {
    /// Creates the object, unless one of its name exists.
    Create(Map<String, Value>),
    /// Applies to exactly this object in this version.
    Apply(ObjectIdentity, Map<String, Value>),
    /// Deletes exactly this object in this version.
    Delete(ObjectIdentity),
}

impl<K: Namespaced, S: Snapshot + Clone> AppliedObjects<K, S> {
    /// `cache` is the one that the watch of the kind fills.
    pub(super) fn new(client: Client, cache: Cache<S>, snapshot: fn(K) -> S) -> Self {
        Self { client, cache, snapshot, last_applies: Mutex::default() }
    }

    pub(super) fn cached(&self, key: &ObjectKey) -> ObservedObject<S> {
        ObservedObject { live: self.cache.get(key), last_apply: self.last_applies().get(key).cloned() }
    }

    pub(super) async fn read(
        &self,
        action: &'static str,
        key: &ObjectKey,
    ) -> Result<ObservedObject<S>, ApiError> {
        let live = requests::read::<K>(&self.client, action, key).await?;
        let last_apply = self.last_applies().get(key).cloned();
        Ok(ObservedObject { live: live.map(|object| self.put(object)), last_apply })
    }

    /// Returns the object as it is after the write; `None` after a deletion.
    pub(super) async fn write(
        &self,
        action: &'static str,
        key: &ObjectKey,
        write: &ObjectWrite,
    ) -> Result<Option<Arc<S>>, ApiError> {
        let (body, to) = match write {
            ObjectWrite::Delete(identity) => {
                requests::delete::<K>(&self.client, action, identity).await?;
                return Ok(None);
            }
            ObjectWrite::Create(body) => (body, ApplyTo::New),
            ObjectWrite::Apply(identity, body) => (body, ApplyTo::Existing(identity)),
        };
        let object = requests::apply::<K>(&self.client, action, key, body.clone(), to).await?;
        let live = self.put(object);
        self.last_applies().insert(key.clone(), LastApply::of(body, live.as_ref()));
        Ok(Some(live))
    }

    /// Drops the record of the last apply, once the resource is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.last_applies().remove(key);
    }

    /// The API server's answer is at least as new as what the watch has delivered.
    fn put(&self, object: K) -> Arc<S> {
        let snapshot = (self.snapshot)(object);
        self.cache.put(snapshot.clone());
        Arc::new(snapshot)
    }

    fn last_applies(&self) -> MutexGuard<'_, HashMap<ObjectKey, LastApply>> {
        self.last_applies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
