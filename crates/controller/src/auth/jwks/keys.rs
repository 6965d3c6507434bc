//! The keys of an issuer, kept and read again.
//!
//! What a call that names a key does depends on what is known of the keys (`plan`):
//!
//! | key   | keys            | last attempt       | so                                             |
//! |-------|-----------------|--------------------|------------------------------------------------|
//! | known | < 15 min        | any                | use it                                         |
//! | known | < 24 h          | < 30 s ago         | use it                                         |
//! | known | < 24 h          | older, and failed  | read again, and use it meanwhile               |
//! | known | < 24 h          | older, and went well | read again, wait a little, and use what is there |
//! | other | any             | < 30 s ago         | refuse                                         |
//! | other | any             | older              | read again, wait, and look once more           |
//!
//! "Known" is a key of keys younger than 24 h. Reading is a task of its own that outlives the call which began it:
//! a caller who hangs up must be able neither to stop it nor to start many.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::task::JoinSet;
use vmafx_queue::clock::Timestamp;

use super::fetch::Fetcher;
use super::set::KeySet;
use crate::auth::cause::Outcome;
use crate::auth::metrics::{AuthMetrics, Fetched};
use crate::auth::time::Time;

const FRESH: Duration = Duration::from_mins(15);
const USABLE: Duration = Duration::from_hours(24);
const COOLDOWN: Duration = Duration::from_secs(30);
/// How long a call that could go on without new keys waits for them.
const A_LITTLE: Duration = Duration::from_secs(2);

/// What is known.
#[derive(Clone, Debug, Default)]
struct Known {
    set: Option<(Arc<KeySet>, Timestamp)>,
    /// Rises when the keys change.
    edition: u64,
    tried: Option<(Timestamp, Fetched)>,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Use,
    UseAndRead,
    ReadThenUse,
    ReadThenLook,
    Refuse(Outcome),
}

impl Known {
    fn plan(&self, kid: &str, now: Timestamp) -> Plan {
        let usable = self.set.as_ref().filter(|(_, read)| now.since(*read) < USABLE);
        let known = usable.filter(|(set, _)| set.get(kid).is_some());
        let cooling = self.tried.is_some_and(|(tried, _)| now.since(tried) < COOLDOWN);
        match known {
            Some((_, read)) if now.since(*read) < FRESH || cooling => Plan::Use,
            Some(_) if matches!(self.tried, Some((_, Fetched::Failed))) => Plan::UseAndRead,
            Some(_) => Plan::ReadThenUse,
            None if !cooling => Plan::ReadThenLook,
            None if usable.is_some() => Plan::Refuse(Outcome::UnknownKey),
            None => Plan::Refuse(Outcome::KeysUnavailable),
        }
    }
}

/// A key set in which a key was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) set: Arc<KeySet>,
    pub(crate) edition: u64,
}

/// The keys of one issuer.
pub(crate) struct Keys {
    shared: Arc<Shared>,
    /// The one task that reads, if any.
    reading: tokio::sync::Mutex<JoinSet<()>>,
}

struct Shared {
    fetcher: Fetcher,
    known: RwLock<Known>,
    time: Time,
    metrics: AuthMetrics,
}

impl Keys {
    pub(crate) fn new(fetcher: Fetcher, time: Time, metrics: AuthMetrics) -> Self {
        let shared = Shared { fetcher, known: RwLock::default(), time, metrics };
        Self { shared: Arc::new(shared), reading: tokio::sync::Mutex::default() }
    }

    /// Where they are read.
    pub(crate) fn endpoint(&self) -> &str {
        self.shared.fetcher.endpoint()
    }

    /// The keys, if one of them has this name.
    pub(crate) async fn find(&self, kid: &str) -> Result<Found, Outcome> {
        let found = match self.plan(kid) {
            Plan::Use => self.get(kid),
            Plan::UseAndRead => {
                self.begin();
                self.get(kid)
            }
            Plan::ReadThenUse => {
                let _ = tokio::time::timeout(A_LITTLE, self.read()).await;
                self.get(kid)
            }
            Plan::ReadThenLook => {
                self.read().await;
                self.get(kid)
            }
            Plan::Refuse(outcome) => return Err(outcome),
        };
        // After a read the cooldown runs, so the plan says what is missing.
        found.ok_or_else(|| match self.plan(kid) {
            Plan::Refuse(outcome) => outcome,
            _ => Outcome::KeysUnavailable,
        })
    }

    /// Reads the keys unless that was tried just before; for the start, so that the first call need not wait.
    pub(crate) async fn warm(&self) {
        if self.shared.known().tried.is_none() {
            self.read().await;
        }
    }

    fn plan(&self, kid: &str) -> Plan {
        self.shared.known().plan(kid, self.shared.time.steady())
    }

    fn get(&self, kid: &str) -> Option<Found> {
        let known = self.shared.known();
        let (set, read) = known.set.as_ref()?;
        let usable = self.shared.time.since(*read) < USABLE && set.get(kid).is_some();
        usable.then(|| Found { set: Arc::clone(set), edition: known.edition })
    }

    /// Begins to read, unless that is under way.
    fn begin(&self) {
        if let Ok(mut reading) = self.reading.try_lock()
            && reading.try_join_next().is_none()
            && reading.is_empty()
        {
            reading.spawn(Arc::clone(&self.shared).read());
        }
    }

    /// Reads, or waits until whoever reads has done so. The fetch has a deadline, and so has this.
    async fn read(&self) {
        let asked = self.shared.time.steady();
        let mut reading = self.reading.lock().await;
        while reading.try_join_next().is_some() {}
        // Somebody may have read while we waited for the lock, or may have begun and left.
        let read_since = self.shared.known().tried.is_some_and(|(tried, _)| tried >= asked);
        if reading.is_empty() {
            if read_since || self.is_cooling() {
                return;
            }
            reading.spawn(Arc::clone(&self.shared).read());
        }
        let _ = reading.join_next().await;
    }

    fn is_cooling(&self) -> bool {
        self.shared.known().tried.is_some_and(|(tried, _)| self.shared.time.since(tried) < COOLDOWN)
    }
}

impl Shared {
    fn known(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(self: Arc<Self>) {
        let endpoint = self.fetcher.endpoint();
        let fetched = self.fetcher.fetch().await;
        let now = self.time.steady();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match fetched {
            Ok(set) => {
                let same = known.set.as_ref().is_some_and(|(before, _)| before.same(&set));
                if !same {
                    known.edition += 1;
                    tracing::info!(endpoint, keys = ?set, "the issuer's keys were read");
                }
                known.set = Some((Arc::new(set), now));
                known.tried = Some((now, Fetched::Ok));
                self.metrics.fetch(Fetched::Ok);
            }
            Err(error) => {
                known.tried = Some((now, Fetched::Failed));
                self.metrics.fetch(Fetched::Failed);
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    endpoint,
                    error,
                    "the issuer's keys cannot be read; those before stay for a day"
                );
            }
        }
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("endpoint", &self.endpoint()).finish_non_exhaustive()
    }
}
