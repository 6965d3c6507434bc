//! The faults of the random run that concern a controller on SQLite. Pure.

use std::fmt;

use super::super::plan::{Fault, SplitMix64, fault_plan};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmbeddedDisturbance {
    Pod(Fault),
    /// No controller runs for a while.
    ControllerAway,
    /// The clock of the controller is stepped by this many seconds.
    ClockStep(i64),
    /// The store is replaced by a backup that some scores are missing from.
    Restore,
}

impl fmt::Display for EmbeddedDisturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(fault) => write!(f, "{fault}, on SQLite"),
            Self::ControllerAway => f.write_str("controller on SQLite away"),
            Self::ClockStep(seconds) => write!(f, "clock stepped by {seconds:+} s"),
            Self::Restore => f.write_str("SQLite restored from a backup"),
        }
    }
}

/// Every fault of a Pod once, and every other fault twice, in random order. The clock ends where it began.
pub(super) fn embedded_plan(seed: u64) -> Vec<EmbeddedDisturbance> {
    let mut due: Vec<_> = fault_plan(seed, 6).into_iter().flatten().map(EmbeddedDisturbance::Pod).collect();
    for _ in 0..2 {
        due.extend([
            EmbeddedDisturbance::ControllerAway,
            EmbeddedDisturbance::ClockStep(600),
            EmbeddedDisturbance::ClockStep(-600),
            EmbeddedDisturbance::Restore,
        ]);
    }
    SplitMix64(seed).shuffled(due)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_of_a_controller_on_sqlite_is_planned() {
        let plan = embedded_plan(5);
        assert_eq!(plan, embedded_plan(5));
        assert_ne!(plan, embedded_plan(6));
        let mut names: Vec<_> = plan.iter().map(ToString::to_string).collect();
        names.sort();
        names.dedup();
        assert_eq!((plan.len(), names.len()), (17, 13));
    }

    #[test]
    fn the_clock_ends_where_it_began() {
        let steps = embedded_plan(7).into_iter().map(|one| match one {
            EmbeddedDisturbance::ClockStep(seconds) => seconds,
            _ => 0,
        });
        assert_eq!(steps.sum::<i64>(), 0);
    }
}
