//! Explains why a job waits.

use vmafx_queue::Job;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::store::{Explained, Supply};
use vmafx_queue::transition::State;

use super::response::{WaitExplanation, WaitReason};

/// Finds the one thing that has to change first: a node that fits, then the end of the back-off, then the jobs ahead.
pub(super) fn explain(explained: Explained, now: Timestamp) -> WaitExplanation {
    let Explained { job, ahead_by_priority, ahead_by_age, supply } = explained;
    let all = supply.get("").copied().unwrap_or_default();
    let fitting = supply.get(job.scoring.backend_name()).copied().unwrap_or_default();
    let back_off = job.available_at.filter(|at| job.state == State::Pending && *at > now);
    let ahead = ahead_by_priority + ahead_by_age;
    let free = u64::from(fitting.slots.saturating_sub(fitting.busy));
    let reason = match () {
        () if job.state != State::Pending => WaitReason::None,
        () if all.nodes == 0 => WaitReason::NoNode,
        () if fitting.nodes == 0 => WaitReason::NoBackend,
        () if back_off.is_some() => WaitReason::BackingOff,
        () if ahead < free => WaitReason::Ready,
        () => WaitReason::Busy,
    };
    let message = message(reason, &job, (ahead_by_priority, ahead_by_age), fitting, all, back_off, now);
    let backends = supply.into_iter().filter(|(backend, _)| !backend.is_empty()).collect();
    WaitExplanation { reason, message, ahead_by_priority, ahead_by_age, backends, next_eligible_at: back_off }
}

fn message(
    reason: WaitReason,
    job: &Job,
    (by_priority, by_age): (u64, u64),
    fitting: Supply,
    all: Supply,
    back_off: Option<Timestamp>,
    now: Timestamp,
) -> String {
    let nodes = if job.scoring.backend.is_none() {
        "nodes".to_owned()
    } else {
        format!("nodes with backend {}", job.scoring.backend_name())
    };
    match reason {
        WaitReason::None => not_waiting(job),
        WaitReason::NoNode => "No node is connected.".to_owned(),
        WaitReason::NoBackend => format!(
            "The job needs backend {}, and none of the {} connected nodes serves it.",
            job.scoring.backend_name(),
            all.nodes
        ),
        WaitReason::BackingOff => format!(
            "{} of at most {} attempts were lost. The next one starts in {} s at the earliest.",
            job.lost_attempts,
            job.max_lost_attempts,
            back_off.unwrap_or(now).since(now).as_millis().div_ceil(1000),
        ),
        WaitReason::Busy => format!(
            "{} of {} slots of {} {nodes} are taken. {by_priority} waiting jobs are ahead by priority and {by_age} by age.",
            fitting.busy, fitting.slots, fitting.nodes,
        ),
        WaitReason::Ready => format!(
            "{} of {} slots of {} {nodes} are free. The next pull takes the job.",
            fitting.slots.saturating_sub(fitting.busy),
            fitting.slots,
            fitting.nodes,
        ),
    }
}

fn not_waiting(job: &Job) -> String {
    match (job.state, &job.node) {
        (State::Running, Some(node)) => format!("The job is running on {node}, attempt {}.", job.attempt),
        (State::Running, None) => format!("The job is running, attempt {}.", job.attempt),
        (state, _) => format!("The job is {}.", state.name()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_queue::{JobId, TenantId};

    use super::*;

    const NOW: Timestamp = Timestamp(100_000);

    fn job(backend: &str) -> Job {
        let scoring = vmafx_job::ScoringRequest { backend: backend.parse().ok(), ..Default::default() };
        Job {
            id: JobId(uuid::Uuid::nil()),
            tenant: TenantId::new("acme").unwrap(),
            state: State::Pending,
            scoring,
            priority: 0,
            key: None,
            origin: None,
            attempt: 0,
            lost_attempts: 0,
            max_lost_attempts: 3,
            node: None,
            progress: None,
            result: None,
            error: String::new(),
            failure_reason: vmafx_job::FailureReason::default(),
            label: None,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            started_at: None,
            finished_at: None,
            available_at: None,
            lease_expires_at: None,
            deadline_at: None,
            revision: 1,
            cancel_cause: None,
            next_scoring: None,
        }
    }

    fn explained(job: Job, ahead: (u64, u64), supply: &[(&str, u32, u32, u32)]) -> WaitExplanation {
        let supply = supply
            .iter()
            .map(|(backend, nodes, slots, busy)| {
                ((*backend).to_owned(), Supply { nodes: *nodes, slots: *slots, busy: *busy })
            })
            .collect();
        let (ahead_by_priority, ahead_by_age) = ahead;
        explain(Explained { job, ahead_by_priority, ahead_by_age, supply }, NOW)
    }

    #[rstest]
    #[case::no_node(job(""), (0, 0), &[], WaitReason::NoNode, "No node is connected.")]
    #[case::other_backend(job("cuda"), (0, 0), &[("", 2, 4, 0), ("cpu", 2, 4, 0)], WaitReason::NoBackend,
        "The job needs backend cuda, and none of the 2 connected nodes serves it.")]
    #[case::back_off(Job { available_at: Some(Timestamp(104_001)), lost_attempts: 1, ..job("") }, (0, 0), &[("", 1, 1, 0)],
        WaitReason::BackingOff, "1 of at most 3 attempts were lost. The next one starts in 5 s at the earliest.")]
    #[case::back_off_over(Job { available_at: Some(NOW), ..job("") }, (0, 0), &[("", 1, 1, 0)], WaitReason::Ready,
        "1 of 1 slots of 1 nodes are free. The next pull takes the job.")]
    #[case::busy(job("cpu"), (2, 3), &[("", 9, 9, 0), ("cpu", 2, 4, 4)], WaitReason::Busy,
        "4 of 4 slots of 2 nodes with backend cpu are taken. 2 waiting jobs are ahead by priority and 3 by age.")]
    #[case::others_first(job(""), (1, 0), &[("", 1, 2, 1)], WaitReason::Busy,
        "1 of 2 slots of 1 nodes are taken. 1 waiting jobs are ahead by priority and 0 by age.")]
    #[case::running(Job { state: State::Running, node: Some("n0".into()), attempt: 2, ..job("") }, (0, 0), &[],
        WaitReason::None, "The job is running on n0, attempt 2.")]
    #[case::done(Job { state: State::Completed, ..job("") }, (0, 0), &[], WaitReason::None, "The job is completed.")]
    fn the_reason_is_the_first_thing_that_must_change(
        #[case] job: Job,
        #[case] ahead: (u64, u64),
        #[case] supply: &[(&str, u32, u32, u32)],
        #[case] reason: WaitReason,
        #[case] message: &str,
    ) {
        let explanation = explained(job, ahead, supply);
        assert_eq!((explanation.reason, explanation.message.as_str()), (reason, message));
    }

    #[test]
    fn the_sum_of_all_nodes_is_not_listed_as_a_backend() {
        let explanation = explained(job(""), (0, 0), &[("", 2, 4, 0), ("cpu", 2, 4, 0)]);
        assert_eq!(explanation.backends, [("cpu".to_owned(), Supply { nodes: 2, slots: 4, busy: 0 })]);
    }
}
