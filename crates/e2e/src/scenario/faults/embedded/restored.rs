//! Verification of the jobs of a store that was replaced by a backup. Pure.
//!
//! A job whose end came after the backup and before the restore is *taken back*: its resource has the end, the restored store
//! does not. The store may lack the job, or may score it once more. That is no doubled job, because nobody reads the second
//! score: the resource keeps the first. Every other job is verified as without a restore.
//!
//! | a job that was taken back …                       | is                     |
//! |---------------------------------------------------|------------------------|
//! | has its end and its score in the resource         | required               |
//! | is missing from the restored store                | permitted              |
//! | is completed or cancelled in the restored store   | permitted, and counted |
//! | is still open in the restored store               | `StatusMismatch`       |
//! | has several jobs in the restored store            | `DuplicateJob`         |

use std::collections::{BTreeMap, BTreeSet};

use super::super::verify::{Attempt, ExpectedEnd, ObservedJob, QueuedJob, Violation, status_of, violations};

/// Violations after a restore; `taken_back` names resources.
pub(super) fn restored_violations(
    requested: &BTreeMap<String, ExpectedEnd>,
    resources: &[ObservedJob],
    queue: &[QueuedJob],
    taken_back: &BTreeSet<String>,
) -> Vec<Violation> {
    let ends: BTreeMap<_, _> = resources
        .iter()
        .filter(|one| taken_back.contains(&one.name))
        .map(|one| (one.uid.as_str(), one))
        .collect();
    let ended_by = |job: &QueuedJob| job.uid.as_deref().and_then(|uid| ends.get(uid).copied());
    let (repeated, others): (Vec<_>, Vec<_>) = queue.iter().partition(|job| ended_by(job).is_some());
    // For a job that was taken back, the resource is the record of its end.
    let recorded = ends.values().map(|resource| as_recorded(resource));
    let queue: Vec<_> = others.into_iter().cloned().chain(recorded).collect();
    let mut found = violations(requested, resources, &queue, &[]);
    for resource in ends.values() {
        let jobs: Vec<_> = repeated.iter().filter(|job| job.uid.as_deref() == Some(&resource.uid)).collect();
        if jobs.len() > 1 {
            let jobs = jobs.iter().map(|job| job.id.clone()).collect();
            found.push(Violation::DuplicateJob { name: resource.name.clone(), jobs });
        } else if let (Some(job), Some(phase)) =
            (jobs.first().filter(|job| is_open(job)), resource.phases.last())
        {
            let status = job.status.clone();
            found.push(Violation::StatusMismatch { name: resource.name.clone(), phase: *phase, status });
        }
    }
    found
}

/// The number of jobs that were taken back and completed once more.
pub(super) fn scored_again(
    resources: &[ObservedJob],
    queue: &[QueuedJob],
    taken_back: &BTreeSet<String>,
) -> usize {
    let names: BTreeMap<_, _> = resources.iter().map(|one| (one.uid.as_str(), &one.name)).collect();
    let again = |job: &&QueuedJob| {
        let name = job.uid.as_deref().and_then(|uid| names.get(uid));
        job.status == "completed" && name.is_some_and(|name| taken_back.contains(*name))
    };
    queue.iter().filter(again).count()
}

pub(super) fn is_open(job: &QueuedJob) -> bool {
    ["pending", "running"].contains(&job.status.as_str())
}

/// The job that the lost part of the store had for a resource.
fn as_recorded(resource: &ObservedJob) -> QueuedJob {
    let status = resource.phases.last().map_or("", |phase| status_of(*phase));
    let attempt = Attempt {
        number: 1,
        node: String::new(),
        outcome: Some(status.to_owned()),
        started_at: 0,
        ended_at: Some(0),
    };
    QueuedJob {
        id: resource.controller_job.clone().unwrap_or_default(),
        uid: Some(resource.uid.clone()),
        status: status.to_owned(),
        score: resource.score,
        attempts: vec![attempt],
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_api::job::Phase;

    use super::*;

    const SCORE: f64 = 76.668_904_858_276_1;

    fn resource() -> ObservedJob {
        ObservedJob {
            name: "one".to_owned(),
            uid: "u1".to_owned(),
            phases: vec![Phase::Pending, Phase::Running, Phase::Succeeded],
            score: Some(SCORE),
            controller_job: Some("j1".to_owned()),
            reasons: BTreeSet::new(),
            message: String::new(),
        }
    }

    fn queued(status: &str) -> QueuedJob {
        QueuedJob { status: status.to_owned(), score: None, attempts: Vec::new(), ..as_recorded(&resource()) }
    }

    fn found(resource: ObservedJob, queue: &[QueuedJob], taken_back: &[&str]) -> Vec<String> {
        let requested = [("one".to_owned(), ExpectedEnd::Score(SCORE))].into();
        let taken_back = taken_back.iter().map(|name| (*name).to_owned()).collect();
        let found = restored_violations(&requested, &[resource], queue, &taken_back);
        let name = |finding: &Violation| format!("{finding:?}").split(' ').next().unwrap().to_owned();
        found.iter().map(name).collect()
    }

    #[rstest]
    #[case::the_backup_lacks_the_job(&[])]
    #[case::it_was_scored_again(&[as_recorded(&resource())])]
    #[case::the_operator_cancelled_it(&[queued("cancelled")])]
    fn a_score_that_the_backup_lacks_stays_in_its_resource(#[case] queue: &[QueuedJob]) {
        assert_eq!(found(resource(), queue, &["one"]), [""; 0]);
    }

    #[rstest]
    #[case::lost(&[], &["WrongScore", "NotInQueue"])]
    #[case::open(&[queued("pending")], &["WrongScore", "StatusMismatch"])]
    fn every_other_job_is_verified_as_without_a_restore(
        #[case] queue: &[QueuedJob],
        #[case] expected: &[&str],
    ) {
        assert_eq!(found(resource(), queue, &[]), expected);
    }

    #[rstest]
    #[case::waits("pending")]
    #[case::runs("running")]
    fn a_job_that_was_taken_back_does_not_stay_open(#[case] status: &str) {
        assert_eq!(found(resource(), &[queued(status)], &["one"]), ["StatusMismatch"]);
    }

    #[test]
    fn two_jobs_for_one_resource_are_duplicates_after_a_restore_too() {
        let second = QueuedJob { id: "j2".to_owned(), ..queued("completed") };
        assert_eq!(found(resource(), &[queued("completed"), second], &["one"]), ["DuplicateJob"]);
    }

    #[test]
    fn a_restore_takes_no_score_from_a_resource() {
        let without = ObservedJob { score: None, ..resource() };
        assert_eq!(found(without, &[], &["one"]), ["WrongScore"]);
        let reopened = vec![Phase::Succeeded, Phase::Pending];
        let reopened = ObservedJob { phases: reopened, ..resource() };
        assert_eq!(found(reopened, &[], &["one"]), ["ChangedAfterEnd", "NeverEnded"]);
    }

    #[test]
    fn only_jobs_that_were_taken_back_are_scored_again() {
        let queue = [as_recorded(&resource())];
        let count = |names: &[&str]| {
            let taken_back = names.iter().map(|name| (*name).to_owned()).collect();
            scored_again(&[resource()], &queue, &taken_back)
        };
        assert_eq!((count(&["one"]), count(&[])), (1, 0));
    }
}
