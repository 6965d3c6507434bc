//! One waiting pull.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::{SessionId, TenantId};

use super::Dispatch;
use super::wait_queue::{PullScope, Ticket, Wakeup};

/// A pull in the queue. Dropping it removes it, and passes on a wake-up that it did not use.
pub(crate) struct WaitingPull {
    dispatch: Dispatch,
    scope: PullScope,
    backends: Arc<[String]>,
    /// The first ticket, by which the age of the pull counts.
    first_ticket: Ticket,
    ticket: Ticket,
    wakeup: oneshot::Receiver<Wakeup>,
    /// The wake-up that the current claim answers.
    handling: Option<Wakeup>,
    evicted: CancellationToken,
    session: Option<(TenantId, SessionId)>,
}

impl WaitingPull {
    pub(super) fn new(
        dispatch: Dispatch,
        scope: PullScope,
        backends: Arc<[String]>,
        ticket: Ticket,
        wakeup: oneshot::Receiver<Wakeup>,
    ) -> Self {
        let evicted = CancellationToken::new();
        Self {
            dispatch,
            scope,
            backends,
            first_ticket: ticket,
            ticket,
            wakeup,
            handling: None,
            evicted,
            session: None,
        }
    }

    /// The claim found nothing: the pull takes the position of its first ticket again. `next` is when the back-off ends of
    /// a job that the pull can serve.
    pub(crate) fn found_nothing(&mut self, session: SessionId, max_pulls: usize, next: Option<Timestamp>) {
        self.handling = None;
        let due = next.map(|at| self.dispatch.due(at));
        let mut queues = self.dispatch.queues();
        queues.move_up(&self.scope, &self.backends, self.ticket, self.first_ticket);
        self.ticket = self.first_ticket;
        if self.session.is_none() {
            let session = (self.scope.home().clone(), session);
            queues.add_to_session(session.clone(), max_pulls, self.first_ticket, self.evicted.clone());
            self.session = Some(session);
        }
        let earlier = due.is_some_and(|due| queues.set_class_due(&self.scope, &self.backends, due));
        drop(queues);
        if earlier {
            self.dispatch.0.earlier_due.notify_one();
        }
    }

    /// The claim found only jobs that are kept from the node of this pull: another node gets the wake-up. `next` is when the
    /// first of the jobs may go to this node, or a back-off ends.
    pub(crate) fn passed_over(&mut self, session: SessionId, max_pulls: usize, next: Timestamp) {
        let wakeup = self.handling.take();
        self.found_nothing(session, max_pulls, Some(next));
        if let Some(wakeup) = wakeup {
            self.dispatch.forward_behind(&self.scope, &self.backends, wakeup, self.first_ticket);
        }
    }

    /// Waits for a wake-up. On return the pull is queued again, at the end, so that a second job wakes a pull that is not
    /// busy claiming the first. `false`: the pull was evicted.
    pub(crate) async fn woken(&mut self) -> bool {
        let wakeup = tokio::select! {
            biased;
            () = self.evicted.cancelled() => return false,
            wakeup = &mut self.wakeup => wakeup,
        };
        (self.ticket, self.wakeup) = self.dispatch.queues().enqueue(&self.scope, &self.backends);
        // A sender is dropped only after it sent a wake-up, so there is one.
        self.handling = wakeup.ok();
        true
    }

    /// The claim failed with the store. The wake-up is not passed on, because every other pull would fail too.
    pub(crate) fn claim_failed(&mut self) {
        self.handling = None;
    }

    /// The claim found a job of this tenant. The wake-up for a job of another tenant is still unused.
    pub(crate) fn claimed_job(&mut self, of: &TenantId) {
        match self.handling.take() {
            Some(Wakeup::Job { tenant, .. }) if tenant == *of => {}
            Some(unused) => self.dispatch.forward(&self.scope, &self.backends, unused),
            None => {}
        }
    }
}

impl Drop for WaitingPull {
    fn drop(&mut self) {
        let mut queues = self.dispatch.queues();
        queues.remove(&self.scope, &self.backends, self.ticket);
        if let Some(session) = &self.session {
            queues.remove_from_session(session, self.first_ticket);
        }
        drop(queues);
        // The pull cannot be woken any more, but a wake-up may have been sent before it was removed.
        if let Ok(wakeup) = self.wakeup.try_recv() {
            self.dispatch.forward(&self.scope, &self.backends, wakeup);
        }
        // The caller went away during the claim. The claim still completes, but may have started before the job arrived.
        if let Some(wakeup) = self.handling.take() {
            self.dispatch.forward(&self.scope, &self.backends, wakeup);
        }
    }
}
