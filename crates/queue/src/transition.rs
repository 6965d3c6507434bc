//! The state machine of a job: one total function.
//!
//! | from \ event | Claim   | Complete  | `CompleteLate` | Fail   | Release | Retry, Lose       | Cancel    | Overrun |
//! |--------------|---------|-----------|----------------|--------|---------|-------------------|-----------|---------|
//! | Pending      | Running | refused   | Completed      | refused| refused | refused           | Cancelled | Failed  |
//! | Running      | refused | Completed | refused        | Failed | Pending | Pending or Failed | Cancelled | Failed  |
//! | the others   | stays   | stays     | stays          | stays  | stays   | stays             | stays     | stays   |
//!
//! An attempt that is lost, or that fails through no fault of the job, fails the job if it was the last one allowed;
//! otherwise the job is pending again. [`crate::verdict`] decides between Fail and Retry.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl State {
    pub const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];

    /// A final state never changes.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobEvent {
    Claim,
    Complete,
    /// The score of the latest attempt arrives after its lease expired.
    CompleteLate,
    /// The attempt failed, and every further one would.
    Fail,
    /// The attempt failed, and another one may succeed.
    Retry {
        /// Number of attempts that were lost or failed like this one, including this one.
        lost: u32,
        /// The number at which the job fails.
        allowed: u32,
    },
    /// The node gives the attempt back.
    Release,
    /// The lease of the attempt has expired.
    Lose {
        /// As in [`JobEvent::Retry`].
        lost: u32,
        allowed: u32,
    },
    Cancel,
    /// The job has reached its deadline.
    Overrun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transition {
    To(State),
    /// The state is final: nothing changes, and that is no error.
    Stay,
    /// The event is not allowed in this state.
    Refuse,
}

pub const fn next(from: State, event: JobEvent) -> Transition {
    match (from, event) {
        (State::Completed | State::Failed | State::Cancelled, _) => Transition::Stay,
        (_, JobEvent::Cancel) => Transition::To(State::Cancelled),
        (_, JobEvent::Overrun) | (State::Running, JobEvent::Fail) => Transition::To(State::Failed),
        (State::Pending, JobEvent::Claim) => Transition::To(State::Running),
        (State::Running, JobEvent::Complete) | (State::Pending, JobEvent::CompleteLate) => {
            Transition::To(State::Completed)
        }
        (State::Running, JobEvent::Release) => Transition::To(State::Pending),
        (State::Running, JobEvent::Lose { lost, allowed } | JobEvent::Retry { lost, allowed }) => {
            Transition::To(if lost >= allowed { State::Failed } else { State::Pending })
        }
        (
            State::Pending,
            JobEvent::Complete
            | JobEvent::Fail
            | JobEvent::Retry { .. }
            | JobEvent::Release
            | JobEvent::Lose { .. },
        )
        | (State::Running, JobEvent::Claim | JobEvent::CompleteLate) => Transition::Refuse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [JobEvent; 11] = [
        JobEvent::Claim,
        JobEvent::Complete,
        JobEvent::CompleteLate,
        JobEvent::Fail,
        JobEvent::Release,
        JobEvent::Lose { lost: 1, allowed: 3 },
        JobEvent::Lose { lost: 3, allowed: 3 },
        JobEvent::Retry { lost: 1, allowed: 3 },
        JobEvent::Retry { lost: 3, allowed: 3 },
        JobEvent::Cancel,
        JobEvent::Overrun,
    ];

    #[test]
    fn the_whole_table() {
        use State::{Cancelled, Completed, Failed, Pending, Running};
        use Transition::{Refuse, Stay, To};
        let rows = [
            (
                Pending,
                [
                    To(Running),
                    Refuse,
                    To(Completed),
                    Refuse,
                    Refuse,
                    Refuse,
                    Refuse,
                    Refuse,
                    Refuse,
                    To(Cancelled),
                    To(Failed),
                ],
            ),
            (
                Running,
                [
                    Refuse,
                    To(Completed),
                    Refuse,
                    To(Failed),
                    To(Pending),
                    To(Pending),
                    To(Failed),
                    To(Pending),
                    To(Failed),
                    To(Cancelled),
                    To(Failed),
                ],
            ),
            (Completed, [Stay; 11]),
            (Failed, [Stay; 11]),
            (Cancelled, [Stay; 11]),
        ];
        for (from, expected) in rows {
            assert_eq!(EVENTS.map(|event| next(from, event)), expected, "from {from:?}");
        }
    }

    #[test]
    fn from_name_reverses_name() {
        for state in State::ALL {
            assert_eq!(State::from_name(state.name()), Some(state));
        }
        assert_eq!(State::from_name("lost"), None);
    }
}
