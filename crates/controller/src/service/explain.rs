//! Explains why a job waits.

use vmafx_job::{TenantLimit, TenantLimits};
use vmafx_queue::Job;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::FailedAttempt;
use vmafx_queue::store::{Explained, QuarantinedNode, Supply};
use vmafx_queue::transition::State;

use super::pool_share::PoolShare;
use super::response::{WaitExplanation, WaitReason};

/// Finds the one thing that has to change first: a node that fits, one that is not quarantined, then the end of the
/// back-off, then the limit of the tenant, then the jobs ahead.
pub(super) fn explain(
    explained: Explained,
    limits: &TenantLimits,
    share: Option<PoolShare>,
    now: Timestamp,
) -> WaitExplanation {
    let Explained { job, ahead_by_priority, ahead_by_age, supply, quarantined, running } = explained;
    let all = supply.get("").copied().unwrap_or_default();
    let fitting = supply.get(job.scoring.backend_name()).copied().unwrap_or_default();
    let quarantined = fitting_nodes(&job, &quarantined);
    let back_off = job.available_at.filter(|at| job.state == State::Pending && *at > now);
    let closed: u32 = quarantined.iter().map(|node| node.free_slots).sum();
    let of_others = share.map_or(0, PoolShare::of_others);
    let free = fitting.slots.saturating_sub(fitting.busy).saturating_sub(closed).saturating_sub(of_others);
    let free = u64::from(free);
    let reason = match () {
        () if job.state != State::Pending => WaitReason::None,
        () if all.nodes == 0 => WaitReason::NoNode,
        () if fitting.nodes == 0 => WaitReason::NoBackend,
        () if quarantined.len() >= fitting.nodes as usize => WaitReason::Quarantined,
        () if back_off.is_some() => WaitReason::BackingOff,
        () if running >= limits.running_jobs => WaitReason::TenantLimit,
        () if ahead_by_priority + ahead_by_age < free => WaitReason::Ready,
        () => WaitReason::Busy,
    };
    let waiting = Waiting {
        job: &job,
        ahead: (ahead_by_priority, ahead_by_age),
        fitting,
        all,
        quarantined: &quarantined,
        share,
        back_off,
        running: (running, limits.running_jobs),
        now,
    };
    let message = waiting.message(reason);
    let backends = supply.into_iter().filter(|(backend, _)| !backend.is_empty()).collect();
    WaitExplanation { reason, message, ahead_by_priority, ahead_by_age, backends, next_eligible_at: back_off }
}

/// The quarantined nodes that could run the job.
fn fitting_nodes<'a>(job: &Job, quarantined: &'a [QuarantinedNode]) -> Vec<&'a QuarantinedNode> {
    let backend = job.scoring.backend_name();
    let fits = |node: &&QuarantinedNode| backend.is_empty() || node.backends.iter().any(|own| own == backend);
    quarantined.iter().filter(fits).collect()
}

struct Waiting<'a> {
    job: &'a Job,
    /// Jobs ahead by priority and by age.
    ahead: (u64, u64),
    fitting: Supply,
    all: Supply,
    quarantined: &'a [&'a QuarantinedNode],
    share: Option<PoolShare>,
    back_off: Option<Timestamp>,
    /// Running jobs of the tenant, and how many there may be.
    running: (u64, u64),
    now: Timestamp,
}

impl Waiting<'_> {
    fn message(&self, reason: WaitReason) -> String {
        let Self { job, fitting, ahead: (by_priority, by_age), .. } = self;
        let nodes = if job.scoring.backend.is_none() {
            "nodes".to_owned()
        } else {
            format!("nodes with backend {}", job.scoring.backend_name())
        };
        let waiting = match reason {
            WaitReason::None => return not_waiting(job),
            WaitReason::NoNode => "No node is connected.".to_owned(),
            WaitReason::NoBackend => format!(
                "The job needs backend {}, and none of the {} connected nodes serves it.",
                job.scoring.backend_name(),
                self.all.nodes
            ),
            WaitReason::Quarantined => return self.all_quarantined(&nodes),
            WaitReason::BackingOff => return self.backing_off(),
            WaitReason::TenantLimit => format!(
                "The tenant runs {} jobs, and its limit {} is {}. {by_priority} waiting jobs are ahead by priority and \
                 {by_age} by age.",
                self.running.0,
                TenantLimit::RunningJobs,
                self.running.1,
            ),
            WaitReason::Busy => format!(
                "{} of {} slots of {} {nodes} are taken. {by_priority} waiting jobs are ahead by priority and {by_age} \
                 by age.",
                fitting.busy, fitting.slots, fitting.nodes,
            ),
            WaitReason::Ready => format!(
                "{} of {} slots of {} {nodes} are free. The next pull takes the job.",
                fitting.slots.saturating_sub(fitting.busy),
                fitting.slots,
                fitting.nodes,
            ),
        };
        let closed = match self.quarantined.len() {
            0 => String::new(),
            count => format!(" {count} of the {nodes} are quarantined."),
        };
        let failure = job.last_failure.as_ref().map(|failure| format!(" {}", last_failure(failure)));
        let share = self.share.map(|share| format!(" {}", share.sentence())).unwrap_or_default();
        format!("{waiting}{share}{closed}{}", failure.unwrap_or_default())
    }

    fn all_quarantined(&self, nodes: &str) -> String {
        let Some(next) = self.quarantined.iter().min_by_key(|node| node.quarantine.until) else {
            return String::new();
        };
        format!(
            "All {} {nodes} are quarantined, because they failed several attempts in a row. {} gets its next job on trial in \
             {} s at the latest; its last error: {}",
            self.fitting.nodes,
            next.name,
            self.seconds_until(next.quarantine.until),
            next.quarantine.error,
        )
    }

    fn backing_off(&self) -> String {
        let Job { lost_attempts, max_lost_attempts, .. } = self.job;
        let seconds = self.seconds_until(self.back_off.unwrap_or(self.now));
        match &self.job.last_failure {
            Some(failure) => format!(
                "{} The next attempt starts in {seconds} s at the earliest; {lost_attempts} of at most \
                 {max_lost_attempts} are used.",
                last_failure(failure),
            ),
            None => format!(
                "{lost_attempts} of at most {max_lost_attempts} attempts were lost. The next one starts in {seconds} s at \
                 the earliest.",
            ),
        }
    }

    fn seconds_until(&self, time: Timestamp) -> u128 {
        time.since(self.now).as_millis().div_ceil(1000)
    }
}

fn last_failure(failure: &FailedAttempt) -> String {
    let FailedAttempt { attempt, node, message, .. } = failure;
    format!("Attempt {attempt} failed on {node}: {}.", message.trim_end_matches('.'))
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
    const LIMITS: TenantLimits = TenantLimits {
        pending_jobs: 0,
        running_jobs: 5,
        stored_bytes: 0,
        nodes: 0,
        streams: 0,
        streams_per_identity: 0,
    };

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
            last_failure: None,
            avoids: None,
            next_scoring: None,
        }
    }

    fn failed(attempt: u32) -> FailedAttempt {
        let reason = vmafx_job::FailureReason::ScratchFull;
        FailedAttempt { attempt, node: "n0".into(), reason, message: "the disk is full".into() }
    }

    fn quarantined(name: &str, backend: &str) -> QuarantinedNode {
        QuarantinedNode {
            name: name.into(),
            backends: vec![backend.into()],
            free_slots: 2,
            quarantine: vmafx_queue::quarantine::Quarantine {
                failures: 3,
                until: Timestamp(130_000),
                reason: vmafx_job::FailureReason::InputMissingOnNode,
                error: "/media/a.y4m: there is no such file".into(),
            },
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
        let explained =
            Explained { job, ahead_by_priority, ahead_by_age, supply, quarantined: vec![], running: 4 };
        explain(explained, &LIMITS, None, NOW)
    }

    #[test]
    fn a_job_whose_only_nodes_are_quarantined_says_so() {
        let supply = [("", 3, 6, 0), ("cpu", 2, 4, 0), ("cuda", 1, 2, 0)];
        let supply =
            supply.map(|(backend, nodes, slots, busy)| (backend.to_owned(), Supply { nodes, slots, busy }));
        let with = |backend: &str, quarantined| Explained {
            job: job(backend),
            ahead_by_priority: 0,
            ahead_by_age: 0,
            supply: supply.clone().into(),
            quarantined,
            running: 0,
        };
        let both =
            explain(with("cpu", vec![quarantined("a", "cpu"), quarantined("b", "cpu")]), &LIMITS, None, NOW);
        assert_eq!(both.reason, WaitReason::Quarantined);
        assert_eq!(
            both.message,
            "All 2 nodes with backend cpu are quarantined, because they failed several attempts in a row. a gets its next \
             job on trial in 30 s at the latest; its last error: /media/a.y4m: there is no such file"
        );
        let one = explain(with("cpu", vec![quarantined("a", "cpu")]), &LIMITS, None, NOW);
        assert_eq!(one.reason, WaitReason::Ready);
        assert!(one.message.ends_with("1 of the nodes with backend cpu are quarantined."), "{}", one.message);
        let other = explain(with("cuda", vec![quarantined("a", "cpu")]), &LIMITS, None, NOW);
        assert_eq!(other.reason, WaitReason::Ready);
    }

    #[rstest]
    #[case::no_node(job(""), (0, 0), &[], WaitReason::NoNode, "No node is connected.")]
    #[case::other_backend(job("cuda"), (0, 0), &[("", 2, 4, 0), ("cpu", 2, 4, 0)], WaitReason::NoBackend,
        "The job needs backend cuda, and none of the 2 connected nodes serves it.")]
    #[case::back_off(Job { available_at: Some(Timestamp(104_001)), lost_attempts: 1, ..job("") }, (0, 0), &[("", 1, 1, 0)],
        WaitReason::BackingOff, "1 of at most 3 attempts were lost. The next one starts in 5 s at the earliest.")]
    #[case::failed_before(Job { available_at: Some(Timestamp(104_001)), lost_attempts: 1, last_failure: Some(failed(1)), ..job("") },
        (0, 0), &[("", 1, 1, 0)], WaitReason::BackingOff,
        "Attempt 1 failed on n0: the disk is full. The next attempt starts in 5 s at the earliest; 1 of at most 3 are used.")]
    #[case::failed_and_busy(Job { lost_attempts: 1, last_failure: Some(failed(1)), ..job("") }, (0, 0), &[("", 1, 1, 1)],
        WaitReason::Busy, "1 of 1 slots of 1 nodes are taken. 0 waiting jobs are ahead by priority and 0 by age. \
        Attempt 1 failed on n0: the disk is full.")]
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

    #[rstest]
    #[case::others_have_the_rest(2, 2, WaitReason::Busy)]
    #[case::a_turn_is_due(0, 2, WaitReason::Ready)]
    #[case::nobody_else_waits(3, 1, WaitReason::Ready)]
    fn slots_that_are_for_other_tenants_are_not_free(
        #[case] running: u32,
        #[case] total_weight: u32,
        #[case] reason: WaitReason,
    ) {
        let share = PoolShare { slots: 4, running, weight: 1, total_weight };
        let supply = [("", 1, 4, running), ("cpu", 1, 4, running)];
        let supply =
            supply.map(|(backend, nodes, slots, busy)| (backend.to_owned(), Supply { nodes, slots, busy }));
        let explained = Explained {
            job: job("cpu"),
            ahead_by_priority: 0,
            ahead_by_age: 0,
            supply: supply.into(),
            quarantined: vec![],
            running: 4,
        };
        let explanation = explain(explained, &LIMITS, Some(share), NOW);
        assert_eq!(explanation.reason, reason, "{}", explanation.message);
        let own = 4.0 / f64::from(total_weight);
        let sentence = format!(
            " 4 of the slots are shared with other tenants, and {running} of these run jobs of this tenant; its weight is 1 of \
             {total_weight} among the tenants with waiting jobs, a share of {own:.1} slots."
        );
        assert!(explanation.message.ends_with(&sentence), "{}", explanation.message);
    }

    #[test]
    fn a_tenant_that_runs_as_many_jobs_as_it_may_is_named_before_the_jobs_ahead() {
        let supply = [(String::new(), Supply { nodes: 1, slots: 9, busy: 5 })].into();
        let explained = Explained {
            job: job(""),
            ahead_by_priority: 0,
            ahead_by_age: 2,
            supply,
            quarantined: vec![],
            running: 5,
        };
        let explanation = explain(explained, &LIMITS, None, NOW);
        assert_eq!(explanation.reason, WaitReason::TenantLimit);
        assert_eq!(
            explanation.message,
            "The tenant runs 5 jobs, and its limit runningJobs is 5. 0 waiting jobs are ahead by priority and 2 by age."
        );
    }

    #[test]
    fn the_sum_of_all_nodes_is_not_listed_as_a_backend() {
        let explanation = explained(job(""), (0, 0), &[("", 2, 4, 0), ("cpu", 2, 4, 0)]);
        assert_eq!(explanation.backends, [("cpu".to_owned(), Supply { nodes: 2, slots: 4, busy: 0 })]);
    }
}
