//! Pulls that wait for work, and which of them is woken when there is some.
//!
//! Waiting pulls are queued by tenant and by the backends they serve; all pulls that serve the same backends are a *class*.
//! The store notifies when jobs can be claimed, and as many pulls are woken as there are jobs: those that waited longest
//! and can serve the jobs, each once. A wake-up is not a job: a pull that is woken tries to claim one itself. A superfluous
//! wake-up therefore costs one claim, and a missing one would cost a wait:
//!
//! | event                                              | woken pulls                                              |
//! |----------------------------------------------------|----------------------------------------------------------|
//! | the store notifies of `n` jobs                     | the first `n` that fit                                   |
//! | a woken pull goes away before it claims            | the next that fits, instead                              |
//! | the back-off of a job ends                         | one of each class that waits for it                      |
//! | notifications of the store were dropped            | one of every class                                       |
//! | nothing, for a few seconds                         | one of every class: another controller may have been cut off |
//! | one of the last three claims a job                 | the next of its class, until a claim finds nothing       |
//! | the jobs are kept from the node of a woken pull    | the next that fits behind it, instead                    |
//!
//! The pulls of a quarantined node are not queued: they sleep until the node may claim a job on trial.
//!
//! A pull of a shared pool is one of the pulls of each of its tenants, in the order of age. Which tenant it then claims for
//! is decided by the pool's [`fair_share`], so it may use the wake-up of one tenant for the job of another:
//!
//! | event                                              | woken pulls                                              |
//! |----------------------------------------------------|----------------------------------------------------------|
//! | a pull that was woken for one tenant claims a job of another | the next that fits the former, instead         |
//! | a job is kept from the pool's node by one of its tenants, and no other has work | the next that fits behind it, instead |
//! | a job ends of a tenant that ran as many as it may  | the first that fits                                      |
//!
//! A pull is queued before it claims ([`Dispatch::enqueue`] before the first claim, [`WaitingPull::woken`] before each
//! later one), so that a job that arrives between its claim and its wait still wakes it.

mod fair_share;
mod pool_shares;
mod pool_turn;
mod wait_queue;
mod waiting_pull;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use vmafx_queue::TenantId;
use vmafx_queue::clock::{Clock, Timestamp};
use vmafx_queue::notification::Notification;

use self::pool_shares::PoolShares;
use self::pool_turn::PoolRound;
pub(crate) use self::wait_queue::PullScope;
use self::wait_queue::{Ticket, WaitQueues, Wakeup};
pub(crate) use self::waiting_pull::WaitingPull;
use crate::service::{Pool, Sharing};

/// Further pulls are answered without waiting.
const MAX_WAITING_PULLS: usize = 16_384;

/// Shortest wait for the end of a back-off. The store may go by another clock than this process, and a pull that is woken
/// too early must not claim in a busy loop.
const MIN_WAKE_DELAY: Duration = Duration::from_millis(100);

/// The waiting pulls. Clones share them.
#[derive(Clone)]
pub(crate) struct Dispatch(Arc<Inner>);

struct Inner {
    queues: Mutex<WaitQueues>,
    shares: Mutex<PoolShares>,
    sharing: Arc<dyn Sharing>,
    /// Notified when a back-off was added that may end before all others.
    earlier_due: Notify,
    clock: Arc<dyn Clock>,
}

impl Dispatch {
    pub(crate) fn new(clock: Arc<dyn Clock>, sharing: Arc<dyn Sharing>) -> Self {
        let (queues, shares) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { queues, shares, sharing, earlier_due: Notify::new(), clock }))
    }

    /// Queues a pull; `None` when too many wait already.
    pub(crate) fn enqueue(&self, scope: &PullScope, backends: &Arc<[String]>) -> Option<WaitingPull> {
        let mut queues = self.queues();
        if queues.waiting() >= MAX_WAITING_PULLS {
            return None;
        }
        let (ticket, wakeup) = queues.enqueue(scope, backends);
        drop(queues);
        Some(WaitingPull::new(self.clone(), scope.clone(), backends.clone(), ticket, wakeup))
    }

    /// Wakes one pull for each job that a notification of the store announces.
    pub(crate) fn notify(&self, notification: &Notification) {
        if let Notification::Work { tenant, backend, jobs } = notification {
            // Before a pull is woken, so that it finds the tenant among those with work.
            if self.0.sharing.has_pools() {
                self.shares().announce(tenant, backend);
            }
            let mut queues = self.queues();
            for _ in 0..*jobs {
                if !queues.wake_oldest(tenant, backend) {
                    return;
                }
            }
        }
    }

    /// Wakes one pull of every class.
    pub(crate) fn wake_every_class(&self) {
        self.queues().wake_every_class();
    }

    /// Wakes pulls when a job of this backend (empty: any) becomes available.
    pub(crate) fn wake_at(&self, tenant: &TenantId, backend: &str, at: Timestamp) {
        let due = self.due(at);
        if self.0.sharing.has_pools() {
            self.shares().announce_at(tenant, backend, due);
        }
        if self.queues().set_due(tenant, backend, due) {
            self.0.earlier_due.notify_one();
        }
    }

    /// Wakes one pull of a shared pool if the tenant whose job ended ran as many as it may.
    pub(crate) fn freed(&self, tenant: &TenantId) {
        let waited = self.shares().freed(tenant);
        if waited {
            self.queues().wake_oldest(tenant, &Arc::from(""));
        }
    }

    /// Wakes pulls when the back-offs that they wait for end, for as long as it is polled.
    pub(crate) async fn wake_when_due(&self) -> ! {
        loop {
            let next = self.queues().wake_due(Instant::now());
            let due = async {
                match next {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = due => {}
                () = self.0.earlier_due.notified() => {}
            }
        }
    }

    fn due(&self, at: Timestamp) -> Instant {
        Instant::now() + at.since(self.0.clock.now()).max(MIN_WAKE_DELAY)
    }

    /// A poisoned lock is taken: no operation panics halfway through a change of the queues.
    fn queues(&self) -> MutexGuard<'_, WaitQueues> {
        self.0.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until this time of the store's clock.
    pub(crate) async fn sleep_until(&self, at: Timestamp) {
        tokio::time::sleep_until(self.due(at)).await;
    }

    /// Takes over the tenants with unfinished jobs, and whether any is pending, and wakes one pull of every class.
    pub(crate) fn refresh_tenants(&self, unfinished: BTreeMap<TenantId, bool>) {
        self.shares().refresh(unfinished);
        self.wake_every_class();
    }

    /// A look at the tenants of a pool, in the order in which they come next.
    pub(crate) fn round(&self, pool: &Arc<Pool>, backends: &Arc<[String]>) -> PoolRound {
        PoolRound::new(self.clone(), pool.clone(), backends.clone())
    }

    /// The tenants of a pool that have pending jobs.
    pub(crate) fn pending_tenants(&self, pool: &Pool) -> Vec<TenantId> {
        self.shares().pending(pool)
    }

    /// The tenants of a pool that may have running jobs.
    pub(crate) fn unfinished_tenants(&self, pool: &Pool) -> BTreeSet<TenantId> {
        self.shares().unfinished(pool)
    }

    /// Passes a wake-up that one pull could not use to the next one behind it, so that it reaches each pull at most once.
    fn forward_behind(&self, scope: &PullScope, backends: &Arc<[String]>, wakeup: Wakeup, ticket: Ticket) {
        match wakeup {
            Wakeup::Job { tenant, backend } => {
                self.queues().wake_oldest_behind(&tenant, &backend, ticket);
            }
            Wakeup::Recheck => self.queues().wake_class_behind(scope, backends, ticket),
        }
    }

    /// Passes a wake-up that was not used to the next pull.
    fn forward(&self, scope: &PullScope, backends: &Arc<[String]>, wakeup: Wakeup) {
        match wakeup {
            Wakeup::Job { tenant, backend } => {
                self.queues().wake_oldest(&tenant, &backend);
            }
            Wakeup::Recheck => self.queues().wake_class(scope, backends),
        }
    }
}

#[cfg(test)]
mod tests;
