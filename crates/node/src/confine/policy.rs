//! What happens on a machine that lacks Landlock or seccomp.
//!
//! | policy       | a measure is missing                                                                         |
//! |--------------|----------------------------------------------------------------------------------------------|
//! | `required`   | the node is not ready and pulls no job; `run-once` fails with `NodeUnconfined`                |
//! | `best-effort`| the node scores, warns at its start, and carries the label [`ConfinementPolicy::LABEL`]       |
//!
//! The worker checks the policy before it opens a clip, so a job is refused also on a node whose kernel changed its mind
//! after the node started.

use serde::{Deserialize, Serialize};
use vmafx_job::{Confinement, Failure, FailureReason};

/// Whether a worker that is not confined completely may score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ConfinementPolicy {
    /// Score only where Landlock and seccomp are in force.
    #[default]
    Required,
    /// Score with the measures that the machine has.
    BestEffort,
}

impl ConfinementPolicy {
    /// Label of a node that scores without Landlock or seccomp: the missing measures, separated by dots.
    pub const LABEL: &str = "vmafx.dev/unconfined";

    /// Fails if a required measure is missing.
    pub fn check(self, confinement: &Confinement) -> Result<(), Failure> {
        if self == Self::BestEffort || confinement.is_complete() {
            return Ok(());
        }
        let message = format!(
            "this machine cannot confine workers: {} is not in force, and VMAFX_CONFINEMENT=required; use a kernel with \
             Landlock (5.13 or newer, with landlock in its list of security modules) and a container runtime that permits \
             it, or set VMAFX_CONFINEMENT=best-effort to score clips that you trust",
            confinement.missing().join(" and ")
        );
        Err(Failure::new(FailureReason::NodeUnconfined, message))
    }

    /// The label of a node with this confinement, if it needs one.
    pub fn label(confinement: &Confinement) -> Option<(String, String)> {
        let missing = confinement.missing();
        (!missing.is_empty()).then(|| (Self::LABEL.to_owned(), missing.join(".")))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::complete(7, true, None)]
    #[case::no_landlock(0, true, Some("landlock"))]
    #[case::no_seccomp(1, false, Some("seccomp"))]
    #[case::neither(0, false, Some("landlock.seccomp"))]
    fn what_is_missing_is_refused_or_named(
        #[case] landlock_abi: u32,
        #[case] seccomp: bool,
        #[case] label: Option<&str>,
    ) {
        let confinement = Confinement { landlock_abi, seccomp, ..Confinement::default() };
        let required = ConfinementPolicy::Required.check(&confinement);
        let expected = label.map(|_| FailureReason::NodeUnconfined);
        assert_eq!(required.err().map(|failure| failure.reason), expected);
        assert_eq!(ConfinementPolicy::BestEffort.check(&confinement), Ok(()));
        let found = ConfinementPolicy::label(&confinement);
        assert_eq!(found, label.map(|value| (ConfinementPolicy::LABEL.to_owned(), value.to_owned())));
    }
}
