//! One waiting pull.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::{SessionId, TenantId};

use super::Dispatch;
use super::line::{Call, Ticket};

/// A place in line. Dropping it leaves the line, and passes a call on that was not followed.
pub(crate) struct Place {
    dispatch: Dispatch,
    tenant: TenantId,
    backends: Arc<[String]>,
    /// Where it stood first: its age.
    first: Ticket,
    /// Where it stands.
    ticket: Ticket,
    ear: oneshot::Receiver<Call>,
    /// The call that it follows.
    following: Option<Call>,
    home: CancellationToken,
    session: Option<(TenantId, SessionId)>,
}

impl Place {
    pub(super) fn new(
        dispatch: Dispatch,
        tenant: TenantId,
        backends: Arc<[String]>,
        ticket: Ticket,
        ear: oneshot::Receiver<Call>,
    ) -> Self {
        let home = CancellationToken::new();
        Self { dispatch, tenant, backends, first: ticket, ticket, ear, following: None, home, session: None }
    }

    /// It looked and found nothing: it stands again where its age puts it. `next` is when a pause ends that it
    /// waits for.
    pub(crate) fn stay(&mut self, session: SessionId, most: usize, next: Option<Timestamp>) {
        self.following = None;
        let due = next.map(|at| self.dispatch.due(at));
        let mut lines = self.dispatch.lines();
        lines.move_up(&self.tenant, &self.backends, self.ticket, self.first);
        self.ticket = self.first;
        if self.session.is_none() {
            let session = (self.tenant.clone(), session);
            lines.count(session.clone(), most, self.first, self.home.clone());
            self.session = Some(session);
        }
        let sooner = due.is_some_and(|due| lines.expect_class(&self.tenant, &self.backends, due));
        drop(lines);
        if sooner {
            self.dispatch.0.sooner.notify_one();
        }
    }

    /// Waits to be called, and is in line again when it answers: at the end, so that a second job calls somebody who
    /// is not busy looking for the first. `false`: it is sent home.
    pub(crate) async fn called(&mut self) -> bool {
        let call = tokio::select! {
            biased;
            () = self.home.cancelled() => return false,
            call = &mut self.ear => call,
        };
        let (ticket, ear) = self.dispatch.lines().join(&self.tenant, &self.backends, None);
        (self.ticket, self.ear) = (ticket, ear);
        // Calls are sent before their senders are dropped, so there is one.
        self.following = call.ok();
        true
    }

    /// It could not look, because the store failed. The next would fail too, and so on: one refused pull is enough.
    pub(crate) fn failed(&mut self) {
        self.following = None;
    }

    /// It found a job.
    pub(crate) fn served(&mut self) {
        if self.following.take() == Some(Call::Look) {
            self.dispatch.pass_on(&self.tenant, &self.backends, Call::Look);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut lines = self.dispatch.lines();
        lines.leave(&self.tenant, &self.backends, self.ticket);
        if let Some(session) = &self.session {
            lines.discount(session, self.first);
        }
        drop(lines);
        // Nobody can call it any more; what is in its ear came before.
        if let Ok(call) = self.ear.try_recv() {
            self.dispatch.pass_on(&self.tenant, &self.backends, call);
        }
        // Called, and gone before its look was over. The look goes on without it, but may have begun too early.
        if let Some(call) = self.following.take() {
            self.dispatch.pass_on(&self.tenant, &self.backends, call);
        }
    }
}
