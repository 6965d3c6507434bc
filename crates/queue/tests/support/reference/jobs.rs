//! Operations of submitters.

use std::collections::BTreeMap;

use vmafx_job::CancelCause;
use vmafx_job::FailureReason;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::{Attempt, Label};
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{Cancelled, Filter, LabelTarget, Labelled, Page, Submitted};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId, NewJob, TenantId};

use super::{Entry, Queue};

impl Queue {
    /// `id` becomes the id of the job if it is new.
    pub(crate) fn submit(&mut self, now: Timestamp, tenant: &TenantId, new: NewJob, id: JobId) -> Submitted {
        let same = |entry: &&Entry| entry.job.tenant == *tenant && entry.job.key == new.key;
        if new.key.is_some()
            && let Some(known) = self.jobs.iter().find(same)
        {
            return Submitted { id: known.job.id, deduplicated: true };
        }
        let job = Job {
            id,
            tenant: tenant.clone(),
            state: State::Pending,
            scoring: new.scoring,
            priority: new.priority,
            key: new.key,
            origin: new.origin,
            attempt: 0,
            lost_attempts: 0,
            max_lost_attempts: new.max_lost_attempts.unwrap_or(self.policy.max_lost_attempts),
            node: None,
            progress: None,
            result: None,
            error: String::new(),
            failure_reason: FailureReason::Unspecified,
            label: new.label,
            created_at: now,
            updated_at: now,
            started_at: None,
            finished_at: None,
            available_at: None,
            lease_expires_at: None,
            deadline_at: new.deadline.map(|length| now + length),
            revision: 0,
            cancel_cause: None,
        };
        let entry = Entry {
            job,
            holder: None,
            attempts: vec![],
            expired: None,
            node_labels: BTreeMap::new(),
            changed: 0,
        };
        self.jobs.push(entry);
        let index = self.jobs.len() - 1;
        self.changed(index, now);
        self.claimable(index);
        Submitted { id, deduplicated: false }
    }

    pub(crate) fn job(&self, tenant: &TenantId, id: JobId) -> Option<Job> {
        self.find(tenant, id).map(|entry| entry.job.clone())
    }

    pub(crate) fn attempts(&self, tenant: &TenantId, id: JobId) -> Vec<Attempt> {
        self.find(tenant, id).map(|entry| entry.attempts.clone()).unwrap_or_default()
    }

    pub(crate) fn jobs(&self, tenant: &TenantId, filter: &Filter, page: &Page) -> Vec<Job> {
        let mut jobs: Vec<_> = self.jobs.iter().map(|entry| entry.job.clone()).collect();
        jobs.retain(|job| job.tenant == *tenant && filter.matches(job));
        jobs.sort_by_key(|job| (job.created_at, job.id));
        if page.newest_first {
            jobs.reverse();
        }
        if let Some(after) = page.after {
            jobs.retain(|job| {
                let place = (job.created_at, job.id);
                if page.newest_first { place < after } else { place > after }
            });
        }
        jobs.truncate(page.limit as usize);
        jobs
    }

    pub(crate) fn cancel(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        id: JobId,
        (cause, reason): (CancelCause, &str),
    ) -> Option<Cancelled> {
        let index = self.index(tenant, id)?;
        let moved = !self.jobs[index].job.state.is_final();
        if moved {
            let text = Policy::cancel_text(reason);
            self.end_attempt(index, now, AttemptOutcome::Cancelled, &text);
            let job = &mut self.jobs[index].job;
            job.state = State::Cancelled;
            job.error = text;
            job.cancel_cause = Some(cause);
            job.finished_at = Some(now);
            self.changed(index, now);
        }
        Some(Cancelled { job: self.jobs[index].job.clone(), moved })
    }

    pub(crate) fn label(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
    ) -> Labelled {
        let meant = |entry: &Entry| {
            entry.job.tenant == *tenant
                && match target {
                    LabelTarget::Id(id) => entry.job.id == *id,
                    LabelTarget::Key(key) => entry.job.key.as_ref() == Some(key),
                }
        };
        let Some(index) = self.jobs.iter().position(meant) else { return Labelled::NotFound };
        let job = &mut self.jobs[index].job;
        if matches!(job.state, State::Failed | State::Cancelled) {
            return Labelled::Over;
        }
        job.label = Some(label);
        let id = job.id;
        self.changed(index, now);
        Labelled::Stored { id, sampled: self.sample(index, now) }
    }
}
