//! Operations of submitters.

use std::collections::BTreeMap;
use std::time::Duration;

use vmafx_job::CancelCause;
use vmafx_job::{FailureReason, TenantLimit, TenantLimits};
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::{Attempt, DeadlineUpdate, JobUpdate, Label, Labeller};
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{Cancelled, Filter, LabelTarget, Labelled, Page, Submitted, Updated};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId, NewJob, StoreError, StoreResult, TenantId};

use super::limits::{refused, size, size_of};
use super::{Entry, Queue};

impl Queue {
    /// `id` becomes the id of the job if it is new.
    pub(crate) fn submit(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        new: NewJob,
        id: JobId,
        limits: &TenantLimits,
    ) -> StoreResult<Submitted> {
        if let Some(known) = self.with_key_of(tenant, &new) {
            let (known_id, known) = (known.job.id, &known.request);
            let same_request = NewJob { submitter: known.submitter.clone(), ..new.clone() } == *known;
            let same_resource = match (&known.origin, &new.origin) {
                (Some(a), Some(b)) => !a.uid.is_empty() && (&a.cluster, &a.uid) == (&b.cluster, &b.uid),
                _ => false,
            };
            return if same_request || same_resource {
                Ok(Submitted { id: known_id, deduplicated: true })
            } else {
                Err(StoreError::KeyReused { job: known_id })
            };
        }
        if self.count_of(tenant, State::Pending) >= limits.pending_jobs {
            return Err(refused(TenantLimit::PendingJobs, limits));
        }
        if self.bytes_of(tenant) + size(&new.scoring, None, None) > limits.stored_bytes {
            return Err(refused(TenantLimit::StoredBytes, limits));
        }
        let created_at = self.creation_time(now);
        let request = new.clone();
        let job = Job {
            id,
            tenant: tenant.clone(),
            state: State::Pending,
            scoring: new.scoring,
            next_scoring: None,
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
            created_at,
            updated_at: created_at,
            started_at: None,
            finished_at: None,
            available_at: None,
            lease_expires_at: None,
            deadline_at: new.deadline.map(|length| now + length),
            revision: 0,
            cancel_cause: None,
            last_failure: None,
            avoids: None,
        };
        let entry = Entry {
            job,
            request,
            holder: None,
            pull: None,
            attempts: vec![],
            expired: None,
            node_labels: BTreeMap::new(),
            changed: 0,
        };
        self.jobs.push(entry);
        let index = self.jobs.len() - 1;
        self.changed(index, created_at);
        self.claimable(index);
        Ok(Submitted { id, deduplicated: false })
    }

    /// The job that the submitter stored with this key, or else one that nobody in particular did.
    fn with_key_of(&self, tenant: &TenantId, new: &NewJob) -> Option<&Entry> {
        new.key.as_ref()?;
        let of = |submitter: &str| {
            let fits = |entry: &&Entry| {
                entry.job.tenant == *tenant
                    && entry.job.key == new.key
                    && entry.request.submitter == submitter
            };
            self.jobs.iter().find(fits)
        };
        of(&new.submitter).or_else(|| of(""))
    }

    /// Jobs keep their order when the clock is set back by up to an hour.
    fn creation_time(&mut self, now: Timestamp) -> Timestamp {
        let at = match self.last_created {
            Some(last) if last > now && last.since(now) <= Duration::from_hours(1) => last,
            _ => now,
        };
        self.last_created = Some(at);
        at
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

    pub(crate) fn update(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        id: JobId,
        update: JobUpdate,
        limits: &TenantLimits,
    ) -> StoreResult<Option<Updated>> {
        let Some(index) = self.index(tenant, id) else { return Ok(None) };
        let bytes_of_tenant = self.bytes_of(tenant);
        let job = &mut self.jobs[index].job;
        let before = job.clone();
        if !job.state.is_final() {
            job.priority = update.priority.unwrap_or(job.priority);
            job.max_lost_attempts = update.max_lost_attempts.unwrap_or(job.max_lost_attempts);
            match update.deadline {
                None => {}
                Some(DeadlineUpdate::Never) => job.deadline_at = None,
                Some(DeadlineUpdate::After(length)) => job.deadline_at = Some(job.created_at + length),
            }
            match (update.scoring, job.state) {
                (None, _) => {}
                (Some(scoring), State::Running) if scoring == job.scoring => job.next_scoring = None,
                (Some(scoring), State::Running) => job.next_scoring = Some(scoring),
                (Some(scoring), _) => job.scoring = scoring,
            }
        }
        let growth = size_of(job).saturating_sub(size_of(&before));
        if growth > 0 && bytes_of_tenant + growth > limits.stored_bytes {
            *job = before;
            return Err(refused(TenantLimit::StoredBytes, limits));
        }
        let changed = *job != before;
        if changed {
            self.changed(index, now);
            if self.jobs[index].job.state == State::Pending && self.jobs[index].job.available_at.is_none() {
                self.claimable(index);
            }
        }
        Ok(Some(Updated { job: self.jobs[index].job.clone(), changed }))
    }

    pub(crate) fn label(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
        by: &Labeller,
    ) -> Labelled {
        let all = (0..self.jobs.len()).filter(|index| self.jobs[*index].job.tenant == *tenant);
        let meant: Vec<usize> = match target {
            LabelTarget::Id(id) => all.filter(|index| self.jobs[*index].job.id == *id).collect(),
            LabelTarget::Key { key, submitter } => {
                let with_key: Vec<_> =
                    all.filter(|index| self.jobs[*index].job.key.as_ref() == Some(key)).collect();
                let own = with_key.iter().find(|index| self.jobs[**index].request.submitter == *submitter);
                own.map_or(with_key.clone(), |own| vec![*own])
            }
        };
        let index = match meant[..] {
            [] => return Labelled::NotFound,
            [index] => index,
            _ => return Labelled::Ambiguous,
        };
        let job = &mut self.jobs[index].job;
        if matches!(job.state, State::Failed | State::Cancelled) {
            return Labelled::Over;
        }
        job.label = Some(label);
        let id = job.id;
        self.jobs[index].request.labelled_by = by.clone();
        self.changed(index, now);
        Labelled::Stored { id, sampled: self.sample(index, now) }
    }
}
