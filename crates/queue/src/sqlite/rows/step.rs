//! What a step of the state machine does to a row. Nothing here is stored yet.

use super::{Row, StoredLease, StoredResult};
use crate::clock::Timestamp;
use crate::ids::SessionId;
use crate::transition::{Event, State, Step, step};
use vmafx_job::{CancelCause, FailureReason};

impl Row {
    /// Where the event leads, if anywhere.
    pub(in super::super) fn leads(&self, event: Event) -> Option<State> {
        match step(self.state, event) {
            Step::To(state) => Some(state),
            Step::Stay | Step::Refuse => None,
        }
    }

    /// Handed out.
    pub(in super::super) fn hand_out(&mut self, node: &str, lease: StoredLease, now: Timestamp) {
        self.state = State::Running;
        self.ready = false;
        self.available_at = None;
        self.attempt += 1;
        self.node = Some(node.to_owned());
        self.started_at = Some(now);
        self.lease = Some(lease);
    }

    /// Waits again: at once, or after a pause.
    pub(in super::super) fn wait(&mut self, until: Option<Timestamp>) {
        self.state = State::Pending;
        self.ready = until.is_none();
        self.available_at = until;
        self.lease = None;
    }

    /// Over, with a score.
    pub(in super::super) fn complete(&mut self, result: StoredResult, now: Timestamp) {
        self.end(State::Completed, now);
        self.result = Some(result);
    }

    /// Over, without one.
    pub(in super::super) fn fail(&mut self, reason: FailureReason, error: &str, now: Timestamp) {
        self.end(State::Failed, now);
        self.failure_reason = reason;
        error.clone_into(&mut self.error);
    }

    /// Over, because somebody wanted it.
    pub(in super::super) fn cancel(&mut self, cause: CancelCause, error: &str, now: Timestamp) {
        self.end(State::Cancelled, now);
        self.cancel_cause = Some(cause);
        error.clone_into(&mut self.error);
    }

    /// Who holds it.
    pub(in super::super) fn holder(&self) -> Option<SessionId> {
        self.lease.map(|lease| lease.session)
    }

    fn end(&mut self, state: State, now: Timestamp) {
        self.state = state;
        self.ready = false;
        self.available_at = None;
        self.lease = None;
        self.finished_at = Some(now);
    }
}
