//! Decides which reports are accepted.
//!
//! A node whose lease expired may come back with a score while another node already runs the same job. So only the session
//! that holds the running attempt may end the job. A session that did not receive the answer to its report may repeat it
//! without effect.
//!
//! The score of an attempt whose lease expired still counts while nobody has claimed the job since: the work is done, and
//! a second attempt would only repeat it. A failure does not, because another node may succeed.
//!
//! | attempt of the report             | state of the job | by its session                   | by another |
//! |-----------------------------------|------------------|----------------------------------|------------|
//! | running, the latest               | Running          | accepted                         | fenced     |
//! | completed, failed, cancelled      | any              | repeated                         | fenced     |
//! | expired, the latest               | Pending          | accepted if it is a score        | fenced     |
//! | expired otherwise, released, none | any              | fenced                           | fenced     |
//!
//! The session of an expired attempt may be evicted by then, so the attempt keeps the digest of its token.

use crate::ids::{AttemptNumber, SessionId};
use crate::outcome::AttemptOutcome;
use crate::transition::State;

/// What the store has recorded about the job and about the attempt that a report refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceState {
    pub state: State,
    /// Number of the latest attempt.
    pub attempt: AttemptNumber,
    /// The session that holds the running attempt.
    pub session: Option<SessionId>,
    /// The attempt that the report refers to, if it exists: its session, and how it ended.
    pub reported: Option<(SessionId, Option<AttemptOutcome>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceDecision {
    /// The report ends the attempt.
    Accept,
    /// The lease of the attempt expired, and nobody has claimed the job since: a score ends the job, a failure is fenced.
    AcceptLateScore,
    /// The report was accepted before, or the job was cancelled meanwhile: success without effect.
    Repeat,
    /// The attempt does not belong to this session, or its lease was taken away.
    Fenced,
}

/// Decides about a report by `session` on `attempt`.
pub fn decide(observed: &FenceState, session: SessionId, attempt: AttemptNumber) -> FenceDecision {
    if observed.state == State::Running && observed.attempt == attempt && observed.session == Some(session) {
        return FenceDecision::Accept;
    }
    match observed.reported {
        Some((owner, Some(outcome))) if owner == session => match outcome {
            AttemptOutcome::Completed | AttemptOutcome::Failed | AttemptOutcome::Cancelled => {
                FenceDecision::Repeat
            }
            AttemptOutcome::Expired if observed.state == State::Pending && observed.attempt == attempt => {
                FenceDecision::AcceptLateScore
            }
            AttemptOutcome::Released | AttemptOutcome::Expired => FenceDecision::Fenced,
        },
        _ => FenceDecision::Fenced,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const ME: SessionId = SessionId(Uuid::from_u128(1));
    const OTHER: SessionId = SessionId(Uuid::from_u128(2));

    fn ended(outcome: AttemptOutcome) -> FenceState {
        FenceState { state: State::Pending, attempt: 2, session: None, reported: Some((ME, Some(outcome))) }
    }

    #[test]
    fn only_the_holder_of_the_running_attempt_is_accepted() {
        let observed =
            FenceState { state: State::Running, attempt: 2, session: Some(ME), reported: Some((ME, None)) };
        assert_eq!(decide(&observed, ME, 2), FenceDecision::Accept);
        assert_eq!(decide(&observed, OTHER, 2), FenceDecision::Fenced);
        assert_eq!(decide(&observed, ME, 1), FenceDecision::Fenced);
    }

    #[test]
    fn an_ended_attempt_may_be_repeated_by_its_owner_unless_its_lease_was_taken_away() {
        for outcome in AttemptOutcome::ALL {
            let expected = match outcome {
                AttemptOutcome::Released => FenceDecision::Fenced,
                AttemptOutcome::Expired => FenceDecision::AcceptLateScore,
                _ => FenceDecision::Repeat,
            };
            assert_eq!(decide(&ended(outcome), ME, 2), expected, "{outcome:?}");
            assert_eq!(decide(&ended(outcome), OTHER, 2), FenceDecision::Fenced, "{outcome:?}");
        }
    }

    #[test]
    fn a_late_score_counts_only_while_its_job_waits_and_no_later_attempt_was_started() {
        for state in State::ALL {
            for latest in [2, 3] {
                let observed = FenceState { state, attempt: latest, ..ended(AttemptOutcome::Expired) };
                let expected = if (state, latest) == (State::Pending, 2) {
                    FenceDecision::AcceptLateScore
                } else {
                    FenceDecision::Fenced
                };
                assert_eq!(decide(&observed, ME, 2), expected, "{state:?}, attempt {latest}");
            }
        }
    }
}
