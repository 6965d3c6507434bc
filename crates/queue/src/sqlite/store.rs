//! The implementation of [`Store`]. Each operation runs on the writer thread or on a reader connection. Rows are
//! converted to jobs here, on the caller's side.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use tokio::sync::broadcast;

use super::claim::ClaimOutcome;
use super::error::{NotFinite, corrupt, unavailable};
use super::report::{ReportOutcome, SerializedReport};
use super::rows::{self, StoredResult};
use super::sessions::digest_credentials;
use super::submit::SubmitOutcome;
use super::update::UpdateOutcome;
use super::{
    SqliteStore, attempts, cancel, changes, claim, explain, label, list, migrate, prune, report, samples,
    sessions, space, stats, submit, sweep, update, writer,
};
use crate::ids::{AttemptNumber, JobId, PullId, TenantId};
use crate::job::{Attempt, Job, JobUpdate, Label, Labeller, NewJob};
use crate::node::{Credentials, Heartbeat, HeartbeatReply, NewNode, Node, Report, SessionToken};
use crate::notification::Notification;
use crate::store::{
    Cancelled, Changes, Claim, Cursor, Explained, Filter, LabelTarget, Labelled, Page, Pruned,
    QuarantinedNode, Released, Reported, Retention, Samples, Store, StoreError, StoreResult, Submitted,
    Supply, Swept, TenantStats, Updated,
};
use vmafx_job::{CancelCause, ScoreResult, TenantLimits};

#[async_trait]
impl Store for SqliteStore {
    async fn submit(&self, tenant: &TenantId, job: NewJob, limits: &TenantLimits) -> StoreResult<Submitted> {
        let (tenant, limits) = (tenant.clone(), *limits);
        let spec = serde_json::to_string(&job.scoring).map_err(unavailable)?;
        match self.writer.write_new(move |tx| submit::submit(tx, &tenant, &job, &spec, &limits)).await? {
            SubmitOutcome::Submitted(submitted) => Ok(submitted),
            SubmitOutcome::Refused(refused) => Err(refused),
        }
    }

    async fn job(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Job>> {
        self.writer.check()?;
        let tenant = tenant.clone();
        let row = self.readers.read(move |connection| Ok(rows::by_id(connection, &tenant, id)?)).await?;
        Ok(self.jobs_of(row.into_iter().collect())?.pop())
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId) -> StoreResult<Vec<Attempt>> {
        self.writer.check()?;
        let tenant = tenant.clone();
        self.readers.read(move |connection| attempts::list(connection, &tenant, id)).await
    }

    async fn jobs(&self, tenant: &TenantId, filter: &Filter, page: &Page) -> StoreResult<Vec<Job>> {
        self.writer.check()?;
        let (tenant, filter, page) = (tenant.clone(), filter.clone(), *page);
        let rows =
            self.readers.read(move |connection| list::list(connection, &tenant, &filter, &page)).await?;
        self.jobs_of(rows)
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        id: JobId,
        cause: CancelCause,
        reason: &str,
    ) -> StoreResult<Option<Cancelled>> {
        let (tenant, reason) = (tenant.clone(), reason.to_owned());
        let ended = self.writer.write(move |tx| cancel::cancel(tx, &tenant, id, (cause, &reason))).await?;
        ended.map(|(row, moved)| Ok(Cancelled { job: row.job(None)?, moved })).transpose()
    }

    async fn update(
        &self,
        tenant: &TenantId,
        id: JobId,
        update: JobUpdate,
        limits: &TenantLimits,
    ) -> StoreResult<Option<Updated>> {
        let (tenant, limits) = (tenant.clone(), *limits);
        let spec = update.scoring.as_ref().map(serde_json::to_string).transpose().map_err(unavailable)?;
        let updated = self
            .writer
            .write(move |tx| update::update(tx, &tenant, id, &update, spec.as_deref(), &limits))
            .await?;
        let (row, changed) = match updated {
            UpdateOutcome::NotFound => return Ok(None),
            UpdateOutcome::Refused(refused) => return Err(refused),
            UpdateOutcome::Found(row, changed) => (row, changed),
        };
        let job = self.jobs_of(vec![*row])?.pop().ok_or_else(|| corrupt("a job without a row"))?;
        Ok(Some(Updated { job, changed }))
    }

    async fn label(
        &self,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
        by: &Labeller,
    ) -> StoreResult<Labelled> {
        let (tenant, target, by) = (tenant.clone(), target.clone(), by.clone());
        self.writer.write_new(move |tx| label::label(tx, &tenant, &target, label, &by)).await
    }

    async fn register(
        &self,
        tenant: &TenantId,
        node: NewNode,
        limits: &TenantLimits,
    ) -> StoreResult<Credentials> {
        let (tenant, limits, token) = (tenant.clone(), *limits, SessionToken::generate());
        let digest = token.digest();
        let registered =
            self.writer.write(move |tx| sessions::register(tx, &tenant, &node, digest, &limits)).await?;
        let session = registered?;
        Ok(Credentials { session, token })
    }

    async fn register_as(
        &self,
        tenant: &TenantId,
        node: NewNode,
        credentials: &Credentials,
    ) -> StoreResult<()> {
        let (tenant, digest) = (tenant.clone(), digest_credentials(credentials));
        self.writer.write(move |tx| sessions::register_as(tx, &tenant, &node, digest)).await
    }

    async fn heartbeat(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        heartbeat: Heartbeat,
    ) -> StoreResult<Option<HeartbeatReply>> {
        let credentials = digest_credentials(node);
        if self.writer.is_alive()? && self.heartbeat_in_memory(tenant, &credentials, &heartbeat) {
            return Ok(Some(HeartbeatReply::default()));
        }
        let tenant = tenant.clone();
        self.writer.run_in_memory(move |tx| sessions::heartbeat(tx, &tenant, &credentials, &heartbeat)).await
    }

    async fn claim(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        backends: &[String],
        pull: Option<PullId>,
        limits: &TenantLimits,
    ) -> StoreResult<Claim> {
        let (tenant, credentials, backends) = (tenant.clone(), digest_credentials(node), backends.to_vec());
        let limits = *limits;
        let claimed = self
            .writer
            .write_new(move |tx| claim::claim(tx, &tenant, &credentials, &backends, pull, &limits))
            .await;
        // No new work is begun while its end could not be stored.
        if let Err(StoreError::Full { .. }) = claimed {
            return Ok(Claim::Nothing { next: None });
        }
        Ok(match claimed? {
            ClaimOutcome::NoSession => Claim::NoSession,
            ClaimOutcome::Nothing { next } => Claim::Nothing { next },
            ClaimOutcome::PassedOver { next } => Claim::PassedOver { next },
            ClaimOutcome::Quarantined { until } => Claim::Quarantined { until },
            ClaimOutcome::NoFreeSlot => Claim::NoFreeSlot,
            ClaimOutcome::LimitReached => Claim::LimitReached,
            ClaimOutcome::Row(row) => Claim::Job(Box::new(row.job(None)?)),
        })
    }

    async fn report(&self, tenant: &TenantId, node: &Credentials, report: Report) -> StoreResult<Reported> {
        let (tenant, credentials) = (tenant.clone(), digest_credentials(node));
        let (serialized_result, result) = match report.result {
            Ok(result) => (Ok(stored(&result)?), Some(result)),
            Err(failure) => (Err(failure), None),
        };
        let serialized =
            SerializedReport { job: report.job, attempt: report.attempt, result: serialized_result };
        Ok(
            match self.writer.write(move |tx| report::report(tx, &tenant, &credentials, &serialized)).await? {
                ReportOutcome::NoSession => Reported::NoSession,
                ReportOutcome::Fenced => Reported::Fenced,
                ReportOutcome::Repeated => Reported::Repeated,
                ReportOutcome::Moved { mut row, sampled } => {
                    // The caller supplied the result, so it is not parsed again.
                    row.result = None;
                    Reported::Moved { job: Box::new(Job { result, ..row.job(None)? }), sampled }
                }
            },
        )
    }

    async fn release(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        job: JobId,
        attempt: AttemptNumber,
        reason: &str,
    ) -> StoreResult<Released> {
        let (tenant, credentials, reason) = (tenant.clone(), digest_credentials(node), reason.to_owned());
        self.writer.write(move |tx| report::release(tx, &tenant, &credentials, job, attempt, &reason)).await
    }

    async fn release_pulls(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        pulls: &[PullId],
    ) -> StoreResult<u64> {
        let (tenant, credentials, pulls) = (tenant.clone(), digest_credentials(node), pulls.to_vec());
        self.writer.write(move |tx| report::release_pulls(tx, &tenant, &credentials, &pulls)).await
    }

    async fn explain(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Explained>> {
        self.writer.check()?;
        let now = self.clock.now();
        let nodes = self.live_nodes(|registration| registration.tenant == *tenant);
        let running = writer::lock(&self.live).running_of(tenant);
        let tenant = tenant.clone();
        let position = self
            .readers
            .read(move |connection| explain::queue_position(connection, &tenant, id, now))
            .await?;
        let Some(position) = position else { return Ok(None) };
        let job = self.jobs_of(vec![position.row])?.pop().ok_or_else(|| corrupt("a job without a row"))?;
        Ok(Some(Explained {
            job,
            ahead_by_priority: position.by_priority,
            ahead_by_age: position.by_age,
            supply: Supply::by_backend(nodes.iter().map(|node| (&node.registration.capability, node.jobs))),
            quarantined: QuarantinedNode::among(&nodes.iter().map(super::LiveNode::node).collect::<Vec<_>>()),
            running,
        }))
    }

    async fn nodes(&self, tenant: &TenantId) -> StoreResult<Vec<Node>> {
        self.writer.check()?;
        let nodes = self.live_nodes(|registration| registration.tenant == *tenant);
        Ok(nodes.iter().map(super::LiveNode::node).collect())
    }

    async fn nodes_with_resource(&self) -> StoreResult<Vec<Node>> {
        self.writer.check()?;
        let nodes = self.live_nodes(|registration| registration.resource.is_some());
        Ok(nodes.iter().map(super::LiveNode::node).collect())
    }

    async fn position(&self, _tenant: &TenantId) -> StoreResult<Cursor> {
        self.writer.check()?;
        let life = self.life.clone();
        self.readers.read(move |connection| changes::position(connection, &life)).await
    }

    async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Changes> {
        self.writer.check()?;
        let (life, tenant, after) = (self.life.clone(), tenant.clone(), after.to_owned());
        let changed = self
            .readers
            .read(move |connection| changes::changes(connection, &life, &tenant, &after, limit))
            .await?;
        let (cursors, rows): (Vec<_>, Vec<_>) = changed.rows.into_iter().unzip();
        let jobs = cursors.into_iter().zip(self.jobs_of(rows)?).collect();
        Ok(Changes { jobs, next: changed.next })
    }

    async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Samples> {
        self.writer.check()?;
        let (life, tenant, after) = (self.life.clone(), tenant.clone(), after.to_owned());
        self.readers.read(move |connection| samples::samples(connection, &life, &tenant, &after, limit)).await
    }

    async fn sweep(&self) -> StoreResult<Swept> {
        let ended = self.writer.write(sweep::sweep).await?;
        let jobs =
            |rows: Vec<rows::JobRow>| rows.into_iter().map(|row| row.job(None)).collect::<Result<_, _>>();
        Ok(Swept {
            renewed: ended.renewed,
            requeued: jobs(ended.requeued)?,
            failed: jobs(ended.failed)?,
            evicted: ended.evicted,
        })
    }

    async fn prune(&self, keep: &Retention) -> StoreResult<Pruned> {
        self.writer.check()?;
        let (keep, now) = (*keep, self.now_for_ages());
        let prunable = self.readers.read(move |connection| prune::find(connection, &keep, now)).await?;
        if prunable.is_empty() {
            return Ok(Pruned::default());
        }
        let pruned = self.writer.write(move |tx| prune::remove(tx, &prunable)).await?;
        self.writer.reclaim_space().await?;
        Ok(pruned)
    }

    async fn stats(&self) -> StoreResult<Vec<TenantStats>> {
        self.writer.check()?;
        let nodes = self.live_nodes(|_| true);
        self.readers.read(move |connection| stats::stats(connection, &nodes)).await
    }

    async fn ready(&self) -> StoreResult<()> {
        self.writer.run_in_memory(|_| Ok(())).await?;
        let found = self.readers.read(|connection| Ok(migrate::version(connection)?)).await?;
        if found == migrate::SCHEMA_VERSION {
            return Ok(());
        }
        Err(StoreError::Schema { found, needed: migrate::SCHEMA_VERSION, remedy: migrate::REMEDY })
    }

    fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    fn free_bytes(&self) -> Option<u64> {
        space::free_bytes(&self.path)
    }

    fn notifications(&self) -> broadcast::Receiver<Notification> {
        self.notifier.subscribe()
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// JSON cannot represent numbers that are not finite and would store them as `null`, so they are refused.
fn stored(result: &ScoreResult) -> StoreResult<StoredResult> {
    if result.not_finite().is_some() {
        return Err(unavailable(NotFinite));
    }
    StoredResult::of(result).map_err(unavailable)
}
