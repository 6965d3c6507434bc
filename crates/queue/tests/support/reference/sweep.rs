//! Sweep and retention.

use std::time::Duration;

use vmafx_job::FailureReason;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::FailedAttempt;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{Pruned, Retention, Swept};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, TenantId};

use super::Queue;

/// Maximum number of jobs or sessions of each kind that one sweep ends.
const MAX_EXPIRED_PER_SWEEP: usize = 1000;

impl Queue {
    pub(crate) fn sweep(&mut self, now: Timestamp) -> Swept {
        let on_time =
            self.swept_at.is_some_and(|last| now >= last && now.since(last) <= self.policy.max_sweep_gap());
        for index in 0..self.jobs.len() {
            let due = self.jobs[index].job.available_at.filter(|at| *at <= now);
            if due > self.swept_at {
                self.claimable(index);
            }
        }
        self.swept_at = Some(now);
        if !on_time {
            self.renew(now);
            return Swept { renewed: true, ..Swept::default() };
        }
        let mut swept = Swept::default();
        let (mut overrun, mut lost) = (0, 0);
        for index in 0..self.jobs.len() {
            let job = &self.jobs[index].job;
            if job.state.is_final() {
                continue;
            }
            if overrun < MAX_EXPIRED_PER_SWEEP && job.deadline_at.is_some_and(|at| at <= now) {
                overrun += 1;
                swept.failed.push(self.overrun(index, now));
            } else if lost < MAX_EXPIRED_PER_SWEEP && job.lease_expires_at.is_some_and(|at| at <= now) {
                lost += 1;
                let lost = self.lose(index, now);
                if lost.state == State::Failed { swept.failed.push(lost) } else { swept.requeued.push(lost) }
            }
        }
        self.faults.retain(|_, faults| faults.tried_at >= now - Duration::from_hours(24));
        let over = self.sessions.extract_if(.., |session| session.expires_at <= now);
        swept.evicted =
            over.take(MAX_EXPIRED_PER_SWEEP).map(|session| (session.tenant, session.node.name)).collect();
        swept
    }

    fn renew(&mut self, now: Timestamp) {
        for session in &mut self.sessions {
            session.expires_at = now + self.policy.session_ttl;
        }
        for entry in self.jobs.iter_mut().filter(|entry| entry.job.state == State::Running) {
            entry.job.lease_expires_at = Some(now + self.policy.lease_ttl);
        }
        // The clock may have been set back while the back-offs lasted.
        let latest = now + self.policy.backoff_max;
        for entry in &mut self.jobs {
            entry.job.available_at = entry.job.available_at.map(|at| at.min(latest));
        }
    }

    fn overrun(&mut self, index: usize, now: Timestamp) -> Job {
        let job = &self.jobs[index].job;
        let allowed = job.deadline_at.map(|at| at.since(job.created_at)).unwrap_or_default();
        let (reason, text) = (FailureReason::DeadlineExceeded, Policy::deadline_text(allowed));
        self.end_attempt_with(index, now, AttemptOutcome::Failed, reason, &text);
        self.fail(index, now, reason, &text)
    }

    fn lose(&mut self, index: usize, now: Timestamp) -> Job {
        let job = &mut self.jobs[index].job;
        job.lost_attempts += 1;
        let (lost, allowed) = (job.lost_attempts, job.max_lost_attempts);
        let text = Policy::lost_text(job.attempt, lost, allowed);
        let holder = self.jobs[index].holder;
        let session = self.sessions.iter().find(|session| Some(session.node.session) == holder);
        self.jobs[index].expired = session.map(|session| session.token.clone());
        let reason = FailureReason::NodeLost;
        self.end_attempt_with(index, now, AttemptOutcome::Expired, reason, &text);
        if lost >= allowed {
            return self.fail(index, now, reason, &text);
        }
        self.requeue(index, now, reason, &text);
        self.changed(index, now);
        self.jobs[index].job.clone()
    }

    /// Makes a job wait for its next attempt.
    pub(super) fn requeue(&mut self, index: usize, now: Timestamp, reason: FailureReason, message: &str) {
        let job = &mut self.jobs[index].job;
        job.state = State::Pending;
        job.available_at = Some(now + self.policy.backoff(job.lost_attempts));
        job.last_failure = Some(FailedAttempt {
            attempt: job.attempt,
            node: job.node.clone().unwrap(),
            reason,
            message: message.to_owned(),
        });
    }

    pub(super) fn fail(&mut self, index: usize, now: Timestamp, reason: FailureReason, text: &str) -> Job {
        let job = &mut self.jobs[index].job;
        job.state = State::Failed;
        job.failure_reason = reason;
        text.clone_into(&mut job.error);
        job.finished_at = Some(now);
        self.changed(index, now);
        self.jobs[index].job.clone()
    }

    pub(crate) fn prune(&mut self, now: Timestamp, keep: &Retention) -> Pruned {
        let mut pruned = Pruned::default();
        for tenant in self.tenants() {
            let mut over: Vec<_> = self.jobs.iter().map(|entry| &entry.job).collect();
            over.retain(|job| job.tenant == tenant && job.finished_at.is_some());
            over.sort_by_key(|job| std::cmp::Reverse((job.finished_at, job.id)));
            let old = |job: &Job| job.finished_at.is_some_and(|at| at < now - keep.jobs_for);
            let surplus = over.iter().enumerate().filter(|(at, job)| *at as u64 >= keep.jobs || old(job));
            let mut gone: Vec<_> = surplus.map(|(_, job)| job.id).collect();
            gone.reverse();
            gone.truncate(left(keep, pruned.jobs));
            pruned.jobs += gone.len() as u64;
            self.jobs.retain(|entry| !gone.contains(&entry.job.id));

            let of_tenant = self.samples.iter().filter(|stored| stored.tenant == tenant);
            let mut kept: Vec<_> = of_tenant.map(|stored| (stored.number, stored.at)).collect();
            kept.reverse();
            let surplus = kept
                .into_iter()
                .enumerate()
                .filter(|(at, (_, made_at))| *at as u64 >= keep.samples || *made_at < now - keep.samples_for);
            let mut gone: Vec<_> = surplus.map(|(_, (number, _))| number).collect();
            gone.reverse();
            gone.truncate(left(keep, pruned.samples));
            pruned.samples += gone.len() as u64;
            self.samples.retain(|stored| !gone.contains(&stored.number));
            if let Some(newest) = gone.into_iter().max() {
                let mark = self.pruned.entry(tenant).or_default();
                *mark = newest.max(*mark);
            }
        }
        pruned
    }

    pub(super) fn tenants(&self) -> std::collections::BTreeSet<TenantId> {
        let of_jobs = self.jobs.iter().map(|entry| entry.job.tenant.clone());
        let of_nodes = self.sessions.iter().map(|session| session.tenant.clone());
        let of_samples = self.samples.iter().map(|stored| stored.tenant.clone());
        of_jobs.chain(of_nodes).chain(of_samples).collect()
    }
}

/// The rest of the batch.
fn left(keep: &Retention, gone: u64) -> usize {
    usize::try_from(u64::from(keep.batch) - gone).unwrap()
}
