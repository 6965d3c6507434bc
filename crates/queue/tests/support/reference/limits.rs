//! What a tenant holds, and its limits.

use vmafx_job::{ScoreResult, ScoringRequest, TenantLimit, TenantLimits};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, StoreError, TenantId};

use super::Queue;

pub(super) fn refused(limit: TenantLimit, limits: &TenantLimits) -> StoreError {
    StoreError::LimitReached { limit, max: limits.of(limit) }
}

pub(super) fn size(
    scoring: &ScoringRequest,
    next_scoring: Option<&ScoringRequest>,
    result: Option<&ScoreResult>,
) -> u64 {
    let mut texts = vec![serde_json::to_string(scoring).unwrap()];
    texts.extend(next_scoring.map(|next| serde_json::to_string(next).unwrap()));
    texts.extend(result.map(|result| serde_json::to_string(&result.features).unwrap()));
    texts.extend(result.and_then(|it| it.details.as_ref()).map(|it| serde_json::to_string(it).unwrap()));
    TenantLimits::JOB_BYTES + texts.iter().map(|text| text.len() as u64).sum::<u64>()
}

pub(super) fn size_of(job: &Job) -> u64 {
    size(&job.scoring, job.next_scoring.as_ref(), job.result.as_ref())
}

impl Queue {
    pub(super) fn count_of(&self, tenant: &TenantId, state: State) -> u64 {
        let fits = |job: &Job| job.tenant == *tenant && job.state == state;
        self.jobs.iter().filter(|entry| fits(&entry.job)).count() as u64
    }

    pub(super) fn bytes_of(&self, tenant: &TenantId) -> u64 {
        let own = self.jobs.iter().filter(|entry| entry.job.tenant == *tenant);
        own.map(|entry| size_of(&entry.job)).sum()
    }
}
