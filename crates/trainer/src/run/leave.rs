//! The last thing that a trainer does: it saves what it has learned.
//!
//! Whatever interval and number of samples say, so that a pause, a rollout or a move to another machine loses nothing
//! and the next trainer begins where this one ends. If the registry cannot be reached in the time that there is, what was
//! learned since the last checkpoint is learned again from the stream.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::learn::Course;
use crate::checkpoint::Decision;
use crate::status::Phase;

/// Between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

impl Course {
    /// Saves, within the time that is given.
    pub(super) async fn leave(mut self) {
        self.board.update(|status| status.phase = Phase::Paused);
        // A little less than the process has: what takes longer is ended from outside, and says less.
        let end = Instant::now() + self.grace.mul_f64(0.9);
        if timeout_at(end, self.save()).await.is_err() {
            let pending = self.schedule.pending(self.samples());
            tracing::warn!(pending, "there was no time to save everything: it will be learned again");
        }
        self.sending.shutdown().await;
    }

    async fn save(&mut self) {
        // What is on its way is older than what is here, but it is the one after which we can push.
        self.settle().await;
        self.sender.hurry();
        loop {
            match self.schedule.decide_last(self.samples()) {
                Decision::Take => self.send(),
                _ if self.sender.has_to_promote() => {
                    self.sender.hurry();
                    self.sender.promote_if_due(&mut self.sending, &mut self.schedule, Instant::now());
                }
                _ => return,
            }
            self.settle().await;
            if self.schedule.decide_last(self.samples()) == Decision::Take || self.sender.has_to_promote() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    async fn settle(&mut self) {
        while let Some(outcome) = self.sending.join_next().await {
            self.sent(outcome);
        }
    }
}
