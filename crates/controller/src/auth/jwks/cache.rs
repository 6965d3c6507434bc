//! A cache of an issuer's keys.
//!
//! What a call that names a key does depends on the cached keys and on the last fetch (`CachedKeys::plan`):
//!
//! | key    | age of the keys | last fetch            | decision                                      |
//! |--------|-----------------|-----------------------|-----------------------------------------------|
//! | cached | < 15 min        | any                   | use it                                        |
//! | cached | < 24 h          | < 30 s ago            | use it                                        |
//! | cached | < 24 h          | earlier, failed       | use it, and fetch in the background           |
//! | cached | < 24 h          | earlier, succeeded    | fetch for at most 2 s, then use what is there |
//! | other  | any             | < 30 s ago            | refuse                                        |
//! | other  | any             | earlier               | fetch, wait, and look it up again             |
//!
//! "Cached" means that keys younger than 24 h contain it. The fetch runs in a task of its own that outlives the call
//! which started it: a caller that disconnects can neither abort a fetch nor start several.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::task::JoinSet;
use vmafx_queue::clock::Timestamp;

use super::fetch::Fetcher;
use super::key_set::KeySet;
use crate::auth::clocks::Clocks;
use crate::auth::metrics::{AuthMetrics, KeyFetchResult};
use crate::auth::outcome::AuthOutcome;

const REFRESH_AFTER: Duration = Duration::from_mins(15);
const EXPIRE_AFTER: Duration = Duration::from_hours(24);
const FETCH_COOLDOWN: Duration = Duration::from_secs(30);
/// A call whose key is cached waits at most this long for fresh keys.
const MAX_WAIT_WITH_USABLE_KEYS: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default)]
struct CachedKeys {
    set: Option<(Arc<KeySet>, Timestamp)>,
    /// Increases when the keys change.
    version: u64,
    last_fetch: Option<(Timestamp, KeyFetchResult)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyPlan {
    Use,
    UseAndFetch,
    FetchThenUse,
    FetchThenLookUp,
    Refuse(AuthOutcome),
}

impl CachedKeys {
    fn plan(&self, kid: &str, now: Timestamp) -> KeyPlan {
        let usable = self.set.as_ref().filter(|(_, fetched_at)| now.since(*fetched_at) < EXPIRE_AFTER);
        let cached = usable.filter(|(set, _)| set.get(kid).is_some());
        let cooling = self.last_fetch.is_some_and(|(at, _)| now.since(at) < FETCH_COOLDOWN);
        match cached {
            Some((_, fetched_at)) if now.since(*fetched_at) < REFRESH_AFTER || cooling => KeyPlan::Use,
            Some(_) if matches!(self.last_fetch, Some((_, KeyFetchResult::Failed))) => KeyPlan::UseAndFetch,
            Some(_) => KeyPlan::FetchThenUse,
            None if !cooling => KeyPlan::FetchThenLookUp,
            None if usable.is_some() => KeyPlan::Refuse(AuthOutcome::UnknownKey),
            None => KeyPlan::Refuse(AuthOutcome::KeysUnavailable),
        }
    }
}

#[derive(Debug)]
pub(crate) struct UsableKeys {
    pub(crate) set: Arc<KeySet>,
    pub(crate) version: u64,
}

pub(crate) struct KeyCache {
    inner: Arc<KeyCacheInner>,
    /// Holds the running fetch; there is at most one.
    fetching: tokio::sync::Mutex<JoinSet<()>>,
}

struct KeyCacheInner {
    fetcher: Fetcher,
    cached: RwLock<CachedKeys>,
    clocks: Clocks,
    metrics: AuthMetrics,
}

impl KeyCache {
    pub(crate) fn new(fetcher: Fetcher, clocks: Clocks, metrics: AuthMetrics) -> Self {
        let inner = KeyCacheInner { fetcher, cached: RwLock::default(), clocks, metrics };
        Self { inner: Arc::new(inner), fetching: tokio::sync::Mutex::default() }
    }

    pub(crate) fn endpoint(&self) -> &str {
        self.inner.fetcher.endpoint()
    }

    /// Returns the key set that contains this key.
    pub(crate) async fn find(&self, kid: &str) -> Result<UsableKeys, AuthOutcome> {
        let keys = match self.plan(kid) {
            KeyPlan::Use => self.get(kid),
            KeyPlan::UseAndFetch => {
                self.start_fetch();
                self.get(kid)
            }
            KeyPlan::FetchThenUse => {
                let _ = tokio::time::timeout(MAX_WAIT_WITH_USABLE_KEYS, self.fetch()).await;
                self.get(kid)
            }
            KeyPlan::FetchThenLookUp => {
                self.fetch().await;
                self.get(kid)
            }
            KeyPlan::Refuse(outcome) => return Err(outcome),
        };
        // A fetch starts the cooldown, so the plan now names the reason of the refusal.
        keys.ok_or_else(|| match self.plan(kid) {
            KeyPlan::Refuse(outcome) => outcome,
            _ => AuthOutcome::KeysUnavailable,
        })
    }

    /// Fetches the keys once at start, so that the first call does not wait for them.
    pub(crate) async fn prefetch(&self) {
        if self.inner.cached().last_fetch.is_none() {
            self.fetch().await;
        }
    }

    fn plan(&self, kid: &str) -> KeyPlan {
        self.inner.cached().plan(kid, self.inner.clocks.monotonic())
    }

    fn get(&self, kid: &str) -> Option<UsableKeys> {
        let cached = self.inner.cached();
        let (set, fetched_at) = cached.set.as_ref()?;
        let usable = self.inner.clocks.since(*fetched_at) < EXPIRE_AFTER && set.get(kid).is_some();
        usable.then(|| UsableKeys { set: Arc::clone(set), version: cached.version })
    }

    /// Starts a fetch unless one is running.
    fn start_fetch(&self) {
        if let Ok(mut fetching) = self.fetching.try_lock()
            && fetching.try_join_next().is_none()
            && fetching.is_empty()
        {
            fetching.spawn(Arc::clone(&self.inner).fetch());
        }
    }

    /// Fetches the keys, or waits for the running fetch. The timeout of the fetch bounds the wait.
    async fn fetch(&self) {
        let asked = self.inner.clocks.monotonic();
        let mut fetching = self.fetching.lock().await;
        while fetching.try_join_next().is_some() {}
        // While this call waited for the lock another one may have fetched, or started a fetch and disconnected.
        let fetched_since = self.inner.cached().last_fetch.is_some_and(|(at, _)| at >= asked);
        if fetching.is_empty() {
            if fetched_since || self.is_cooling() {
                return;
            }
            fetching.spawn(Arc::clone(&self.inner).fetch());
        }
        let _ = fetching.join_next().await;
    }

    fn is_cooling(&self) -> bool {
        self.inner.cached().last_fetch.is_some_and(|(at, _)| self.inner.clocks.since(at) < FETCH_COOLDOWN)
    }
}

impl KeyCacheInner {
    fn cached(&self) -> std::sync::RwLockReadGuard<'_, CachedKeys> {
        self.cached.read().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(self: Arc<Self>) {
        let endpoint = self.fetcher.endpoint();
        let fetched = self.fetcher.fetch().await;
        let now = self.clocks.monotonic();
        let mut cached = self.cached.write().unwrap_or_else(PoisonError::into_inner);
        match fetched {
            Ok(set) => {
                let same = cached.set.as_ref().is_some_and(|(before, _)| before.has_same_keys(&set));
                if !same {
                    cached.version += 1;
                    tracing::info!(endpoint, keys = ?set, "loaded new keys of the issuer");
                }
                cached.set = Some((Arc::new(set), now));
                cached.last_fetch = Some((now, KeyFetchResult::Ok));
                self.metrics.fetch(KeyFetchResult::Ok);
            }
            Err(error) => {
                cached.last_fetch = Some((now, KeyFetchResult::Failed));
                self.metrics.fetch(KeyFetchResult::Failed);
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    endpoint,
                    error,
                    "cannot fetch the issuer's keys; cached keys are used until they are 24 h old"
                );
            }
        }
    }
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyCache").field("endpoint", &self.endpoint()).finish_non_exhaustive()
    }
}
