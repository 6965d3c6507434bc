//! Operations of nodes.

use vmafx_job::{FailureReason, TenantLimits};
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::Attempt;
use vmafx_queue::node::{Credentials, Report};
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::PRIORITY_HEAD_START;
use vmafx_queue::store::{Claim, Released, Reported};
use vmafx_queue::transition::State;
use vmafx_queue::{AttemptNumber, Job, JobId, PullId, TenantId};

use super::{Entry, Queue};

impl Queue {
    pub(crate) fn claim(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        who: &Credentials,
        backends: &[String],
        pull: Option<PullId>,
        limits: &TenantLimits,
    ) -> Claim {
        let Some(session) = self.session(tenant, who) else { return Claim::NoSession };
        let name = self.sessions[session].node.name.clone();
        if let Some(until) = self.closed_until(now, tenant, &name, backends) {
            return Claim::Quarantined { until };
        }
        let node = &self.sessions[session].node;
        if self.held_by(node.session).len() >= node.capability.slots.max(1) as usize {
            return Claim::NoFreeSlot;
        }
        if self.count_of(tenant, State::Running) >= limits.running_jobs {
            return Claim::LimitReached;
        }
        let fits = |job: &Job| {
            job.tenant == *tenant
                && job.state == State::Pending
                && job.scoring.backend.is_none_or(|backend| backends.iter().any(|one| one == backend.name()))
        };
        let waiting = |index: &usize| fits(&self.jobs[*index].job);
        let backoff = |index: &usize| self.jobs[*index].job.available_at.filter(|at| *at > now);
        let kept = |index: &usize| {
            let avoids = self.jobs[*index].job.avoids.as_ref();
            avoids.filter(|avoided| avoided.node == name && avoided.until > now).map(|avoided| avoided.until)
        };
        let first = (0..self.jobs.len())
            .filter(waiting)
            .filter(|index| backoff(index).is_none() && kept(index).is_none())
            .min_by_key(|index| order(&self.jobs[*index].job));
        let Some(index) = first else {
            let next = (0..self.jobs.len()).filter(waiting).filter_map(|index| backoff(&index)).min();
            let ready = (0..self.jobs.len()).filter(waiting).filter(|index| backoff(index).is_none());
            return match ready.filter_map(|index| kept(&index)).min() {
                Some(kept) => Claim::PassedOver { next: next.map_or(kept, |next| next.min(kept)) },
                None => Claim::Nothing { next },
            };
        };
        if let Some(faults) = self.faults.get_mut(&(tenant.clone(), name))
            && faults.failures >= self.policy.quarantine_after
        {
            faults.tried_at = now;
        }
        let node = &self.sessions[session].node;
        let entry = &mut self.jobs[index];
        entry.holder = Some(node.session);
        entry.expired = None;
        entry.pull = pull;
        entry.node_labels = node.capability.labels.clone();
        let job = &mut entry.job;
        job.state = State::Running;
        job.attempt += 1;
        job.node = Some(node.name.clone());
        job.started_at = Some(now);
        job.available_at = None;
        job.avoids = None;
        job.lease_expires_at = Some(now + self.policy.lease_ttl);
        entry.attempts.push(Attempt {
            number: job.attempt,
            session: node.session,
            node: node.name.clone(),
            started_at: now,
            ended: None,
            error: String::new(),
            reason: FailureReason::Unspecified,
        });
        self.changed(index, now);
        Claim::Job(Box::new(self.jobs[index].job.clone()))
    }

    pub(crate) fn report(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        who: &Credentials,
        report: Report,
    ) -> Reported {
        let live = self.session(tenant, who).is_some();
        let refused = if live { Reported::Fenced } else { Reported::NoSession };
        let Some(index) = self.index(tenant, report.job) else { return refused };
        let entry = &self.jobs[index];
        let reported = entry.attempts.iter().rev().find(|attempt| {
            attempt.session == who.session && report.attempt.is_none_or(|number| attempt.number == number)
        });
        let Some(reported) = reported else { return refused };
        // An evicted session proves itself by the token that its expired attempt has kept.
        let latest = reported.number == entry.job.attempt;
        let proven = latest && entry.expired.as_ref() == Some(&who.token);
        if !live && !proven {
            return refused;
        }
        match reported.ended {
            Some((_, AttemptOutcome::Expired)) => {
                let waits = latest && entry.job.state == State::Pending;
                if !waits || report.result.is_err() {
                    return refused;
                }
                // The attempt is not lost after all.
                let job = &mut self.jobs[index].job;
                job.lost_attempts -= 1;
                let attempt = job.attempt;
                job.last_failure.take_if(|failure| failure.attempt == attempt);
                job.avoids = None;
                job.available_at = None;
                if let Some(attempt) = self.jobs[index].attempts.last_mut() {
                    attempt.ended = None;
                    attempt.error.clear();
                }
            }
            Some((_, AttemptOutcome::Released)) => return refused,
            Some(_) => return Reported::Repeated,
            None => {}
        }
        match report.result {
            Ok(result) => {
                self.end_attempt(index, now, AttemptOutcome::Completed, "");
                let node = self.jobs[index].job.node.clone().unwrap();
                self.faults.remove(&(tenant.clone(), node));
                self.jobs[index].job.state = State::Completed;
                self.jobs[index].job.result = Some(result);
            }
            Err((reason, message)) => {
                self.fail_attempt(index, now, reason, &message);
                return Reported::Moved { job: Box::new(self.jobs[index].job.clone()), sampled: false };
            }
        }
        self.jobs[index].job.finished_at = Some(now);
        self.changed(index, now);
        let sampled = self.sample(index, now);
        Reported::Moved { job: Box::new(self.jobs[index].job.clone()), sampled }
    }

    pub(crate) fn release(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        who: &Credentials,
        job: JobId,
        attempt: AttemptNumber,
        reason: &str,
    ) -> Released {
        if self.session(tenant, who).is_none() {
            return Released::NoSession;
        }
        let holds = |index: &usize| {
            let entry = &self.jobs[*index];
            entry.holder == Some(who.session) && entry.job.attempt == attempt
        };
        let Some(index) = self.index(tenant, job).filter(holds) else { return Released::Over };
        self.end_attempt(index, now, AttemptOutcome::Released, reason);
        self.jobs[index].job.state = State::Pending;
        self.changed(index, now);
        self.claimable(index);
        Released::Moved
    }

    pub(crate) fn release_pulls(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        who: &Credentials,
        pulls: &[PullId],
    ) -> u64 {
        let lost = |entry: &&Entry| {
            entry.holder == Some(who.session) && entry.pull.is_some_and(|pull| pulls.contains(&pull))
        };
        let attempts: Vec<(JobId, AttemptNumber)> =
            self.jobs.iter().filter(lost).map(|entry| (entry.job.id, entry.job.attempt)).collect();
        let released = attempts.into_iter().map(|(job, attempt)| {
            self.release(now, tenant, who, job, attempt, vmafx_queue::lost_pull::REASON)
        });
        released.filter(|released| *released == Released::Moved).count() as u64
    }
}

/// The smallest is claimed first.
pub(super) fn order(job: &Job) -> (i64, JobId) {
    let head_start = i64::try_from(PRIORITY_HEAD_START.as_millis()).unwrap() * i64::from(job.priority);
    (job.created_at.0 - head_start, job.id)
}
