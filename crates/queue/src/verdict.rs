//! What a failure that a node reports means for the job, for the node, and for nodes that failed the job before.
//!
//! | class of the reason | another node reported the reason | attempts left | job                         | counts against |
//! |---------------------|----------------------------------|---------------|-----------------------------|----------------|
//! | Job, Input          | any                              | any           | Failed                      | nobody         |
//! | Unconfirmed         | yes                              | any           | Failed, confirmed reason    | nobody         |
//! | Unconfirmed, Node   | no                               | yes           | Pending, avoids the node    | the node       |
//! | Unconfirmed, Node   | no                               | no            | Failed                      | the node       |
//! | Node                | yes                              | yes / no      | Pending, avoids … / Failed  | nobody         |
//! | Moment              | any                              | yes / no      | Pending, avoids … / Failed  | nobody         |
//!
//! A failure counts against its node until another node fails the same job for the same reason: that is evidence against
//! the job, and what the first node's attempts at the job counted is withdrawn. Without this rule a few jobs with a wrong
//! path would quarantine every node ([`crate::quarantine`]).
//!
//! `every_row_of_the_table` guards the table.

use vmafx_job::{FailureReason, RetryClass};

use crate::policy::Policy;
use crate::transition::JobEvent;

/// A failure as its node reports it.
#[derive(Clone, Copy, Debug)]
pub struct ReportedFailure<'a> {
    pub node: &'a str,
    pub reason: FailureReason,
    pub message: &'a str,
}

/// An earlier attempt at the same job that its node reported as failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierFailure {
    pub node: String,
    pub reason: FailureReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureVerdict {
    pub event: JobEvent,
    /// The reason of the job if it fails.
    pub reason: FailureReason,
    /// The error of the job if it fails.
    pub error: String,
    pub blame: Blame,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blame {
    Nobody,
    /// The failure counts against the node that reports it.
    Reporter,
    /// This many failures no longer count against this node.
    Withdrawn {
        node: String,
        failures: u32,
    },
}

/// `lost` counts the attempts that ended through no fault of the job, including this one; `allowed` is the number at which
/// the job fails.
pub fn judge(
    reported: ReportedFailure<'_>,
    earlier: &[EarlierFailure],
    lost: u32,
    allowed: u32,
) -> FailureVerdict {
    let ReportedFailure { node, reason, message } = reported;
    let agreeing = || earlier.iter().filter(|one| one.reason == reason);
    let other = agreeing().find(|one| one.node != node);
    let retry = JobEvent::Retry { lost, allowed };
    let exhausted = || Policy::exhausted_text(lost, allowed, node, message);
    let (event, reason, error) = match (reason.retry_class(), other) {
        (RetryClass::Job | RetryClass::Input, _) => (JobEvent::Fail, reason, message.to_owned()),
        (RetryClass::Unconfirmed, Some(other)) => {
            let error = Policy::confirmed_text(&other.node, node, message);
            (JobEvent::Fail, reason.confirmed(), error)
        }
        (RetryClass::Unconfirmed | RetryClass::Node | RetryClass::Moment, _) => (retry, reason, exhausted()),
    };
    let blame = match other {
        _ if !reported.reason.retry_class().blames_node() => Blame::Nobody,
        None => Blame::Reporter,
        // Only the first agreement withdraws anything: later ones concern failures that never counted.
        Some(other) if agreeing().all(|one| one.node == other.node) => Blame::Withdrawn {
            node: other.node.clone(),
            failures: u32::try_from(agreeing().count()).unwrap_or(u32::MAX),
        },
        Some(_) => Blame::Nobody,
    };
    FailureVerdict { event, reason, error, blame }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_job::FailureReason as Reason;

    use super::*;

    const RETRY: JobEvent = JobEvent::Retry { lost: 2, allowed: 3 };

    fn earlier(failures: &[(&str, Reason)]) -> Vec<EarlierFailure> {
        failures
            .iter()
            .map(|(node, reason)| EarlierFailure { node: (*node).to_owned(), reason: *reason })
            .collect()
    }

    fn withdrawn(node: &str, failures: u32) -> Blame {
        Blame::Withdrawn { node: node.to_owned(), failures }
    }

    #[rstest]
    #[case::job(Reason::OptionsInvalid, &[], JobEvent::Fail, Reason::OptionsInvalid, Blame::Nobody)]
    #[case::input(Reason::InputInvalid, &[("b", Reason::InputInvalid)], JobEvent::Fail, Reason::InputInvalid, Blame::Nobody)]
    #[case::old_node(Reason::Unspecified, &[], JobEvent::Fail, Reason::Unspecified, Blame::Nobody)]
    #[case::missing_here(Reason::InputMissingOnNode, &[], RETRY, Reason::InputMissingOnNode, Blame::Reporter)]
    #[case::missing_here_again(Reason::InputMissingOnNode, &[("a", Reason::InputMissingOnNode)], RETRY, Reason::InputMissingOnNode, Blame::Reporter)]
    #[case::missing_everywhere(Reason::InputMissingOnNode, &[("b", Reason::InputMissingOnNode)], JobEvent::Fail, Reason::InputNotFound, withdrawn("b", 1))]
    #[case::denied_everywhere(Reason::InputDeniedOnNode, &[("b", Reason::InputDeniedOnNode), ("b", Reason::InputDeniedOnNode)], JobEvent::Fail, Reason::InputDenied, withdrawn("b", 2))]
    #[case::another_reason_there(Reason::InputMissingOnNode, &[("b", Reason::ScratchFull)], RETRY, Reason::InputMissingOnNode, Blame::Reporter)]
    #[case::crash(Reason::WorkerCrashed, &[], RETRY, Reason::WorkerCrashed, Blame::Reporter)]
    #[case::crash_everywhere(Reason::WorkerCrashed, &[("b", Reason::WorkerCrashed)], RETRY, Reason::WorkerCrashed, withdrawn("b", 1))]
    #[case::agreed_before(Reason::WorkerCrashed, &[("a", Reason::WorkerCrashed), ("b", Reason::WorkerCrashed)], RETRY, Reason::WorkerCrashed, Blame::Nobody)]
    #[case::third_node(Reason::WorkerCrashed, &[("b", Reason::WorkerCrashed), ("c", Reason::WorkerCrashed)], RETRY, Reason::WorkerCrashed, Blame::Nobody)]
    #[case::outage(Reason::SourceUnreachable, &[("b", Reason::SourceUnreachable)], RETRY, Reason::SourceUnreachable, Blame::Nobody)]
    #[case::newer(Reason::Newer(33), &[], RETRY, Reason::Newer(33), Blame::Nobody)]
    fn every_row_of_the_table(
        #[case] reason: Reason,
        #[case] before: &[(&str, Reason)],
        #[case] event: JobEvent,
        #[case] final_reason: Reason,
        #[case] blame: Blame,
    ) {
        let reported = ReportedFailure { node: "a", reason, message: "broken" };
        let verdict = judge(reported, &earlier(before), 2, 3);
        assert_eq!((verdict.event, verdict.reason, verdict.blame), (event, final_reason, blame));
    }

    #[test]
    fn the_error_of_a_job_names_the_attempts_and_the_nodes() {
        let reported = |reason| ReportedFailure { node: "a", reason, message: "no such file" };
        let once = judge(reported(Reason::InputNotFound), &[], 1, 3);
        assert_eq!(once.error, "no such file");
        let exhausted = judge(reported(Reason::ScratchFull), &[], 3, 3);
        assert_eq!(exhausted.error, "3 of at most 3 attempts failed, the last one on a: no such file");
        let only = judge(reported(Reason::ScratchFull), &[], 1, 1);
        assert_eq!(only.error, "no such file");
        let both =
            judge(reported(Reason::InputMissingOnNode), &earlier(&[("b", Reason::InputMissingOnNode)]), 2, 3);
        assert_eq!(both.error, "b and a report the same: no such file");
    }
}
