//! What is counted about the election.

use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, Gauge, LabelSet, Metrics};

closed_label! {
    /// What happened to our leadership.
    pub enum LeadershipTurn: "turn" {
        /// It began.
        Acquired = "acquired",
        /// It could not be kept, or was taken.
        Lost = "lost",
        /// It was given back.
        Released = "released",
    }
}

/// The metrics of the election.
#[derive(Clone, Debug)]
pub struct LeaseMetrics {
    leader: Gauge,
    turns: CounterBy<(LeadershipTurn,)>,
}

impl LeaseMetrics {
    /// Makes them.
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            leader: metrics.gauge("operator_leader", "1 on the operator that works, 0 on those that wait"),
            turns: metrics.counter_by(
                "operator_leader_transitions",
                "Turns of this operator's leadership; one that is lost again and again has a slow API server",
            ),
        }
    }

    /// This operator works without an election.
    pub fn alone(&self) {
        self.leader.set(1);
    }

    /// Nobody works here any more.
    pub(super) fn over(&self) {
        self.leader.set(0);
    }

    pub(super) fn turned(&self, turn: LeadershipTurn) {
        self.leader.set(i64::from(turn == LeadershipTurn::Acquired));
        self.turns.get_or_create(&LabelSet((turn,))).inc();
    }
}
