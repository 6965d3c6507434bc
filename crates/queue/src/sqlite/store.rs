//! The operations of [`Store`], each handed to the thread that writes or to a connection that reads. What somebody wants
//! to see is made readable here, on the caller's side.

use async_trait::async_trait;
use tokio::sync::broadcast;

use super::claim::Claimed;
use super::error::{NotFinite, corrupt, unavailable};
use super::report::{Heard, Told};
use super::rows::{self, StoredResult};
use super::sessions::{new_token, seal};
use super::{
    SqliteStore, attempts, cancel, changes, claim, explain, label, list, migrate, prune, report, samples,
    sessions, stats, submit, sweep,
};
use crate::ids::{AttemptNumber, JobId, TenantId};
use crate::job::{Attempt, Job, Label, NewJob};
use crate::node::{Beat, Credentials, NewNode, Node, Pulse, Report};
use crate::notice::Notice;
use crate::store::{
    Cancelled, Changes, Claim, Cursor, Explained, Filter, LabelTarget, Labelled, Page, Pruned, Released,
    Reported, Retention, Samples, Store, StoreError, Submitted, Swept, TenantStats,
};
use vmafx_job::{CancelCause, ScoreResult};

#[async_trait]
impl Store for SqliteStore {
    async fn submit(&self, tenant: &TenantId, job: NewJob) -> Result<Submitted, StoreError> {
        let tenant = tenant.clone();
        let spec = serde_json::to_string(&job.scoring).map_err(unavailable)?;
        self.writer.write(move |unit| submit::submit(unit, &tenant, &job, &spec)).await
    }

    async fn job(&self, tenant: &TenantId, id: JobId) -> Result<Option<Job>, StoreError> {
        self.writer.check()?;
        let tenant = tenant.clone();
        let row = self.readers.read(move |connection| Ok(rows::by_id(connection, &tenant, id)?)).await?;
        Ok(self.jobs_of(row.into_iter().collect())?.pop())
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId) -> Result<Vec<Attempt>, StoreError> {
        self.writer.check()?;
        let tenant = tenant.clone();
        self.readers.read(move |connection| attempts::list(connection, &tenant, id)).await
    }

    async fn jobs(&self, tenant: &TenantId, filter: &Filter, page: &Page) -> Result<Vec<Job>, StoreError> {
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
    ) -> Result<Option<Cancelled>, StoreError> {
        let (tenant, reason) = (tenant.clone(), reason.to_owned());
        let ended =
            self.writer.write(move |unit| cancel::cancel(unit, &tenant, id, (cause, &reason))).await?;
        ended.map(|(row, moved)| Ok(Cancelled { job: row.job(None)?, moved })).transpose()
    }

    async fn label(
        &self,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
    ) -> Result<Labelled, StoreError> {
        let (tenant, target) = (tenant.clone(), target.clone());
        self.writer.write(move |unit| label::label(unit, &tenant, &target, label)).await
    }

    async fn register(&self, tenant: &TenantId, node: NewNode) -> Result<Credentials, StoreError> {
        let (tenant, token) = (tenant.clone(), new_token());
        let digest = token.digest();
        let session = self.writer.write(move |unit| sessions::register(unit, &tenant, &node, digest)).await?;
        Ok(Credentials { session, token })
    }

    async fn heartbeat(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        beat: Beat,
    ) -> Result<Option<Pulse>, StoreError> {
        let seal = seal(node);
        if self.writer.is_there()? && self.beat_at_once(tenant, &seal, &beat) {
            return Ok(Some(Pulse::default()));
        }
        let tenant = tenant.clone();
        self.writer.remember(move |unit| sessions::heartbeat(unit, &tenant, &seal, &beat)).await
    }

    async fn claim(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        backends: &[String],
    ) -> Result<Claim, StoreError> {
        let (tenant, seal, backends) = (tenant.clone(), seal(node), backends.to_vec());
        Ok(match self.writer.write(move |unit| claim::claim(unit, &tenant, &seal, &backends)).await? {
            Claimed::NoSession => Claim::NoSession,
            Claimed::Nothing { next } => Claim::Nothing { next },
            Claimed::Row(row) => Claim::Job(Box::new(row.job(None)?)),
        })
    }

    async fn report(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        report: Report,
    ) -> Result<Reported, StoreError> {
        let (tenant, seal) = (tenant.clone(), seal(node));
        let (result, success) = match report.result {
            Ok(success) => (Ok(stored(&success)?), Some(success)),
            Err(failure) => (Err(failure), None),
        };
        let told = Told { job: report.job, attempt: report.attempt, result };
        Ok(match self.writer.write(move |unit| report::report(unit, &tenant, &seal, &told)).await? {
            Heard::NoSession => Reported::NoSession,
            Heard::Fenced => Reported::Fenced,
            Heard::Repeated => Reported::Repeated,
            Heard::Moved { mut row, sampled } => {
                // What was just written need not be read.
                row.result = None;
                Reported::Moved { job: Box::new(Job { success, ..row.job(None)? }), sampled }
            }
        })
    }

    async fn release(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        job: JobId,
        attempt: AttemptNumber,
        reason: &str,
    ) -> Result<Released, StoreError> {
        let (tenant, seal, reason) = (tenant.clone(), seal(node), reason.to_owned());
        self.writer.write(move |unit| report::release(unit, &tenant, &seal, job, attempt, &reason)).await
    }

    async fn explain(&self, tenant: &TenantId, id: JobId) -> Result<Option<Explained>, StoreError> {
        self.writer.check()?;
        let now = self.clock.now();
        let nodes = self.live_nodes(|facts| facts.tenant == *tenant);
        let tenant = tenant.clone();
        let line = self.readers.read(move |connection| explain::line(connection, &tenant, id, now)).await?;
        let Some(line) = line else { return Ok(None) };
        let job = self.jobs_of(vec![line.row])?.pop().ok_or_else(|| corrupt("a job without a row"))?;
        Ok(Some(Explained {
            job,
            ahead_by_priority: line.by_priority,
            ahead_by_age: line.by_age,
            supply: explain::supply(&nodes),
        }))
    }

    async fn nodes(&self, tenant: &TenantId) -> Result<Vec<Node>, StoreError> {
        self.writer.check()?;
        let nodes = self.live_nodes(|facts| facts.tenant == *tenant);
        Ok(nodes.iter().map(super::LiveNode::node).collect())
    }

    async fn nodes_to_show(&self) -> Result<Vec<Node>, StoreError> {
        self.writer.check()?;
        let nodes = self.live_nodes(|facts| facts.resource.is_some());
        Ok(nodes.iter().map(super::LiveNode::node).collect())
    }

    async fn position(&self, _tenant: &TenantId) -> Result<Cursor, StoreError> {
        self.writer.check()?;
        let id = self.id.clone();
        self.readers.read(move |connection| changes::position(connection, &id)).await
    }

    async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> Result<Changes, StoreError> {
        self.writer.check()?;
        let (id, tenant, after) = (self.id.clone(), tenant.clone(), after.to_owned());
        let changed = self
            .readers
            .read(move |connection| changes::changes(connection, &id, &tenant, &after, limit))
            .await?;
        let (cursors, rows): (Vec<_>, Vec<_>) = changed.rows.into_iter().unzip();
        let jobs = cursors.into_iter().zip(self.jobs_of(rows)?).collect();
        Ok(Changes { jobs, next: changed.next })
    }

    async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> Result<Samples, StoreError> {
        self.writer.check()?;
        let (id, tenant, after) = (self.id.clone(), tenant.clone(), after.to_owned());
        self.readers.read(move |connection| samples::samples(connection, &id, &tenant, &after, limit)).await
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        let ended = self.writer.write(sweep::sweep).await?;
        let jobs = |rows: Vec<rows::Row>| rows.into_iter().map(|row| row.job(None)).collect::<Result<_, _>>();
        Ok(Swept {
            forgiven: ended.forgiven,
            requeued: jobs(ended.requeued)?,
            failed: jobs(ended.failed)?,
            evicted: ended.evicted,
        })
    }

    async fn prune(&self, keep: &Retention) -> Result<Pruned, StoreError> {
        self.writer.check()?;
        let (keep, now) = (*keep, self.clock.now());
        let doomed = self.readers.read(move |connection| prune::find(connection, &keep, now)).await?;
        if doomed.is_empty() {
            return Ok(Pruned::default());
        }
        let pruned = self.writer.write(move |unit| prune::remove(unit, &doomed)).await?;
        self.writer.tidy().await?;
        Ok(pruned)
    }

    async fn stats(&self) -> Result<Vec<TenantStats>, StoreError> {
        self.writer.check()?;
        let nodes = self.live_nodes(|_| true);
        self.readers.read(move |connection| stats::stats(connection, &nodes)).await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.writer.remember(|_| Ok(())).await?;
        let found = self.readers.read(|connection| Ok(migrate::version(connection)?)).await?;
        if found == migrate::NEEDED {
            return Ok(());
        }
        Err(StoreError::Schema { found, needed: migrate::NEEDED, remedy: migrate::REMEDY })
    }

    fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.listen()
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// A score as it is stored. JSON has no place for numbers that are not finite, and would lose them without a word.
fn stored(success: &ScoreResult) -> Result<StoredResult, StoreError> {
    let pooled = success.details.as_ref().and_then(|details| details.scores);
    let pooled = pooled.map(|scores| {
        let rest = [scores.stddev, scores.p1, scores.p5, scores.p10, scores.p50];
        [scores.mean, scores.harmonic_mean, scores.min, scores.max].into_iter().chain(rest)
    });
    let mut numbers = success.features.values().copied().chain(pooled.into_iter().flatten());
    if !success.score.is_finite() || !numbers.all(f64::is_finite) {
        return Err(unavailable(NotFinite));
    }
    StoredResult::of(success).map_err(unavailable)
}
