//! Whether the clips of a job fit into the scratch space at all.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;
use vmafx_job::{Failure, FailureReason};

use crate::scratch::Scratch;

/// The declared sizes of the clips that a job downloads. Each clip alone may fit while both together never do: their
/// downloads would wait for each other, and so would those of every further attempt.
#[derive(Debug)]
pub(super) struct ClipSizes {
    capacity: u64,
    declared: [AtomicU64; 2],
    exceeded: Notify,
}

impl ClipSizes {
    pub(super) fn new(scratch: &Scratch) -> Self {
        Self { capacity: scratch.capacity(), declared: Default::default(), exceeded: Notify::new() }
    }

    /// Records the length of a clip (0 or 1), if its source has declared it.
    pub(super) fn declare(&self, clip: usize, length: Option<u64>) {
        let (Some(length), Some(declared)) = (length, self.declared.get(clip)) else { return };
        declared.store(length, Ordering::Relaxed);
        if self.needs() > self.capacity {
            self.exceeded.notify_one();
        }
    }

    /// Returns when the clips are known not to fit, and otherwise never.
    pub(super) async fn exceeded(&self) -> Failure {
        self.exceeded.notified().await;
        let [reference, distorted] = self.lengths();
        let message = format!(
            "the reference has {reference} bytes and the distorted clip {distorted}; they never fit into the {} bytes of this \
             node's scratch space (VMAFX_SCRATCH_BYTES, VMAFX_SCRATCH_DIR)",
            self.capacity
        );
        Failure::new(FailureReason::InputTooLarge, message)
    }

    fn lengths(&self) -> [u64; 2] {
        [0, 1].map(|clip: usize| self.declared[clip].load(Ordering::Relaxed))
    }

    fn needs(&self) -> u64 {
        self.lengths().map(Scratch::occupied).iter().fold(0, |sum, length| sum.saturating_add(*length))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const MEGABYTE: u64 = 1 << 20;

    fn sizes(capacity: u64) -> ClipSizes {
        ClipSizes { capacity, declared: Default::default(), exceeded: Notify::new() }
    }

    #[tokio::test]
    async fn two_clips_that_fit_one_by_one_may_not_fit_together() {
        let sizes = sizes(10 * MEGABYTE);
        sizes.declare(0, Some(6 * MEGABYTE));
        sizes.declare(0, Some(6 * MEGABYTE));
        sizes.declare(1, None);
        assert_eq!(sizes.exceeded().now_or_never(), None);
        sizes.declare(1, Some(5 * MEGABYTE));
        let failure = sizes.exceeded().await;
        assert_eq!(failure.reason, FailureReason::InputTooLarge);
        for number in ["6291456", "5242880", "10485760"] {
            assert!(failure.message.contains(number), "{failure}");
        }
    }

    #[tokio::test]
    async fn clips_that_fill_the_space_exactly_fit() {
        let sizes = sizes(10 * MEGABYTE);
        sizes.declare(0, Some(6 * MEGABYTE));
        sizes.declare(1, Some(4 * MEGABYTE));
        assert_eq!(sizes.exceeded().now_or_never(), None);
        sizes.declare(1, Some(4 * MEGABYTE + 1));
        assert!(sizes.exceeded().now_or_never().is_some());
    }
}
