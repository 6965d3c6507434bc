//! State transitions of a row in memory. The caller stores the row.

use super::{JobRow, StoredLease, StoredResult};
use crate::clock::Timestamp;
use crate::ids::SessionId;
use crate::job::FailedAttempt;
use crate::transition::{JobEvent, State, Transition, next};
use vmafx_job::{CancelCause, FailureReason};

impl JobRow {
    /// The state that the event leads to, if the state machine allows it.
    pub(in super::super) fn next_state(&self, event: JobEvent) -> Option<State> {
        match next(self.state, event) {
            Transition::To(state) => Some(state),
            Transition::Stay | Transition::Refuse => None,
        }
    }

    pub(in super::super) fn hand_out(&mut self, node: &str, lease: StoredLease, now: Timestamp) {
        self.state = State::Running;
        self.ready = false;
        self.available_at = None;
        self.avoids = None;
        self.attempt += 1;
        self.node = Some(node.to_owned());
        self.started_at = Some(now);
        self.lease = Some(lease);
        self.use_next_spec();
    }

    /// Returns the job to the queue, at once or after a back-off.
    pub(in super::super) fn wait(&mut self, until: Option<Timestamp>) {
        self.state = State::Pending;
        self.ready = until.is_none();
        self.available_at = until;
        self.lease = None;
        self.use_next_spec();
    }

    fn use_next_spec(&mut self) {
        if let Some(next) = self.next_spec.take() {
            self.spec = next;
        }
    }

    /// Returns the job to the queue after its running attempt failed or was lost.
    pub(in super::super) fn retry(&mut self, reason: FailureReason, message: &str, until: Timestamp) {
        self.last_failure = Some(FailedAttempt {
            attempt: self.attempt,
            node: self.node.clone().unwrap_or_default(),
            reason,
            message: message.to_owned(),
        });
        self.wait(Some(until));
    }

    pub(in super::super) fn complete(&mut self, result: StoredResult, now: Timestamp) {
        self.end(State::Completed, now);
        self.result = Some(result);
    }

    pub(in super::super) fn fail(&mut self, reason: FailureReason, error: &str, now: Timestamp) {
        self.end(State::Failed, now);
        self.failure_reason = reason;
        error.clone_into(&mut self.error);
    }

    pub(in super::super) fn cancel(&mut self, cause: CancelCause, error: &str, now: Timestamp) {
        self.end(State::Cancelled, now);
        self.cancel_cause = Some(cause);
        error.clone_into(&mut self.error);
    }

    pub(in super::super) fn holder(&self) -> Option<SessionId> {
        self.lease.map(|lease| lease.session)
    }

    fn end(&mut self, state: State, now: Timestamp) {
        self.state = state;
        self.ready = false;
        self.available_at = None;
        self.avoids = None;
        self.lease = None;
        self.finished_at = Some(now);
    }
}
