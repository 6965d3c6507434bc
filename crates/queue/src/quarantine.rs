//! Which nodes get no jobs because they fail them.
//!
//! A node without its media volume fails jobs faster than any other node scores them, and so would take the whole queue.
//! Attempts that fail in a row through the fault of a node ([`crate::verdict`] says which do) quarantine the node: it gets
//! nothing but one job on trial at the end of each pause. The pauses double. One score ends the quarantine.
//!
//! | failures in a row   | another node can run its jobs | time                              | a claim of the node |
//! |---------------------|-------------------------------|-----------------------------------|---------------------|
//! | below the threshold | any                           | any                               | Open                |
//! | at the threshold    | yes                           | before the end of the pause       | Closed              |
//! | at the threshold    | no                            | before the end of the short pause | Closed              |
//! | at the threshold    | any                           | later                             | Trial               |
//! | at the threshold    | any                           | before the last trial: clock set back | Trial           |
//!
//! The pause of a node that nobody can stand in for stays short. If such a node is broken, its jobs wait longer and an
//! administrator has time to act; if the jobs are bad, they pass one after the other and do not keep the good ones waiting
//! for hours.
//!
//! The record of a node is kept by tenant and name, so that it survives a restart of the node and of the controller. A trial
//! moves the start of the pause, so a second slot of the node gets no second job on trial.
//!
//! `every_row_of_the_table` guards the table.

use std::time::Duration;

use vmafx_job::FailureReason;

use crate::clock::Timestamp;
use crate::node::Node;
use crate::policy::Policy;

/// The failures of a node since its last score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFaults {
    /// Attempts that failed in a row through the fault of the node.
    pub failures: u32,
    /// When the last of them failed, or a job was given to the node on trial.
    pub tried_at: Timestamp,
    /// Reason and message of the last of them.
    pub reason: FailureReason,
    pub error: String,
}

/// A quarantined node, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    pub failures: u32,
    /// End of the pause; a node that nobody can stand in for gets its trial earlier.
    pub until: Timestamp,
    pub reason: FailureReason,
    pub error: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The node is not quarantined.
    Open,
    /// The node may claim one job.
    Trial,
    Closed {
        until: Timestamp,
    },
}

/// Records of nodes that were not tried for this long are removed: such a node is gone or idle.
pub const FAULTS_RETENTION: Duration = Duration::from_hours(24);

impl NodeFaults {
    /// The record after one more failure.
    pub fn after_failure(before: Option<&Self>, reason: FailureReason, error: &str, now: Timestamp) -> Self {
        let failures = before.map_or(0, |faults| faults.failures).saturating_add(1);
        Self { failures, tried_at: now, reason, error: error.to_owned() }
    }

    /// The record after failures were withdrawn; `None` when none is left.
    pub fn after_withdrawal(&self, failures: u32) -> Option<Self> {
        let left = self.failures.checked_sub(failures).filter(|left| *left > 0)?;
        Some(Self { failures: left, ..self.clone() })
    }

    /// `has_stand_in`: for each backend of the claim there is another live node that serves it and is not quarantined.
    pub fn admission(&self, has_stand_in: bool, now: Timestamp, policy: &Policy) -> Admission {
        let Some(pause) = policy.quarantine_pause(self.failures) else { return Admission::Open };
        let pause = if has_stand_in { pause } else { pause.min(policy.lone_trial_interval) };
        let until = self.tried_at + pause;
        if now < until && now >= self.tried_at { Admission::Closed { until } } else { Admission::Trial }
    }

    pub fn is_quarantined(&self, policy: &Policy) -> bool {
        policy.quarantine_pause(self.failures).is_some()
    }

    pub fn quarantine(&self, policy: &Policy) -> Option<Quarantine> {
        let until = self.tried_at + policy.quarantine_pause(self.failures)?;
        Some(Quarantine { failures: self.failures, until, reason: self.reason, error: self.error.clone() })
    }
}

/// Whether nodes of another name that are not quarantined serve every one of these backends.
pub fn has_stand_in(nodes: &[Node], node: &str, backends: &[&str]) -> bool {
    let others = || nodes.iter().filter(|other| other.name != node && other.quarantine.is_none());
    backends.iter().all(|backend| others().any(|other| other.capability.serves(backend)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn faults(failures: u32) -> NodeFaults {
        NodeFaults {
            failures,
            tried_at: Timestamp(1_000_000),
            reason: FailureReason::ScratchFull,
            error: "full".to_owned(),
        }
    }

    fn closed(until: i64) -> Admission {
        Admission::Closed { until: Timestamp(1_000_000 + until * 1000) }
    }

    #[rstest]
    #[case::few(2, true, 0, Admission::Open)]
    #[case::third(3, true, 0, closed(30))]
    #[case::third_nearly_over(3, true, 29, closed(30))]
    #[case::third_over(3, true, 30, Admission::Trial)]
    #[case::fourth(4, true, 30, closed(60))]
    #[case::fourth_over(4, true, 60, Admission::Trial)]
    #[case::longest(9, true, 599, closed(600))]
    #[case::longest_over(9, true, 600, Admission::Trial)]
    #[case::most(u32::MAX, true, 599, closed(600))]
    #[case::lone(9, false, 4, closed(5))]
    #[case::lone_over(9, false, 5, Admission::Trial)]
    #[case::clock_set_back(9, true, -1, Admission::Trial)]
    fn every_row_of_the_table(
        #[case] failures: u32,
        #[case] has_stand_in: bool,
        #[case] seconds: i64,
        #[case] expected: Admission,
    ) {
        let now = Timestamp(1_000_000 + seconds * 1000);
        assert_eq!(faults(failures).admission(has_stand_in, now, &Policy::default()), expected);
    }

    #[test]
    fn failures_are_counted_and_withdrawn() {
        let now = Timestamp(7);
        let first = NodeFaults::after_failure(None, FailureReason::Internal, "a", now);
        let second = NodeFaults::after_failure(Some(&first), FailureReason::OutOfMemory, "b", now);
        assert_eq!((first.failures, second.failures, second.error.as_str()), (1, 2, "b"));
        assert_eq!(second.after_withdrawal(1).map(|left| left.failures), Some(1));
        assert_eq!(second.after_withdrawal(2), None);
        assert_eq!(second.after_withdrawal(9), None);
    }

    #[test]
    fn a_quarantine_is_shown_with_its_last_failure() {
        assert_eq!(faults(2).quarantine(&Policy::default()), None);
        let shown = faults(3).quarantine(&Policy::default()).unwrap();
        assert_eq!(
            (shown.failures, shown.until, shown.reason),
            (3, Timestamp(1_030_000), FailureReason::ScratchFull)
        );
    }
}
