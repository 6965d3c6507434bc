//! What can be waited for.

use std::fmt;
use std::str::FromStr;

use vmafx_api::conditions::JobCondition;
use vmafx_api::job::Phase;

use crate::cluster::job::Job;

/// Where a job is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cluster) enum Goal {
    /// With a score.
    Complete,
    /// At its end without a score.
    Failed,
    /// At its end.
    Done,
    /// On a node.
    Running,
    /// Held back.
    Suspended,
    /// In this phase.
    Phase(Phase),
    /// With this condition.
    Condition(String),
}

/// Whether it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is.
    Reached,
    /// Not yet.
    Open,
    /// And never will be.
    Missed,
}

impl Goal {
    pub(super) fn of(&self, job: Job<'_>) -> Verdict {
        let holds = |type_: JobCondition| job.holds(type_.as_str());
        let over = job.is_over();
        let reached = match self {
            Self::Complete => holds(JobCondition::Complete),
            Self::Failed => holds(JobCondition::Failed),
            Self::Done => over,
            // One that was so fast that nobody saw it run has run too.
            Self::Running if over => !job.text("/status/startedAt").is_empty(),
            Self::Running => job.is_observed() && holds(JobCondition::Running),
            Self::Suspended => job.is_observed() && holds(JobCondition::Suspended),
            Self::Phase(phase) => (over || job.is_observed()) && job.phase() == word(*phase),
            Self::Condition(type_) => (over || job.is_observed()) && job.holds(type_),
        };
        match (reached, over) {
            (true, _) => Verdict::Reached,
            (false, true) => Verdict::Missed,
            (false, false) => Verdict::Open,
        }
    }
}

fn word(phase: Phase) -> &'static str {
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

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |name: &str, all: &[&'static str]| {
            all.iter()
                .position(|word| word.eq_ignore_ascii_case(name))
                .ok_or_else(|| format!("{name:?} is none of {}", all.join(", ")))
        };
        match text.split_once('=') {
            Some(("phase", phase)) => {
                let index = named(phase, &PHASES.map(word))?;
                Ok(Self::Phase(PHASES[index]))
            }
            Some(("condition", type_)) => {
                let all: Vec<_> = JobCondition::ALL.iter().map(|one| one.as_str()).collect();
                let index = named(type_, &all)?;
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

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("complete"),
            Self::Failed => f.write_str("failed"),
            Self::Done => f.write_str("done"),
            Self::Running => f.write_str("running"),
            Self::Suspended => f.write_str("suspended"),
            Self::Phase(phase) => f.write_str(word(*phase)),
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
    #[case("complete", job("Succeeded", "Complete", 2, true), Verdict::Reached)]
    #[case("complete", job("Failed", "Failed", 2, true), Verdict::Missed)]
    #[case("complete", job("Running", "Running", 2, true), Verdict::Open)]
    #[case("failed", job("Cancelled", "Failed", 2, false), Verdict::Reached)]
    #[case("failed", job("Succeeded", "Complete", 2, true), Verdict::Missed)]
    #[case("done", job("Failed", "Failed", 2, true), Verdict::Reached)]
    #[case("done", job("Pending", "Accepted", 2, false), Verdict::Open)]
    #[case("running", job("Running", "Running", 2, true), Verdict::Reached)]
    #[case("running", job("Running", "Running", 1, true), Verdict::Open)]
    #[case("running", job("Succeeded", "Complete", 2, true), Verdict::Reached)]
    #[case("running", job("Cancelled", "Failed", 2, false), Verdict::Missed)]
    #[case("suspended", job("Pending", "Suspended", 2, false), Verdict::Reached)]
    #[case("suspended", job("Pending", "Suspended", 1, false), Verdict::Open)]
    #[case("suspended", job("Succeeded", "Complete", 2, true), Verdict::Missed)]
    #[case("phase=cancelled", job("Cancelled", "Failed", 2, false), Verdict::Reached)]
    #[case("phase=Pending", job("Succeeded", "Complete", 2, true), Verdict::Missed)]
    #[case("condition=accepted", job("Pending", "Accepted", 2, false), Verdict::Reached)]
    fn a_goal_is_reached_open_or_out_of_reach(
        #[case] goal: &str,
        #[case] job: DynamicObject,
        #[case] expected: Verdict,
    ) {
        assert_eq!(goal.parse::<Goal>().unwrap().of(Job(&job)), expected);
    }

    #[rstest]
    #[case("over", "use complete, failed")]
    #[case("phase=Done", "\"Done\" is none of Pending, Running")]
    #[case("condition=Ready", "\"Ready\" is none of Accepted")]
    fn what_cannot_be_waited_for_is_refused(#[case] text: &str, #[case] expected: &str) {
        let error = text.parse::<Goal>().unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}
