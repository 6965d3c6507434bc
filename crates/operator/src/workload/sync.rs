//! One look at a workload: decide on what is known, look closer if anything but applying is to be done, then act.
//!
//! The cache may be old, and so may the status that the caller has. Both are good enough to find that nothing is to be
//! done, and to apply with a fence: an apply that carries UID and version can neither bring back what is gone, nor hit
//! another object, nor one that was given to somebody else. Every other decision is made again on live reads of both,
//! and only that one is acted on.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Client;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::Instant;
use vmafx_api::workload::StatefulSetRef;

use super::SUCCEEDS;
use super::act::{self, Apply};
use super::applied::Applied;
use super::decide::{Decision, Refusal, decide};
use super::facts::Facts;
use super::fingerprint::Fingerprint;
use super::immutables::Immutables;
use super::metrics::WorkloadMetrics;
use super::owner::Owner;
use super::replacements::Replacements;
use super::say::{About, told};
use crate::conditions::Statement;
use crate::error::ApiError;
use crate::events::Happening;
use crate::key::ObjectKey;
use crate::runtime::Cache;

/// Nothing is expected to happen, and a watch would tell; this is for what a watch may have missed.
const RESYNC: Duration = Duration::from_mins(10);

/// Something will happen by itself, or has just been made to.
const SOON: Duration = Duration::from_secs(2);

/// Somebody has to do something first.
const SLOWLY: Duration = Duration::from_mins(1);

/// A young StatefulSet changes often, by its controller's hand, and our writes want it as it was read.
const ATTEMPTS: usize = 3;

/// The resource and what its status says, cached or read just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The resource.
    pub owner: Owner,
    /// The StatefulSet that its status records.
    pub tracked: Option<StatefulSetRef>,
    /// The reason that its condition `WorkloadSynced` gives. What it says already is not told again by an event.
    pub said: Option<String>,
}

/// How it ended.
#[derive(Clone, Debug)]
pub struct Synced {
    /// What was done.
    pub decision: Decision,
    /// What the status is to record.
    pub tracked: Option<StatefulSetRef>,
    /// The StatefulSet as it is, unless there is none any more.
    pub live: Option<Arc<Facts>>,
    /// For the condition `WorkloadSynced`.
    pub statement: Statement,
    /// For an event.
    pub happening: Option<Happening>,
    /// When to look again, if nothing happens before.
    pub again: Duration,
}

/// The workloads of all resources of one kind.
pub struct Workloads {
    client: Client,
    cache: Cache<Facts>,
    applied: Applied,
    replacements: Replacements,
    metrics: WorkloadMetrics,
}

impl Workloads {
    /// The cache is the one that the watch of the kind fills.
    pub fn new(client: Client, cache: Cache<Facts>, metrics: WorkloadMetrics) -> Self {
        Self { client, cache, applied: Applied::default(), replacements: Replacements::default(), metrics }
    }

    /// Makes the StatefulSet as `wanted`, as far as that can be done in one step. To be called once per pass.
    ///
    /// `wanted` is a StatefulSet, or the JSON of one: parts of it may be newer than the types here. `fresh` reads the
    /// resource past every cache; `None` if it is gone.
    pub async fn sync<W, F, R>(&self, seen: &Seen, wanted: &W, fresh: F) -> Result<Synced, ApiError>
    where
        W: Serialize + Sync,
        F: FnOnce() -> R + Send,
        R: Future<Output = Result<Option<Seen>, ApiError>> + Send,
    {
        let wanted = Wanted::of(wanted, &seen.owner)?;
        let known = self.cache.get(&wanted.key);
        match self.decide(seen, known.as_deref(), &wanted) {
            Decision::Leave => {
                return Ok(self.synced(seen, known.as_deref(), None, &wanted, Decision::Leave));
            }
            decision @ Decision::Keep { .. } => match self.act(seen, known, &wanted, decision).await {
                // The fence did not hold, so what we know is old.
                Err(ApiError::Conflict { .. }) => {}
                kept => return kept,
            },
            _ => {}
        }
        let Some(seen) = fresh().await?.filter(|now| now.owner.uid == seen.owner.uid) else {
            return Ok(self.synced(seen, None, None, &wanted, Decision::Leave));
        };
        let mut attempt = 1;
        loop {
            let live = act::read::<StatefulSet>(&self.client, "read the StatefulSet", &wanted.key).await?;
            let live = live.map(|set| self.put(set));
            let decision = self.decide(&seen, live.as_deref(), &wanted);
            match self.act(&seen, live, &wanted, decision).await {
                Err(ApiError::Conflict { .. }) if attempt < ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
    }

    /// What is known of a StatefulSet without a look.
    pub fn known(&self, key: &ObjectKey) -> Option<Arc<Facts>> {
        self.cache.get(key)
    }

    /// The resource is gone: what is remembered about its StatefulSet is of no more use.
    pub fn forget(&self, stateful_set: &ObjectKey) {
        self.applied.forget(stateful_set);
    }

    fn decide(&self, seen: &Seen, live: Option<&Facts>, wanted: &Wanted) -> Decision {
        let replaced = self.replacements.count(&seen.owner.uid, Instant::now());
        decide(&seen.owner, seen.tracked.as_ref(), live, &wanted.immutables, replaced)
    }

    async fn act(
        &self,
        seen: &Seen,
        found: Option<Arc<Facts>>,
        wanted: &Wanted,
        decision: Decision,
    ) -> Result<Synced, ApiError> {
        let now = match (&decision, &found) {
            (Decision::Create, _) => {
                Some(self.apply("create the StatefulSet", wanted, None, Apply::New).await?)
            }
            (Decision::Recreate { lost }, _) => {
                let made = self.apply("make the StatefulSet again", wanted, Some(lost), Apply::New).await?;
                Some(made)
            }
            (Decision::Retrack { .. } | Decision::Adopt { .. } | Decision::Keep { .. }, Some(live)) => {
                Some(self.keep(live, wanted).await?)
            }
            (Decision::Replace { .. }, Some(live)) => {
                act::delete::<StatefulSet>(&self.client, "replace the StatefulSet", &live.identity).await?;
                self.replacements.record(&seen.owner.uid, Instant::now());
                None
            }
            _ => found.clone(),
        };
        Ok(self.synced(seen, found.as_deref(), now, wanted, decision))
    }

    /// Applies, unless that would change nothing.
    async fn keep(&self, live: &Arc<Facts>, wanted: &Wanted) -> Result<Arc<Facts>, ApiError> {
        let uid = live.identity.uid.as_str();
        let asked = Fingerprint::of_body(&wanted.body(live.succeeds.as_deref()));
        if self.applied.holds(&wanted.key, uid, asked, live.fingerprint) {
            return Ok(Arc::clone(live));
        }
        let action = "apply the StatefulSet";
        self.apply(action, wanted, live.succeeds.as_deref(), Apply::Fenced(&live.identity)).await
    }

    async fn apply(
        &self,
        action: &'static str,
        wanted: &Wanted,
        succeeds: Option<&str>,
        apply: Apply<'_>,
    ) -> Result<Arc<Facts>, ApiError> {
        let body = wanted.body(succeeds);
        let asked = Fingerprint::of_body(&body);
        let set = act::apply::<StatefulSet>(&self.client, action, &wanted.key, body, apply).await?;
        let facts = self.put(set);
        self.applied.remember(wanted.key.clone(), &facts.identity.uid, asked, facts.fingerprint);
        Ok(facts)
    }

    /// What the API server answered is at least as new as what a watch has told.
    fn put(&self, set: StatefulSet) -> Arc<Facts> {
        let facts = Facts::from(set);
        self.cache.put(facts.clone());
        Arc::new(facts)
    }

    fn synced(
        &self,
        seen: &Seen,
        found: Option<&Facts>,
        now: Option<Arc<Facts>>,
        wanted: &Wanted,
        decision: Decision,
    ) -> Synced {
        self.metrics.decided(&decision);
        let about = About {
            key: &wanted.key,
            tracked: seen.tracked.as_ref(),
            found,
            wanted: &wanted.immutables,
            now: now.as_deref(),
            said: seen.said.as_deref(),
        };
        let (statement, happening) = told(&decision, &about);
        if let Some(Happening { reason, note, .. }) = &happening {
            tracing::info!(owner = %seen.owner.key, reason = reason.as_str(), "{note}");
        }
        let (tracked, again) = match &decision {
            Decision::Create
            | Decision::Recreate { .. }
            | Decision::Retrack { .. }
            | Decision::Adopt { .. }
            | Decision::Keep { .. } => (now.as_deref().map(Facts::reference), RESYNC),
            Decision::Replace { .. } => (None, SOON),
            Decision::Wait { .. } => (seen.tracked.clone(), SOON),
            Decision::Refuse(Refusal::ReplaceLoop) => {
                let pause = self.replacements.until_fewer(&seen.owner.uid, Instant::now());
                (seen.tracked.clone(), pause.max(SOON))
            }
            Decision::Refuse(_) => (seen.tracked.clone(), SLOWLY),
            Decision::Leave => (seen.tracked.clone(), RESYNC),
        };
        Synced { decision, tracked, live: now, statement, happening, again }
    }
}

/// What the resource asks for.
struct Wanted {
    key: ObjectKey,
    immutables: Immutables,
    body: Map<String, Value>,
}

impl Wanted {
    fn of(set: &impl Serialize, owner: &Owner) -> Result<Self, ApiError> {
        let body = act::body(set, owner);
        let typed = serde_json::from_value::<StatefulSet>(Value::Object(body.clone()));
        let set = typed.map_err(|error| ApiError::Invalid {
            action: "make a StatefulSet of the spec",
            message: error.to_string(),
        })?;
        let key = ObjectKey::new(owner.key.namespace.clone(), set.metadata.name.unwrap_or_default());
        Ok(Self { key, immutables: Immutables::of(set.spec.as_ref()), body })
    }

    /// With the mark of a successor, which must stay once it is there: a status write may still be under way.
    fn body(&self, succeeds: Option<&str>) -> Map<String, Value> {
        let mut body = self.body.clone();
        if let (Some(succeeds), Some(Value::Object(metadata))) = (succeeds, body.get_mut("metadata")) {
            let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(annotations) = annotations {
                annotations.insert(SUCCEEDS.to_owned(), Value::from(succeeds));
            }
        }
        body
    }
}
