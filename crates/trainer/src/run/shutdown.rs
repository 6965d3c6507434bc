//! Saves pending samples before the process ends.
//!
//! The last checkpoint ignores the policy's interval and number of samples, so that a pause, a rollout or a move to
//! another machine loses nothing. If the registry does not respond in time, the next trainer reads the samples since
//! the last checkpoint from the stream again.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::training::TrainingRun;
use crate::checkpoint::CheckpointDecision;
use crate::status::TrainerPhase;

const RETRY_DELAY: Duration = Duration::from_secs(1);

impl TrainingRun {
    pub(super) async fn shut_down(mut self) {
        self.status.update(|status| status.phase = TrainerPhase::Paused);
        // Shorter than the process's own grace period, so that this task can still log what was not saved.
        let deadline = Instant::now() + self.graceful_shutdown.mul_f64(0.9);
        if timeout_at(deadline, self.save_pending()).await.is_err() {
            let pending = self.schedule.pending(self.samples());
            tracing::warn!(pending, "cannot save all samples in time; the next trainer learns them again");
        }
        self.uploads.shutdown().await;
    }

    async fn save_pending(&mut self) {
        // An upload in progress holds an older state, but the last checkpoint needs its number and digest.
        self.finish_upload().await;
        self.uploader.retry_now();
        loop {
            match self.schedule.decide_at_shutdown(self.samples()) {
                CheckpointDecision::Take => self.upload(),
                _ if self.uploader.has_pending_promotion() => {
                    self.uploader.retry_now();
                    self.uploader.promote_if_due(&mut self.uploads, &mut self.schedule, Instant::now());
                }
                _ => return,
            }
            self.finish_upload().await;
            let unsaved = self.schedule.decide_at_shutdown(self.samples()) == CheckpointDecision::Take;
            if unsaved || self.uploader.has_pending_promotion() {
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }

    async fn finish_upload(&mut self) {
        while let Some(outcome) = self.uploads.join_next().await {
            self.upload_ended(outcome);
        }
    }
}
