//! The feeds and the figures for metrics.

use vmafx_queue::store::{Changes, Samples, StoreError, StoreResult, TenantStats};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId, TenantId};

use super::Queue;

impl Queue {
    pub(crate) fn position(&self) -> String {
        self.written.to_string()
    }

    /// Sorts the latest changes of these jobs into this order.
    pub(crate) fn reorder(&mut self, order: &[JobId]) {
        let mut places: Vec<_> = self.jobs.iter().filter(|entry| order.contains(&entry.job.id)).collect();
        places.sort_by_key(|entry| entry.changed);
        let places: Vec<_> = places.iter().map(|entry| entry.changed).collect();
        for (id, place) in order.iter().zip(places) {
            let named = self.jobs.iter_mut().filter(|entry| entry.job.id == *id);
            named.for_each(|entry| entry.changed = place);
        }
    }

    /// The position of a cursor; fails for one that was never issued.
    fn place(&self, cursor: &str) -> StoreResult<u64> {
        cursor.parse().ok().filter(|place| *place <= self.written).ok_or(StoreError::Cursor)
    }

    pub(crate) fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Changes> {
        let place = self.place(after)?;
        let mut changed: Vec<_> = self.jobs.iter().collect();
        changed.retain(|entry| entry.job.tenant == *tenant && entry.changed > place);
        changed.sort_by_key(|entry| entry.changed);
        let more = changed.len() > limit as usize;
        changed.truncate(limit as usize);
        let jobs: Vec<_> =
            changed.iter().map(|entry| (entry.changed.to_string(), entry.job.clone())).collect();
        let last = jobs.last().map(|(cursor, _)| cursor.clone());
        Ok(Changes { next: last.filter(|_| more).unwrap_or_else(|| self.position()), jobs })
    }

    pub(crate) fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Samples> {
        let place = if after.is_empty() { 0 } else { self.place(after)? };
        if !after.is_empty() && self.pruned.get(tenant).is_some_and(|newest| place < *newest) {
            return Err(StoreError::Cursor);
        }
        let new = self.samples.iter().filter(|stored| stored.tenant == *tenant && stored.number > place);
        let all: Vec<_> = new.map(|stored| (stored.number.to_string(), stored.sample.clone())).collect();
        let samples: Vec<_> = all.iter().take(limit as usize).cloned().collect();
        let last = samples.last().map(|(cursor, _)| cursor.clone());
        let more = all.len() > samples.len();
        Ok(Samples { next: last.filter(|_| more).unwrap_or_else(|| self.position()), samples })
    }

    pub(crate) fn stats(&self) -> Vec<TenantStats> {
        let numbers = |tenant: TenantId| {
            let of = |state: State| {
                let jobs = self.jobs.iter().map(|entry| &entry.job);
                jobs.filter(|job| job.tenant == tenant && job.state == state).collect::<Vec<&Job>>()
            };
            let pending = of(State::Pending);
            TenantStats {
                pending: pending.len() as u64,
                running: of(State::Running).len() as u64,
                oldest_pending: pending.iter().map(|job| job.created_at).min(),
                nodes: self.nodes(&tenant).iter().filter(|node| !node.capability.shared).count() as u64,
                quarantined: self.nodes(&tenant).iter().filter(|node| node.quarantine.is_some()).count()
                    as u64,
                stored_bytes: self.bytes_of(&tenant),
                tenant,
            }
        };
        self.tenants().into_iter().map(numbers).collect()
    }
}
