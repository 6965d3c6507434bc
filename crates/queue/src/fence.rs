//! Whose report counts.
//!
//! A node that was given up for lost may come back with a score while another node already works on the same job.
//! Only the attempt that runs, told by the session that holds it, may end the job. A session that ended an attempt
//! and did not hear the answer may say so again; nobody else may say anything.

use crate::ids::{AttemptNumber, SessionId};
use crate::outcome::AttemptOutcome;
use crate::transition::State;

/// What the store knows about the job, and about the attempt that is spoken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Where the job stands.
    pub state: State,
    /// The attempt that runs, or ran last.
    pub attempt: AttemptNumber,
    /// Who holds it, while it runs.
    pub session: Option<SessionId>,
    /// The attempt that is spoken of, if there was one: whose it was, and how it ended.
    pub spoken_of: Option<(SessionId, Option<AttemptOutcome>)>,
}

/// What is to be done with a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It ends the attempt.
    Accept,
    /// It was accepted before, or the job was cancelled meanwhile: success without effect.
    Repeat,
    /// It is not this session's to say.
    Fenced,
}

/// Judges a report by `session` on `attempt`.
pub fn judge(held: &Held, session: SessionId, attempt: AttemptNumber) -> Verdict {
    if held.state == State::Running && held.attempt == attempt && held.session == Some(session) {
        return Verdict::Accept;
    }
    match held.spoken_of {
        Some((owner, Some(outcome))) if owner == session => match outcome {
            AttemptOutcome::Completed | AttemptOutcome::Failed | AttemptOutcome::Cancelled => Verdict::Repeat,
            AttemptOutcome::Released | AttemptOutcome::Expired => Verdict::Fenced,
        },
        _ => Verdict::Fenced,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const ME: SessionId = SessionId(Uuid::from_u128(1));
    const OTHER: SessionId = SessionId(Uuid::from_u128(2));

    fn ended(outcome: AttemptOutcome) -> Held {
        Held { state: State::Pending, attempt: 2, session: None, spoken_of: Some((ME, Some(outcome))) }
    }

    #[test]
    fn the_holder_of_the_running_attempt_is_heard() {
        let held = Held { state: State::Running, attempt: 2, session: Some(ME), spoken_of: Some((ME, None)) };
        assert_eq!(judge(&held, ME, 2), Verdict::Accept);
        assert_eq!(judge(&held, OTHER, 2), Verdict::Fenced);
        assert_eq!(judge(&held, ME, 1), Verdict::Fenced);
    }

    #[test]
    fn an_ended_attempt_may_be_repeated_by_its_owner_unless_it_was_taken_away() {
        for outcome in AttemptOutcome::ALL {
            let taken = matches!(outcome, AttemptOutcome::Released | AttemptOutcome::Expired);
            let expected = if taken { Verdict::Fenced } else { Verdict::Repeat };
            assert_eq!(judge(&ended(outcome), ME, 2), expected, "{outcome:?}");
            assert_eq!(judge(&ended(outcome), OTHER, 2), Verdict::Fenced, "{outcome:?}");
        }
    }
}
