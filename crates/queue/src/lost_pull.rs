//! Decides which jobs return to the queue because the answer to a pull was lost.
//!
//! A claim is committed before its answer is sent. When the connection breaks in between, the job runs nowhere, and its
//! attempt would be lost when the lease expires. Nothing is concluded from silence, because an answer may still be on its
//! way. A node chooses an id for every pull, and names the pulls of which it will never read an answer. What they claimed is
//! released: it is pending again at once, and no attempt counts as lost. Naming a pull again has no further effect, so a
//! node names it until a claim that was delayed must have been committed.

use crate::ids::{PullId, SessionId};

/// The text of an attempt that ends this way.
pub const REASON: &str = "the node did not receive the job";

/// What the store has recorded about the running attempt of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningClaim {
    pub session: SessionId,
    /// `None` when the node named no pull.
    pub pull: Option<PullId>,
}

/// Whether a running attempt is released when `session` names the pulls `lost`.
pub fn is_released(running: &RunningClaim, session: SessionId, lost: &[PullId]) -> bool {
    running.session == session && running.pull.is_some_and(|pull| lost.contains(&pull))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use uuid::Uuid;

    use super::*;

    fn pull(number: u128) -> PullId {
        PullId(Uuid::from_u128(number))
    }

    #[rstest]
    #[case::named(1, Some(5), &[4, 5], true)]
    #[case::another_pull(1, Some(6), &[4, 5], false)]
    #[case::a_pull_of_another_session(2, Some(5), &[4, 5], false)]
    #[case::a_claim_without_a_pull(1, None, &[4, 5], false)]
    #[case::none_named(1, Some(5), &[], false)]
    fn only_what_the_session_named_is_released(
        #[case] holder: u128,
        #[case] claimed_by: Option<u128>,
        #[case] lost: &[u128],
        #[case] expected: bool,
    ) {
        let session = |number| SessionId(Uuid::from_u128(number));
        let running = RunningClaim { session: session(holder), pull: claimed_by.map(pull) };
        let lost: Vec<PullId> = lost.iter().copied().map(pull).collect();
        assert_eq!(is_released(&running, session(1), &lost), expected);
    }
}
