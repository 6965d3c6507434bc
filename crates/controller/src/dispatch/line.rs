//! Who stands where. No waiting happens here.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vmafx_queue::{SessionId, TenantId};

/// Why somebody was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// There is a job for this backend (empty: any).
    Work(Arc<str>),
    /// There may be something. Whoever finds a job calls the next of its class.
    Look,
}

/// A position in line; lower is earlier.
pub(super) type Ticket = u64;

/// Those who serve the same backends.
#[derive(Default)]
struct Class {
    waiting: BTreeMap<Ticket, oneshot::Sender<Call>>,
    /// When the next pause of a job they could serve ends.
    due: Option<Instant>,
}

impl Class {
    /// Calls the first who still listens.
    fn call(&mut self, call: &Call) -> bool {
        while let Some((_, ear)) = self.waiting.pop_first() {
            if ear.send(call.clone()).is_ok() {
                return true;
            }
        }
        false
    }
}

type Classes = BTreeMap<Arc<[String]>, Class>;

/// All lines of all tenants.
#[derive(Default)]
pub(super) struct Lines {
    tenants: HashMap<TenantId, Classes>,
    sessions: HashMap<(TenantId, SessionId), VecDeque<(Ticket, CancellationToken)>>,
    last: Ticket,
}

impl Lines {
    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.tenants.values().flat_map(BTreeMap::values).map(|class| class.waiting.len()).sum()
    }

    /// Whether nothing is remembered of anybody.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.tenants.is_empty() && self.sessions.is_empty()
    }

    /// Gets in line: at the end, or at a place one had before.
    pub(super) fn join(
        &mut self,
        tenant: &TenantId,
        backends: &Arc<[String]>,
        before: Option<Ticket>,
    ) -> (Ticket, oneshot::Receiver<Call>) {
        let ticket = before.unwrap_or_else(|| {
            self.last += 1;
            self.last
        });
        let (ear, call) = oneshot::channel();
        if !self.tenants.contains_key(tenant) {
            self.tenants.insert(tenant.clone(), Classes::new());
        }
        if let Some(classes) = self.tenants.get_mut(tenant) {
            classes.entry(backends.clone()).or_default().waiting.insert(ticket, ear);
        }
        (ticket, call)
    }

    /// Moves somebody to a place they had before. Nothing happens to one who was called.
    pub(super) fn move_up(&mut self, tenant: &TenantId, backends: &Arc<[String]>, from: Ticket, to: Ticket) {
        if let Some(class) = self.class(tenant, backends)
            && let Some(ear) = class.waiting.remove(&from)
        {
            class.waiting.insert(to, ear);
        }
    }

    /// Leaves the line.
    pub(super) fn leave(&mut self, tenant: &TenantId, backends: &Arc<[String]>, ticket: Ticket) {
        let Some(classes) = self.tenants.get_mut(tenant) else { return };
        if let Some(class) = classes.get_mut(backends) {
            class.waiting.remove(&ticket);
            if class.waiting.is_empty() {
                classes.remove(backends);
            }
        }
        if classes.is_empty() {
            self.tenants.remove(tenant);
        }
    }

    /// Counts one who waits for a session. Of more than `most`, the longest-waiting is sent home: it is most likely
    /// the rest of a broken connection.
    pub(super) fn count(
        &mut self,
        session: (TenantId, SessionId),
        most: usize,
        ticket: Ticket,
        home: CancellationToken,
    ) {
        let waiting = self.sessions.entry(session).or_default();
        waiting.push_back((ticket, home));
        while waiting.len() > most.max(1) {
            if let Some((_, longest)) = waiting.pop_front() {
                longest.cancel();
            }
        }
    }

    /// Undoes [`Lines::count`].
    pub(super) fn discount(&mut self, session: &(TenantId, SessionId), ticket: Ticket) {
        if let Some(waiting) = self.sessions.get_mut(session) {
            waiting.retain(|(other, _)| *other != ticket);
            if waiting.is_empty() {
                self.sessions.remove(session);
            }
        }
    }

    /// Calls the longest-waiting who can serve the backend; `false` when there is none.
    pub(super) fn call_first(&mut self, tenant: &TenantId, backend: &Arc<str>) -> bool {
        let Some(classes) = self.tenants.get_mut(tenant) else { return false };
        loop {
            let fitting = classes.iter_mut().filter(|(served, _)| fits(served, backend));
            let first = fitting
                .filter_map(|(_, class)| Some((*class.waiting.first_key_value()?.0, class)))
                .min_by_key(|(ticket, _)| *ticket);
            let Some((ticket, class)) = first else { return false };
            let Some(ear) = class.waiting.remove(&ticket) else { return false };
            if ear.send(Call::Work(backend.clone())).is_ok() {
                return true;
            }
        }
    }

    /// Calls one of a class to look.
    pub(super) fn call_class(&mut self, tenant: &TenantId, backends: &Arc<[String]>) {
        if let Some(class) = self.class(tenant, backends) {
            class.call(&Call::Look);
        }
    }

    /// Calls one of every class to look.
    pub(super) fn call_every_class(&mut self) {
        for class in self.tenants.values_mut().flat_map(BTreeMap::values_mut) {
            class.call(&Call::Look);
        }
    }

    /// Notes the end of a pause; tells whether anybody waits for it.
    pub(super) fn expect(&mut self, tenant: &TenantId, backend: &str, due: Instant) -> bool {
        let Some(classes) = self.tenants.get_mut(tenant) else { return false };
        let mut noted = false;
        for (_, class) in classes.iter_mut().filter(|(served, _)| fits(served, backend)) {
            class.due = Some(class.due.map_or(due, |before| before.min(due)));
            noted = true;
        }
        noted
    }

    /// The same for one class, whose member looked and was told.
    pub(super) fn expect_class(&mut self, tenant: &TenantId, backends: &Arc<[String]>, due: Instant) -> bool {
        let Some(class) = self.class(tenant, backends) else { return false };
        class.due = Some(class.due.map_or(due, |before| before.min(due)));
        true
    }

    /// Calls one of every class whose pause is over; tells when the next one is.
    pub(super) fn call_due(&mut self, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for class in self.tenants.values_mut().flat_map(BTreeMap::values_mut) {
            match class.due {
                Some(due) if due <= now => {
                    class.due = None;
                    class.call(&Call::Look);
                }
                Some(due) => next = Some(next.map_or(due, |before| before.min(due))),
                None => {}
            }
        }
        next
    }

    fn class(&mut self, tenant: &TenantId, backends: &Arc<[String]>) -> Option<&mut Class> {
        self.tenants.get_mut(tenant)?.get_mut(backends)
    }
}

/// A job that asks for no backend is for everybody.
fn fits(served: &[String], backend: &str) -> bool {
    backend.is_empty() || served.iter().any(|one| one == backend)
}
