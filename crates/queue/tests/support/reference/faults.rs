//! Reported failures, and the nodes that get nothing because of them. It uses neither `verdict` nor the decisions of
//! `quarantine`, so that they are checked against it.

use std::time::Duration;

use vmafx_job::{FailureReason, RetryClass};
use vmafx_queue::TenantId;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::AvoidedNode;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::MAX_AVOIDING_JOBS;
use vmafx_queue::quarantine::{NodeFaults, Quarantine};

use super::Queue;

impl Queue {
    pub(super) fn fail_attempt(
        &mut self,
        index: usize,
        now: Timestamp,
        reason: FailureReason,
        message: &str,
    ) {
        let entry = &self.jobs[index];
        let (tenant, node) = (entry.job.tenant.clone(), entry.job.node.clone().unwrap());
        let same = |outcome: Option<(Timestamp, AttemptOutcome)>| {
            outcome.is_some_and(|(_, outcome)| outcome == AttemptOutcome::Failed)
        };
        let agreeing: Vec<String> = entry
            .attempts
            .iter()
            .filter(|attempt| same(attempt.ended) && attempt.reason == reason)
            .map(|attempt| attempt.node.clone())
            .collect();
        let other = agreeing.iter().find(|other| **other != node).cloned();
        self.end_attempt_with(index, now, AttemptOutcome::Failed, reason, message);
        let class = reason.retry_class();
        if matches!(class, RetryClass::Node | RetryClass::Unconfirmed) {
            match &other {
                None => self.count_failure(&tenant, &node, now, reason, message),
                Some(other) if agreeing.iter().all(|one| one == other) => {
                    self.withdraw(&tenant, other, u32::try_from(agreeing.len()).unwrap());
                }
                Some(_) => {}
            }
        }
        if matches!(class, RetryClass::Job | RetryClass::Input) {
            self.fail(index, now, reason, message);
            return;
        }
        if let (RetryClass::Unconfirmed, Some(other)) = (class, &other) {
            let text = format!("{other} and {node} report the same: {message}");
            self.fail(index, now, reason.confirmed(), &text);
            return;
        }
        let job = &mut self.jobs[index].job;
        job.lost_attempts += 1;
        let (lost, allowed) = (job.lost_attempts, job.max_lost_attempts);
        if lost >= allowed {
            let text = if allowed <= 1 {
                message.to_owned()
            } else {
                format!("{lost} of at most {allowed} attempts failed, the last one on {node}: {message}")
            };
            self.fail(index, now, reason, &text);
            return;
        }
        self.requeue(index, now, reason, message);
        self.keep_from(index, now, &tenant, node);
        self.changed(index, now);
    }

    fn keep_from(&mut self, index: usize, now: Timestamp, tenant: &TenantId, node: String) {
        let backend = self.jobs[index].job.scoring.backend_name().to_owned();
        let kept = |avoided: &AvoidedNode| avoided.node == node && avoided.until > now;
        let of_tenant = self.jobs.iter().filter(|entry| entry.job.tenant == *tenant);
        let count = of_tenant.filter(|entry| entry.job.avoids.as_ref().is_some_and(kept)).count();
        if self.is_served_by_others(tenant, &node, &backend) && count < MAX_AVOIDING_JOBS as usize {
            let until = self.jobs[index].job.available_at.unwrap() + self.policy.avoid_window;
            self.jobs[index].job.avoids = Some(AvoidedNode { node, until });
        }
    }

    fn is_served_by_others(&self, tenant: &TenantId, node: &str, backend: &str) -> bool {
        self.sessions.iter().any(|session| {
            session.tenant == *tenant
                && session.node.name != node
                && self.quarantine(tenant, &session.node.name).is_none()
                && (backend.is_empty() || session.node.capability.backends.iter().any(|own| own == backend))
        })
    }

    fn count_failure(
        &mut self,
        tenant: &TenantId,
        node: &str,
        now: Timestamp,
        reason: FailureReason,
        error: &str,
    ) {
        let key = (tenant.clone(), node.to_owned());
        let failures = self.faults.get(&key).map_or(0, |faults| faults.failures) + 1;
        self.faults.insert(key, NodeFaults { failures, tried_at: now, reason, error: error.to_owned() });
    }

    fn withdraw(&mut self, tenant: &TenantId, node: &str, count: u32) {
        let key = (tenant.clone(), node.to_owned());
        let Some(faults) = self.faults.get_mut(&key) else { return };
        faults.failures = faults.failures.saturating_sub(count);
        if faults.failures == 0 {
            self.faults.remove(&key);
        }
    }

    fn pause(&self, failures: u32) -> Duration {
        let mut pause = self.policy.quarantine_base;
        for _ in self.policy.quarantine_after..failures {
            pause = (pause * 2).min(self.policy.quarantine_max);
        }
        pause
    }

    pub(super) fn quarantine(&self, tenant: &TenantId, node: &str) -> Option<Quarantine> {
        let faults = self.faults.get(&(tenant.clone(), node.to_owned()))?;
        let NodeFaults { failures, tried_at, reason, error } = faults.clone();
        (failures >= self.policy.quarantine_after).then(|| Quarantine {
            failures,
            until: tried_at + self.pause(failures),
            reason,
            error,
        })
    }

    /// Until when a quarantined node gets nothing.
    pub(super) fn closed_until(
        &self,
        now: Timestamp,
        tenant: &TenantId,
        node: &str,
        backends: &[String],
    ) -> Option<Timestamp> {
        self.quarantine(tenant, node)?;
        let faults = &self.faults[&(tenant.clone(), node.to_owned())];
        let mut served = backends.iter().map(String::as_str).chain([""]);
        let mut pause = self.pause(faults.failures);
        if !served.all(|backend| self.is_served_by_others(tenant, node, backend)) {
            pause = pause.min(self.policy.lone_trial_interval);
        }
        Some(faults.tried_at + pause).filter(|until| now < *until && now >= faults.tried_at)
    }
}
