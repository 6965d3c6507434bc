//! Submissions, batched.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::Shared;
use super::batcher::BatchOperation;
use super::error::corrupt;
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, signed, text};
use super::tenant_changes::TenantChanges;
use super::usage::{self, USAGE, counted, usage};
use crate::clock::Timestamp;
use crate::idempotency::{KeyUse, StoredRequest, decide, digest_of};
use crate::ids::{IdempotencyKey, JobId, TenantId};
use crate::job::{Label, NewJob};
use crate::store::{StoreError, StoreResult, Submitted};
use crate::usage::TenantUsage;
use vmafx_job::{ScoringRequest, TenantLimits};

const INSERT: &str = concat!(
    "
WITH new AS (
    SELECT *, $18::bigint + octet_length(spec::text) AS bytes
    FROM unnest(
        $3::uuid[], $4::text[], $5::int[], $6::bigint[], $7::bigint[], $8::float8[],
        $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::json[], $15::text[], $16::bytea[],
        $17::text[])
    WITH ORDINALITY AS t (id, backend, priority, max_lost_attempts, deadline_at, label,
        idempotency_key, origin_cluster, origin_namespace, origin_name, origin_uid, spec, submitter, request_digest,
        labelled_by, n)
), fresh AS (
    -- A job that exists takes no room. Keys from before keys had submitters are known to all of them.
    SELECT new.*, row_number() OVER (ORDER BY n) AS jobs_so_far, sum(new.bytes) OVER (ORDER BY n) AS bytes_so_far
    FROM new
    WHERE new.idempotency_key IS NULL OR NOT EXISTS (
        SELECT FROM vmafx.jobs old
        WHERE old.idempotency_key = new.idempotency_key AND coalesce(old.tenant_id, '') = $1
            AND old.submitter IN ('', new.submitter))
), used AS MATERIALIZED (
    SELECT ",
    usage!("pending"),
    " AS used_jobs, ",
    usage!("bytes"),
    " AS used_bytes
), j AS (
    INSERT INTO vmafx.jobs (
        id, tenant_id, status, backend, priority, created_at, updated_at, max_lost_attempts, deadline_at, label,
        idempotency_key, origin_cluster, origin_namespace, origin_name, origin_uid, spec, submitter, request_digest,
        labelled_by, bytes)
    SELECT id, $1, 'pending', backend, priority, $2, $2, max_lost_attempts, deadline_at, label,
        idempotency_key, origin_cluster, origin_namespace, origin_name, origin_uid, spec, submitter, request_digest,
        labelled_by, bytes
    FROM fresh, used
    WHERE jobs_so_far <= $19::bigint - used_jobs AND bytes_so_far <= $20::bigint - used_bytes
    ORDER BY n
    ON CONFLICT (idempotency_key, tenant_id, submitter) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id, tenant_id, bytes
), counted AS (",
    counted!("count(*)", "0", "sum(bytes)", "j"),
    ")
SELECT id FROM j"
);

/// Runs after the insert in the same transaction, when the transaction that stored a conflicting key first has committed.
const EXISTING_KEYS: &str = "
SELECT idempotency_key, submitter, id, request_digest, origin_cluster, origin_uid FROM vmafx.jobs WHERE idempotency_key = ANY ($2::text[]) AND coalesce(tenant_id, '') = $1";

pub(super) struct Submits(pub(super) Arc<Shared>);

impl BatchOperation for Submits {
    type Key = TenantId;
    type Item = PendingSubmission;
    /// A refusal is no error of the batch.
    type Answer = Result<Submitted, StoreError>;
    const MAX_BATCH_SIZE: usize = 128;

    async fn run(
        &self,
        tenant: &TenantId,
        submissions: &[PendingSubmission],
    ) -> StoreResult<Vec<Self::Answer>> {
        // A batch has the limits of its last submission, which are the newest.
        let Some(limits) = submissions.last().map(|submission| submission.limits) else { return Ok(vec![]) };
        let jobs: Vec<&NewJob> = submissions.iter().map(|submission| &submission.job).collect();
        let shared = &self.0;
        let now = shared.clock.now();
        let created_at = shared.creation_order().next(now);
        let ids: Vec<JobId> = jobs.iter().map(|_| shared.new_job_id(created_at)).collect();
        // Sorted by key, so that two transactions with the same keys cannot deadlock.
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|at| (&jobs[*at].key, &jobs[*at].submitter));
        let columns = SubmitColumns::of(
            order.iter().map(|at| (ids[*at], jobs[*at])),
            now,
            shared.policy.max_lost_attempts,
        );
        let keys: Vec<&str> = jobs.iter().filter_map(|job| Some(job.key.as_ref()?.as_str())).collect();
        let (tenant_id, c) = (tenant.as_str(), &columns);
        let job_bytes = signed(TenantLimits::JOB_BYTES);
        let (max_pending, max_bytes) = (signed(limits.pending_jobs), signed(limits.stored_bytes));
        let insert: [Value<'_>; 20] = [
            &tenant_id,
            &created_at.0,
            &c.id,
            &c.backend,
            &c.priority,
            &c.max_lost_attempts,
            &c.deadline_at,
            &c.label,
            &c.key,
            &c.cluster,
            &c.namespace,
            &c.name,
            &c.uid,
            &c.spec,
            &c.submitter,
            &c.digest,
            &c.labelled_by,
            &job_bytes,
            &max_pending,
            &max_bytes,
        ];
        let existing: [Value<'_>; 2] = [&tenant_id, &keys];
        let calls: [Call<'_>; 2] = [(INSERT, &insert), (EXISTING_KEYS, &existing)];
        let calls = if keys.is_empty() { &calls[..1] } else { &calls };
        let answers = shared.connections.run_all(Scope::Tenant(tenant), Access::Write, calls).await?;

        let mut stored = HashSet::new();
        for row in answers.first().into_iter().flatten() {
            stored.insert(JobId(Reader::new(row).next()?));
        }
        let mut by_key = HashMap::new();
        for row in answers.get(1).into_iter().flatten() {
            let known = KnownJob::read(row)?;
            by_key.insert((known.key.clone(), known.submitter.clone()), known);
        }
        let mut usage = None;
        let mut changes = TenantChanges::default();
        let mut submitted = Vec::with_capacity(jobs.len());
        for (id, job) in ids.into_iter().zip(&jobs) {
            if stored.contains(&id) {
                changes.changed = true;
                changes.work(job.scoring.backend_name(), 1);
                submitted.push(Ok(Submitted { id, deduplicated: false }));
            } else {
                let of = |submitter: &str| {
                    let key = job.key.as_ref()?.as_str().to_owned();
                    by_key.get(&(key, submitter.to_owned()))
                };
                let known = of(&text(&job.submitter)).or_else(|| of(""));
                submitted.push(if let Some(known) = known {
                    known.answer(job)
                } else {
                    let found = match usage {
                        Some(found) => found,
                        None => *usage.insert(self.usage(tenant).await?),
                    };
                    Err(refusal(&found, job, &limits)?)
                });
            }
        }
        if changes.changed {
            shared.creation_order().record(created_at);
        }
        shared.notify(tenant, changes);
        Ok(submitted)
    }
}

impl Submits {
    async fn usage(&self, tenant: &TenantId) -> StoreResult<TenantUsage> {
        let values: [Value<'_>; 1] = [&tenant.as_str()];
        let rows = self.0.connections.run(Scope::Tenant(tenant), Access::Read, USAGE, &values).await?;
        usage::read(&mut Reader::new(rows.first().ok_or_else(|| corrupt("the usage of a tenant"))?))
    }
}

/// Why a job was not stored whose key is not known.
fn refusal(usage: &TenantUsage, job: &NewJob, limits: &TenantLimits) -> StoreResult<StoreError> {
    let spec = serde_json::to_string(&job.scoring).map_err(|error| StoreError::Unavailable(error.into()))?;
    let bytes = TenantLimits::JOB_BYTES + spec.len() as u64;
    Ok(usage.check_submission(bytes, limits).err().unwrap_or_else(|| {
        // The job with its key was removed between the two statements, or others made room since.
        StoreError::Unavailable("the store changed at the same moment; submit again".into())
    }))
}

/// A submission with the limits of its tenant.
pub(super) struct PendingSubmission {
    pub(super) job: NewJob,
    pub(super) limits: TenantLimits,
}

/// The job that was stored first with a key.
struct KnownJob {
    key: String,
    submitter: String,
    id: JobId,
    digest: Option<Vec<u8>>,
    cluster: Option<String>,
    uid: Option<String>,
}

impl KnownJob {
    fn read(row: &Row) -> StoreResult<Self> {
        let mut reader = Reader::new(row);
        Ok(Self {
            key: reader.next()?,
            submitter: reader.next()?,
            id: JobId(reader.next()?),
            digest: reader.next()?,
            cluster: reader.next()?,
            uid: reader.next()?,
        })
    }

    fn answer(&self, new: &NewJob) -> Result<Submitted, StoreError> {
        let resource = self.cluster.as_deref().zip(self.uid.as_deref());
        match decide(StoredRequest { digest: self.digest.as_deref(), resource }, new) {
            KeyUse::Repeated => Ok(Submitted { id: self.id, deduplicated: true }),
            KeyUse::Reused => Err(StoreError::KeyReused { job: self.id }),
        }
    }
}

/// The jobs as one array for each parameter.
#[derive(Default)]
struct SubmitColumns<'a> {
    id: Vec<Uuid>,
    backend: Vec<&'static str>,
    priority: Vec<i32>,
    max_lost_attempts: Vec<i64>,
    deadline_at: Vec<Option<i64>>,
    label: Vec<Option<f64>>,
    key: Vec<Option<&'a str>>,
    cluster: Vec<Option<String>>,
    namespace: Vec<Option<String>>,
    name: Vec<Option<String>>,
    uid: Vec<Option<String>>,
    spec: Vec<Json<&'a ScoringRequest>>,
    submitter: Vec<String>,
    digest: Vec<Option<Vec<u8>>>,
    labelled_by: Vec<String>,
}

impl<'a> SubmitColumns<'a> {
    fn of(jobs: impl Iterator<Item = (JobId, &'a NewJob)>, now: Timestamp, limit: u32) -> Self {
        let mut columns = Self::default();
        for (id, job) in jobs {
            columns.id.push(id.0);
            columns.backend.push(job.scoring.backend_name());
            columns.priority.push(job.priority);
            columns.max_lost_attempts.push(job.max_lost_attempts.unwrap_or(limit).max(1).into());
            columns.deadline_at.push(job.deadline.map(|length| (now + length).0));
            columns.label.push(job.label.map(Label::value));
            columns.key.push(job.key.as_ref().map(IdempotencyKey::as_str));
            let origin = job.origin.as_ref();
            columns.cluster.push(origin.map(|origin| text(&origin.cluster)));
            columns.namespace.push(origin.map(|origin| text(&origin.namespace)));
            columns.name.push(origin.map(|origin| text(&origin.name)));
            columns.uid.push(origin.map(|origin| text(&origin.uid)));
            columns.spec.push(Json(&job.scoring));
            columns.submitter.push(text(&job.submitter));
            columns.digest.push(job.key.as_ref().map(|_| digest_of(job).to_vec()));
            columns.labelled_by.push(text(job.labelled_by.as_str()));
        }
        columns
    }
}
