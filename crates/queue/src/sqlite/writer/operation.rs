//! An operation that can be run repeatedly, and its caller.

use tokio::sync::oneshot;

use crate::sqlite::space::Growth;
use crate::sqlite::unit_of_work::UnitOfWork;
use crate::{StoreError, StoreResult};

pub(super) trait Operation: Send {
    fn growth(&self) -> Growth;
    /// Whether the last run found no room.
    fn found_no_room(&self) -> bool;
    /// Runs the operation; called again after a rollback. Returns whether it succeeded.
    fn run(&mut self, tx: &mut UnitOfWork<'_>) -> bool;
    /// Sends the result of the last run to the caller.
    fn answer(self: Box<Self>);
    /// Tells the caller that the commit failed.
    fn fail(self: Box<Self>, error: StoreError);
}

pub(super) struct Task<T, W> {
    pub(super) work: W,
    pub(super) growth: Growth,
    pub(super) outcome: Option<StoreResult<T>>,
    pub(super) reply: oneshot::Sender<StoreResult<T>>,
}

impl<T, W> Operation for Task<T, W>
where
    T: Send,
    W: FnMut(&mut UnitOfWork<'_>) -> StoreResult<T> + Send,
{
    fn growth(&self) -> Growth {
        self.growth
    }

    fn found_no_room(&self) -> bool {
        matches!(self.outcome, Some(Err(StoreError::Full { .. })))
    }

    fn run(&mut self, tx: &mut UnitOfWork<'_>) -> bool {
        self.outcome.insert((self.work)(tx)).is_ok()
    }

    fn answer(self: Box<Self>) {
        if let Some(outcome) = self.outcome {
            // The caller may have been cancelled; the operation stays committed.
            let _ = self.reply.send(outcome);
        }
    }

    fn fail(self: Box<Self>, error: StoreError) {
        let _ = self.reply.send(Err(error));
    }
}
