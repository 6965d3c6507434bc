//! Plain objects beside a workload: there, ours and as wanted, or refused.
//!
//! | live                    | what is done                                     |
//! |-------------------------|--------------------------------------------------|
//! | absent                  | created                                          |
//! | ours                    | applied, unless nothing has changed              |
//! | being deleted           | waited for                                       |
//! | another's, or nobody's  | left alone, whatever its labels say              |
//!
//! Nothing is adopted here: such an object holds nothing that would be lost with it, so its maker can be asked to
//! remove it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use kube::{Client, Resource};
use serde::Serialize;
use vmafx_api::conditions::Reason;

use super::act::{self, Apply, Namespaced};
use super::applied::Applied;
use super::fingerprint::Fingerprint;
use super::owner::{ControllerRef, Owner};
use crate::conditions::Statement;
use crate::error::ApiError;
use crate::key::ObjectKey;
use crate::runtime::{Cache, Cached, Identity};

/// What is kept of a plain object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// Name, UID and version.
    pub identity: Identity,
    /// Who controls it.
    pub controller: Option<ControllerRef>,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Changes with everything that somebody may write.
    pub fingerprint: Fingerprint,
}

impl Plain {
    /// Of an object as the API server sent it.
    #[expect(clippy::needless_pass_by_value, reason = "a watch hands over what it has read")]
    pub fn of<K: Resource + Serialize>(object: K) -> Self {
        Self {
            identity: Identity::of(&object),
            controller: ControllerRef::of(object.meta()),
            terminating: object.meta().deletion_timestamp.is_some(),
            fingerprint: Fingerprint::of(&object),
        }
    }
}

impl Cached for Plain {
    fn key(&self) -> ObjectKey {
        self.identity.key.clone()
    }

    fn uid(&self) -> &str {
        &self.identity.uid
    }

    fn version(&self) -> &str {
        &self.identity.version
    }
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ensured {
    /// It is there, as wanted.
    AsWanted,
    /// It cannot be as wanted yet, or not without somebody's help; for the condition `WorkloadSynced`.
    Not(Statement),
    /// The owner is being deleted, and nothing was looked at.
    Left,
}

/// The objects of one kind.
pub struct Children<K> {
    client: Client,
    cache: Cache<Plain>,
    applied: Applied,
    kind: PhantomData<fn() -> K>,
}

/// What is to be done about one.
enum Step {
    Create,
    Apply(Arc<Plain>),
    Stop(Statement),
}

impl<K: Namespaced> Children<K> {
    /// The cache is the one that the watch of the kind fills.
    pub fn new(client: Client, cache: Cache<Plain>) -> Self {
        Self { client, cache, applied: Applied::default(), kind: PhantomData }
    }

    /// Makes the object as `wanted`. A decision other than to apply is made on a live read.
    pub async fn ensure(&self, owner: &Owner, wanted: &K) -> Result<Ensured, ApiError> {
        if owner.deleting {
            return Ok(Ensured::Left);
        }
        let name = wanted.meta().name.clone().unwrap_or_default();
        let key = ObjectKey::new(owner.key.namespace.clone(), name);
        if let Step::Apply(known) = step::<K>(owner, &key, self.cache.get(&key)) {
            match self.apply(owner, &key, wanted, &known).await {
                // The fence did not hold, so what we know is old.
                Err(ApiError::Conflict { .. }) => {}
                done => return done.map(|()| Ensured::AsWanted),
            }
        }
        let live = act::read::<K>(&self.client, "read an object of the workload", &key).await?;
        let live = live.map(|object| self.put(object));
        match step::<K>(owner, &key, live) {
            Step::Create => self.send(owner, &key, wanted, Apply::New).await?,
            Step::Apply(live) => self.apply(owner, &key, wanted, &live).await?,
            Step::Stop(statement) => return Ok(Ensured::Not(statement)),
        }
        Ok(Ensured::AsWanted)
    }

    /// The resource is gone: what is remembered about its object is of no more use.
    pub fn forget(&self, key: &ObjectKey) {
        self.applied.forget(key);
    }

    async fn apply(&self, owner: &Owner, key: &ObjectKey, wanted: &K, live: &Plain) -> Result<(), ApiError> {
        let asked = Fingerprint::of_body(&act::body(wanted, owner));
        let uid = live.identity.uid.as_str();
        if self.applied.holds(key, uid, asked, live.fingerprint) {
            return Ok(());
        }
        self.send(owner, key, wanted, Apply::Fenced(&live.identity)).await
    }

    async fn send(
        &self,
        owner: &Owner,
        key: &ObjectKey,
        wanted: &K,
        apply: Apply<'_>,
    ) -> Result<(), ApiError> {
        let body = act::body(wanted, owner);
        let asked = Fingerprint::of_body(&body);
        let made = act::apply::<K>(&self.client, "apply an object of the workload", key, body, apply).await?;
        let made = self.put(made);
        self.applied.remember(key.clone(), &made.identity.uid, asked, made.fingerprint);
        Ok(())
    }

    fn put(&self, object: K) -> Arc<Plain> {
        let plain = Plain::of(object);
        self.cache.put(plain.clone());
        Arc::new(plain)
    }
}

fn step<K: Namespaced>(owner: &Owner, key: &ObjectKey, live: Option<Arc<Plain>>) -> Step {
    let Some(live) = live else { return Step::Create };
    let kind = K::kind(&());
    if live.terminating {
        let message = format!("{kind} {key} is being deleted; a new one follows when it is gone");
        return Step::Stop(Statement::no(Reason::Terminating, message));
    }
    match &live.controller {
        Some(controller) if controller.uid == owner.uid => Step::Apply(live),
        Some(ControllerRef { kind: whose, name, .. }) => {
            let message =
                format!("{kind} {key} belongs to {whose} {name} and is left alone: rename one of the two");
            Step::Stop(Statement::no(Reason::ForeignOwner, message))
        }
        None => {
            let message =
                format!("{kind} {key} was not made by the operator and is left alone: delete or rename it");
            Step::Stop(Statement::no(Reason::ForeignOwner, message))
        }
    }
}

impl<K: Namespaced> fmt::Debug for Children<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Children").field("kind", &K::kind(&())).finish_non_exhaustive()
    }
}
