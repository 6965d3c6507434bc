//! An operation that can be run again, and whoever waits for it.

use tokio::sync::oneshot;

use crate::StoreError;
use crate::sqlite::unit::Unit;

/// Something to be done in a transaction.
pub(super) trait Operation: Send {
    /// Whether it may change what is stored.
    fn writes(&self) -> bool;
    /// Does it. May be called again after a transaction was undone. Whether it went well.
    fn run(&mut self, unit: &mut Unit<'_>) -> bool;
    /// Tells what came of the last run.
    fn answer(self: Box<Self>);
    /// Tells that it could not be made durable.
    fn fail(self: Box<Self>, error: StoreError);
}

/// The usual one.
pub(super) struct Task<T, W> {
    pub(super) work: W,
    pub(super) writes: bool,
    pub(super) outcome: Option<Result<T, StoreError>>,
    pub(super) reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> Operation for Task<T, W>
where
    T: Send,
    W: FnMut(&mut Unit<'_>) -> Result<T, StoreError> + Send,
{
    fn writes(&self) -> bool {
        self.writes
    }

    fn run(&mut self, unit: &mut Unit<'_>) -> bool {
        self.outcome.insert((self.work)(unit)).is_ok()
    }

    fn answer(self: Box<Self>) {
        if let Some(outcome) = self.outcome {
            // Whoever asked may have gone; what was done stays done.
            let _ = self.reply.send(outcome);
        }
    }

    fn fail(self: Box<Self>, error: StoreError) {
        let _ = self.reply.send(Err(error));
    }
}
