//! The queues of waiting pulls. Nothing here waits.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vmafx_queue::{SessionId, TenantId};

use crate::service::Pool;

/// The tenants whose jobs a pull may claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PullScope {
    Own(TenantId),
    Shared(Arc<Pool>),
}

impl PullScope {
    /// The tenant of the node's session.
    pub(super) fn home(&self) -> &TenantId {
        match self {
            Self::Own(tenant) => tenant,
            Self::Shared(pool) => &pool.home,
        }
    }
}

/// Why a pull was woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wakeup {
    /// There is a job of this tenant for this backend (empty: any).
    Job { tenant: TenantId, backend: Arc<str> },
    /// There may be a job. A pull that claims one wakes the next of its class.
    Recheck,
}

/// A position in the queue, from 1; lower is earlier.
pub(super) type Ticket = u64;

/// The pulls that serve the same backends.
#[derive(Default)]
struct PullClass {
    waiting: BTreeMap<Ticket, oneshot::Sender<Wakeup>>,
    /// When the next back-off ends of a job that the class can serve.
    due: Option<Instant>,
}

impl PullClass {
    /// Wakes the first pull that still waits.
    fn wake(&mut self) {
        self.wake_behind(0);
    }

    /// Wakes the first pull with a later ticket that still waits.
    fn wake_behind(&mut self, ticket: Ticket) {
        while let Some(next) = self.first_behind(ticket) {
            if self.waiting.remove(&next).is_some_and(|pull| pull.send(Wakeup::Recheck).is_ok()) {
                return;
            }
        }
    }

    fn first_behind(&self, ticket: Ticket) -> Option<Ticket> {
        self.waiting.range((Bound::Excluded(ticket), Bound::Unbounded)).next().map(|(next, _)| *next)
    }

    fn set_due(&mut self, due: Instant) {
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }
}

type PullClasses = BTreeMap<Arc<[String]>, PullClass>;

/// The queues of all tenants.
#[derive(Default)]
pub(super) struct WaitQueues {
    tenants: HashMap<TenantId, PullClasses>,
    pools: BTreeMap<Arc<Pool>, PullClasses>,
    sessions: HashMap<(TenantId, SessionId), VecDeque<(Ticket, CancellationToken)>>,
    last: Ticket,
}

impl WaitQueues {
    pub(super) fn waiting(&self) -> usize {
        let classes = self.tenants.values().chain(self.pools.values());
        classes.flat_map(BTreeMap::values).map(|class| class.waiting.len()).sum()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.tenants.is_empty() && self.pools.is_empty() && self.sessions.is_empty()
    }

    /// Adds a pull at the end of its queue.
    pub(super) fn enqueue(
        &mut self,
        scope: &PullScope,
        backends: &Arc<[String]>,
    ) -> (Ticket, oneshot::Receiver<Wakeup>) {
        self.last += 1;
        let (pull, wakeup) = oneshot::channel();
        let classes = match scope {
            PullScope::Own(tenant) => self.tenants.entry(tenant.clone()).or_default(),
            PullScope::Shared(pool) => self.pools.entry(pool.clone()).or_default(),
        };
        classes.entry(backends.clone()).or_default().waiting.insert(self.last, pull);
        (self.last, wakeup)
    }

    /// Moves a pull to a position that it had before. A pull that was woken meanwhile is not queued any more and stays out.
    pub(super) fn move_up(&mut self, scope: &PullScope, backends: &Arc<[String]>, from: Ticket, to: Ticket) {
        if let Some(class) = self.class(scope, backends)
            && let Some(pull) = class.waiting.remove(&from)
        {
            class.waiting.insert(to, pull);
        }
    }

    pub(super) fn remove(&mut self, scope: &PullScope, backends: &Arc<[String]>, ticket: Ticket) {
        let Some(classes) = self.classes(scope) else { return };
        if let Some(class) = classes.get_mut(backends) {
            class.waiting.remove(&ticket);
            if class.waiting.is_empty() {
                classes.remove(backends);
            }
        }
        if classes.is_empty() {
            match scope {
                PullScope::Own(tenant) => drop(self.tenants.remove(tenant)),
                PullScope::Shared(pool) => drop(self.pools.remove(pool)),
            }
        }
    }

    /// Counts a pull of a session. Beyond `max`, the pull that waited longest is evicted: it most likely belongs to a
    /// broken connection.
    pub(super) fn add_to_session(
        &mut self,
        session: (TenantId, SessionId),
        max: usize,
        ticket: Ticket,
        evicted: CancellationToken,
    ) {
        let waiting = self.sessions.entry(session).or_default();
        waiting.push_back((ticket, evicted));
        while waiting.len() > max.max(1) {
            if let Some((_, oldest)) = waiting.pop_front() {
                oldest.cancel();
            }
        }
    }

    pub(super) fn remove_from_session(&mut self, session: &(TenantId, SessionId), ticket: Ticket) {
        if let Some(waiting) = self.sessions.get_mut(session) {
            waiting.retain(|(other, _)| *other != ticket);
            if waiting.is_empty() {
                self.sessions.remove(session);
            }
        }
    }

    /// Wakes the pull that waited longest and can serve the backend; `false` when there is none.
    pub(super) fn wake_oldest(&mut self, tenant: &TenantId, backend: &Arc<str>) -> bool {
        self.wake_oldest_behind(tenant, backend, 0)
    }

    /// Like [`WaitQueues::wake_oldest`], among the pulls with a later ticket.
    pub(super) fn wake_oldest_behind(
        &mut self,
        tenant: &TenantId,
        backend: &Arc<str>,
        after: Ticket,
    ) -> bool {
        loop {
            let oldest = self
                .fitting_classes(tenant, backend)
                .filter_map(|class| Some((class.first_behind(after)?, class)))
                .min_by_key(|(ticket, _)| *ticket);
            let Some((ticket, class)) = oldest else { return false };
            let Some(pull) = class.waiting.remove(&ticket) else { return false };
            if pull.send(Wakeup::Job { tenant: tenant.clone(), backend: backend.clone() }).is_ok() {
                return true;
            }
        }
    }

    pub(super) fn wake_class(&mut self, scope: &PullScope, backends: &Arc<[String]>) {
        if let Some(class) = self.class(scope, backends) {
            class.wake();
        }
    }

    pub(super) fn wake_class_behind(&mut self, scope: &PullScope, backends: &Arc<[String]>, ticket: Ticket) {
        if let Some(class) = self.class(scope, backends) {
            class.wake_behind(ticket);
        }
    }

    pub(super) fn wake_every_class(&mut self) {
        self.every_class().for_each(PullClass::wake);
    }

    /// Records the end of a back-off; returns whether any pull waits for it.
    pub(super) fn set_due(&mut self, tenant: &TenantId, backend: &str, due: Instant) -> bool {
        let mut any = false;
        for class in self.fitting_classes(tenant, backend) {
            class.set_due(due);
            any = true;
        }
        any
    }

    /// Like [`WaitQueues::set_due`], for the one class whose claim returned this instant.
    pub(super) fn set_class_due(
        &mut self,
        scope: &PullScope,
        backends: &Arc<[String]>,
        due: Instant,
    ) -> bool {
        self.class(scope, backends).map(|class| class.set_due(due)).is_some()
    }

    /// Wakes one pull of every class whose back-off is over; returns when the next one ends.
    pub(super) fn wake_due(&mut self, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for class in self.every_class() {
            match class.due {
                Some(due) if due <= now => {
                    class.due = None;
                    class.wake();
                }
                Some(due) => next = Some(next.map_or(due, |before| before.min(due))),
                None => {}
            }
        }
        next
    }

    fn classes(&mut self, scope: &PullScope) -> Option<&mut PullClasses> {
        match scope {
            PullScope::Own(tenant) => self.tenants.get_mut(tenant),
            PullScope::Shared(pool) => self.pools.get_mut(pool),
        }
    }

    fn class(&mut self, scope: &PullScope, backends: &Arc<[String]>) -> Option<&mut PullClass> {
        self.classes(scope)?.get_mut(backends)
    }

    fn every_class(&mut self) -> impl Iterator<Item = &mut PullClass> {
        self.tenants.values_mut().chain(self.pools.values_mut()).flat_map(BTreeMap::values_mut)
    }

    /// The classes that can serve a job of this tenant and backend.
    fn fitting_classes(&mut self, tenant: &TenantId, backend: &str) -> impl Iterator<Item = &mut PullClass> {
        let shared =
            self.pools.iter_mut().filter(|(pool, _)| pool.serves(tenant)).map(|(_, classes)| classes);
        let classes = self.tenants.get_mut(tenant).into_iter().chain(shared);
        classes.flatten().filter(|(served, _)| fits(served, backend)).map(|(_, class)| class)
    }
}

/// A job without a backend fits every pull.
pub(super) fn fits(served: &[String], backend: &str) -> bool {
    backend.is_empty() || served.iter().any(|one| one == backend)
}
