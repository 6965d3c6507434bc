//! Metrics of leader election.

use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, Gauge, LabelSet, Metrics};

closed_label! {
    pub enum LeadershipTurn: "turn" {
        Acquired = "acquired",
        Lost = "lost",
        Released = "released",
    }
}

#[derive(Clone, Debug)]
pub struct LeaseMetrics {
    leader: Gauge,
    turns: CounterBy<(LeadershipTurn,)>,
}

impl LeaseMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            leader: metrics
                .gauge("operator_leader", "1 on the operator that reconciles, 0 on its other replicas"),
            turns: metrics.counter_by(
                "operator_leader_transitions",
                "Changes of this operator's leadership; repeated losses mean that the API server is slow",
            ),
        }
    }

    /// This operator runs without leader election.
    pub fn sole_leader(&self) {
        self.leader.set(1);
    }

    /// This operator has stopped.
    pub(super) fn stopped(&self) {
        self.leader.set(0);
    }

    pub(super) fn changed(&self, turn: LeadershipTurn) {
        self.leader.set(i64::from(turn == LeadershipTurn::Acquired));
        self.turns.get_or_create(&LabelSet((turn,))).inc();
    }
}
