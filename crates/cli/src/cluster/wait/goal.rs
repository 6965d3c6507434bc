//! The states that can be waited for.

use std::fmt;
use std::str::FromStr;

use vmafx_api::conditions::JobCondition;
use vmafx_api::job::Phase;

use crate::cluster::job::JobView;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cluster) enum WaitGoal {
    /// Ended with a score.
    Complete,
    /// Ended without a score.
    Failed,
    /// Ended in any state.
    Done,
    Running,
    Suspended,
    Phase(Phase),
    /// The condition of this type is `True`.
    Condition(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GoalState {
    Reached,
    Pending,
    /// The job has ended in another state.
    Missed,
}

impl WaitGoal {
    pub(super) fn state(&self, job: JobView<'_>) -> GoalState {
        let holds = |type_: JobCondition| job.holds(type_.as_str());
        let ended = job.has_ended();
        let reached = match self {
            Self::Complete => holds(JobCondition::Complete),
            Self::Failed => holds(JobCondition::Failed),
            Self::Done => ended,
            // A short job may end before a watch reports it as running.
            Self::Running if ended => !job.text("/status/startedAt").is_empty(),
            Self::Running => job.is_observed() && holds(JobCondition::Running),
            Self::Suspended => job.is_observed() && holds(JobCondition::Suspended),
            Self::Phase(phase) => (ended || job.is_observed()) && job.phase() == phase_name(*phase),
            Self::Condition(type_) => (ended || job.is_observed()) && job.holds(type_),
        };
        match (reached, ended) {
            (true, _) => GoalState::Reached,
            (false, true) => GoalState::Missed,
            (false, false) => GoalState::Pending,
        }
    }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Pending => "Pending",
        Phase::Running => "Running",
        Phase::Succeeded => "Succeeded",
        Phase::Failed => "Failed",
        Phase::Cancelled => "Cancelled",
    }
}

const PHASES: [Phase; 5] =
    [Phase::Pending, Phase::Running, Phase::Succeeded, Phase::Failed, Phase::Cancelled];

impl FromStr for WaitGoal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let index_of = |name: &str, all: &[&'static str]| {
            all.iter()
                .position(|valid| valid.eq_ignore_ascii_case(name))
                .ok_or_else(|| format!("{name:?} is not valid; use one of {}", all.join(", ")))
        };
        match text.split_once('=') {
            Some(("phase", phase)) => {
                let index = index_of(phase, &PHASES.map(phase_name))?;
                Ok(Self::Phase(PHASES[index]))
            }
            Some(("condition", type_)) => {
                let all: Vec<_> = JobCondition::ALL.iter().map(|one| one.as_str()).collect();
                let index = index_of(type_, &all)?;
                Ok(Self::Condition(all[index].to_owned()))
            }
            _ => match text.to_ascii_lowercase().as_str() {
                "complete" => Ok(Self::Complete),
                "failed" => Ok(Self::Failed),
                "done" => Ok(Self::Done),
                "running" => Ok(Self::Running),
                "suspended" => Ok(Self::Suspended),
                _ => Err("use complete, failed, done, running, suspended, phase=PHASE or condition=TYPE"
                    .to_owned()),
            },
        }
    }
}

impl fmt::Display for WaitGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("complete"),
            Self::Failed => f.write_str("failed"),
            Self::Done => f.write_str("done"),
            Self::Running => f.write_str("running"),
            Self::Suspended => f.write_str("suspended"),
            Self::Phase(phase) => f.write_str(phase_name(*phase)),
            Self::Condition(type_) => f.write_str(type_),
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::DynamicObject;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn job(phase: &str, holds: &str, observed: i64, started: bool) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "a", "generation": 2 },
            "status": { "phase": phase, "observedGeneration": observed,
                "startedAt": started.then_some("2026-01-01T00:00:00Z"),
                "conditions": [{ "type": holds, "status": "True" }] },
        }))
        .unwrap()
    }

    #[rstest]
    #[case("complete", job("Succeeded", "Complete", 2, true), GoalState::Reached)]
    #[case("complete", job("Failed", "Failed", 2, true), GoalState::Missed)]
    #[case("complete", job("Running", "Running", 2, true), GoalState::Pending)]
    #[case("failed", job("Cancelled", "Failed", 2, false), GoalState::Reached)]
    #[case("failed", job("Succeeded", "Complete", 2, true), GoalState::Missed)]
    #[case("done", job("Failed", "Failed", 2, true), GoalState::Reached)]
    #[case("done", job("Pending", "Accepted", 2, false), GoalState::Pending)]
    #[case("running", job("Running", "Running", 2, true), GoalState::Reached)]
    #[case("running", job("Running", "Running", 1, true), GoalState::Pending)]
    #[case("running", job("Succeeded", "Complete", 2, true), GoalState::Reached)]
    #[case("running", job("Cancelled", "Failed", 2, false), GoalState::Missed)]
    #[case("suspended", job("Pending", "Suspended", 2, false), GoalState::Reached)]
    #[case("suspended", job("Pending", "Suspended", 1, false), GoalState::Pending)]
    #[case("suspended", job("Succeeded", "Complete", 2, true), GoalState::Missed)]
    #[case("phase=cancelled", job("Cancelled", "Failed", 2, false), GoalState::Reached)]
    #[case("phase=Pending", job("Succeeded", "Complete", 2, true), GoalState::Missed)]
    #[case("condition=accepted", job("Pending", "Accepted", 2, false), GoalState::Reached)]
    fn a_goal_is_reached_pending_or_missed(
        #[case] goal: &str,
        #[case] job: DynamicObject,
        #[case] expected: GoalState,
    ) {
        assert_eq!(goal.parse::<WaitGoal>().unwrap().state(JobView(&job)), expected);
    }

    #[rstest]
    #[case("over", "use complete, failed")]
    #[case("phase=Done", "\"Done\" is not valid; use one of Pending, Running")]
    #[case("condition=Ready", "\"Ready\" is not valid; use one of Accepted")]
    fn what_cannot_be_waited_for_is_refused(#[case] text: &str, #[case] expected: &str) {
        let error = text.parse::<WaitGoal>().unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}
