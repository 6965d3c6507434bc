//! What may happen to a job.
//!
//! | from \ event | Claim   | Complete  | Fail   | Release | Lose              | Cancel    | Overrun |
//! |--------------|---------|-----------|--------|---------|-------------------|-----------|---------|
//! | Pending      | Running | refused   | refused| refused | refused           | Cancelled | Failed  |
//! | Running      | refused | Completed | Failed | Pending | Pending or Failed | Cancelled | Failed  |
//! | the others   | stays   | stays     | stays  | stays   | stays             | stays     | stays   |
//!
//! A lost attempt ends the job when it was the last one allowed. Everything else is decided by the table alone.

use serde::{Deserialize, Serialize};

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Waits for a node.
    Pending,
    /// A node holds it.
    Running,
    /// Has a score.
    Completed,
    /// Will never have one.
    Failed,
    /// Was ended by somebody.
    Cancelled,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];

    /// Whether nothing can happen any more.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The stored name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state with this stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A node takes it.
    Claim,
    /// The node that holds it has a score.
    Complete,
    /// The node that holds it gives up.
    Fail,
    /// The node that holds it gives it back.
    Release,
    /// The node that held it is gone; so many attempts were lost now, this one included, of so many allowed.
    Lose {
        /// Attempts lost, with this one.
        lost: u32,
        /// The number that ends the job.
        allowed: u32,
    },
    /// Somebody does not want it any more.
    Cancel,
    /// Its time is up.
    Overrun,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// It moves.
    To(State),
    /// It is over: nothing changes, and that is no error.
    Stay,
    /// This cannot happen to it.
    Refuse,
}

/// The table above.
pub const fn step(from: State, event: Event) -> Step {
    match (from, event) {
        (State::Completed | State::Failed | State::Cancelled, _) => Step::Stay,
        (_, Event::Cancel) => Step::To(State::Cancelled),
        (_, Event::Overrun) | (State::Running, Event::Fail) => Step::To(State::Failed),
        (State::Pending, Event::Claim) => Step::To(State::Running),
        (State::Running, Event::Complete) => Step::To(State::Completed),
        (State::Running, Event::Release) => Step::To(State::Pending),
        (State::Running, Event::Lose { lost, allowed }) => {
            Step::To(if lost >= allowed { State::Failed } else { State::Pending })
        }
        (State::Pending, Event::Complete | Event::Fail | Event::Release | Event::Lose { .. })
        | (State::Running, Event::Claim) => Step::Refuse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [Event; 8] = [
        Event::Claim,
        Event::Complete,
        Event::Fail,
        Event::Release,
        Event::Lose { lost: 1, allowed: 3 },
        Event::Lose { lost: 3, allowed: 3 },
        Event::Cancel,
        Event::Overrun,
    ];

    #[test]
    fn the_whole_table() {
        use State::{Cancelled, Completed, Failed, Pending, Running};
        use Step::{Refuse, Stay, To};
        let rows = [
            (Pending, [To(Running), Refuse, Refuse, Refuse, Refuse, Refuse, To(Cancelled), To(Failed)]),
            (
                Running,
                [
                    Refuse,
                    To(Completed),
                    To(Failed),
                    To(Pending),
                    To(Pending),
                    To(Failed),
                    To(Cancelled),
                    To(Failed),
                ],
            ),
            (Completed, [Stay; 8]),
            (Failed, [Stay; 8]),
            (Cancelled, [Stay; 8]),
        ];
        for (from, expected) in rows {
            assert_eq!(EVENTS.map(|event| step(from, event)), expected, "from {from:?}");
        }
    }

    #[test]
    fn names_lead_back() {
        for state in State::ALL {
            assert_eq!(State::from_name(state.name()), Some(state));
        }
        assert_eq!(State::from_name("lost"), None);
    }
}
