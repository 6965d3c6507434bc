//! Pulls that wait for work, and who is called when there is some.
//!
//! Waiting pulls stand in line by tenant and by the backends they serve; all that serve the same are a *class*. The
//! store tells when jobs can be claimed, and as many pulls are called as there are jobs: the longest-waiting that can
//! serve them, each once. A call is not a job. Whoever is called looks for itself, so a call too many costs a look and
//! a call too few would cost a wait:
//!
//! | what happens                                       | who is called                                            |
//! |----------------------------------------------------|----------------------------------------------------------|
//! | the store tells of `n` jobs                        | the first `n` that fit                                   |
//! | one that was called goes away without looking      | the next that fits, instead                              |
//! | a pause of a job ends                              | one of each class that waits for it                      |
//! | the store told more than we could hear             | one of every class                                       |
//! | nothing, for a few seconds                         | one of every class: another controller may have been cut off |
//! | one of the last three finds a job                  | the next of its class, and so on until one finds nothing |
//!
//! A pull is in line before it looks ([`Dispatch::enter`] before the first claim, [`Place::called`] puts it back before
//! the next), so that what comes between its look and its wait still calls it.

mod line;
mod place;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use vmafx_queue::TenantId;
use vmafx_queue::clock::{Clock, Timestamp};
use vmafx_queue::notification::Notification;

use self::line::{Call, Lines};
pub(crate) use self::place::Place;

/// Pulls that may wait at once; further ones are answered without waiting.
const MOST_WAITING: usize = 16_384;

/// The shortest wait for the end of a pause. The store's clock may be another one, and looking too early must not
/// become looking all the time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// The lines of waiting pulls. Clones are the same.
#[derive(Clone)]
pub(crate) struct Dispatch(Arc<Inner>);

struct Inner {
    lines: Mutex<Lines>,
    /// A pause was noted that may end before all others.
    sooner: Notify,
    clock: Arc<dyn Clock>,
}

impl Dispatch {
    /// Nobody waits.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner { lines: Mutex::default(), sooner: Notify::new(), clock }))
    }

    /// Gets in line; `None` when too many wait already.
    pub(crate) fn enter(&self, tenant: &TenantId, backends: &Arc<[String]>) -> Option<Place> {
        let mut lines = self.lines();
        if lines.waiting() >= MOST_WAITING {
            return None;
        }
        let (ticket, call) = lines.join(tenant, backends, None);
        drop(lines);
        Some(Place::new(self.clone(), tenant.clone(), backends.clone(), ticket, call))
    }

    /// Hears what the store tells.
    pub(crate) fn hear(&self, notice: &Notification) {
        if let Notification::Work { tenant, backend, jobs } = notice {
            let mut lines = self.lines();
            for _ in 0..*jobs {
                if !lines.call_first(tenant, backend) {
                    return;
                }
            }
        }
    }

    /// Lets one of every class look.
    pub(crate) fn look(&self) {
        self.lines().call_every_class();
    }

    /// A job of this backend (empty: any) can be claimed from then on.
    pub(crate) fn expect(&self, tenant: &TenantId, backend: &str, at: Timestamp) {
        let due = self.due(at);
        if self.lines().expect(tenant, backend, due) {
            self.0.sooner.notify_one();
        }
    }

    /// Calls whoever waits for the ends of pauses, for as long as it is polled.
    pub(crate) async fn watch_pauses(&self) -> ! {
        loop {
            let next = self.lines().call_due(Instant::now());
            let pause = async {
                match next {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = pause => {}
                () = self.0.sooner.notified() => {}
            }
        }
    }

    fn due(&self, at: Timestamp) -> Instant {
        Instant::now() + at.since(self.0.clock.now()).max(SHORTEST_PAUSE)
    }

    /// The lines are whole whatever their last holder was doing.
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass_on(&self, tenant: &TenantId, backends: &Arc<[String]>, call: Call) {
        match call {
            Call::Work(backend) => {
                self.lines().call_first(tenant, &backend);
            }
            Call::Look => self.lines().call_class(tenant, backends),
        }
    }
}

#[cfg(test)]
mod tests;
