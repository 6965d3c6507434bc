//! The feeds of changes and samples.
//!
//! Transactions commit in another order than they start, so a cursor over start order would skip rows that commit
//! late. Each change carries the id of its transaction, and a reader sees only rows below the oldest running
//! transaction, where no further row can appear. Rows above it are *held back*. A reader waits a moment for them,
//! because the notification that triggered the read is not repeated; if a transaction runs for long, the reader is
//! notified again later.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::Row;

use super::Shared;
use super::cursor::{CursorFeed, FeedPosition};
use super::error::corrupt;
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, job_columns};
use crate::ids::{JobId, TenantId};
use crate::store::{Changes, Cursor, Sample, Samples, StoreError, StoreResult};

/// Every row starts with the oldest running transaction id, the next transaction id, and its own.
macro_rules! feed {
    ($columns:expr, $table:literal, $row:literal) => {
        concat!(
            "
SELECT now.oldest::text, now.next::text, j.change_xid::text, j.id, ",
            $columns,
            "
FROM (SELECT pg_snapshot_xmin(s) AS oldest, pg_snapshot_xmax(s) AS next FROM pg_current_snapshot() s) now
LEFT JOIN LATERAL (
    SELECT * FROM ",
            $table,
            " o WHERE o.tenant_id = $1 AND (o.change_xid, o.id) > ($2::text::xid8, ",
            $row,
            ")
    ORDER BY o.change_xid, o.id LIMIT $4
) j ON true
ORDER BY j.change_xid, j.id"
        )
    };
}
const CHANGES: &str = feed!(job_columns!(), "vmafx.jobs", "$3::uuid");
const SAMPLES: &str = feed!("j.job_id, j.features, j.label, j.node_labels", "vmafx.samples", "$3::bigint");

/// The newest removed sample. No sample at or before it is left, and none can appear there.
const REMOVED: &str = "SELECT change_xid::text, id FROM vmafx.samples_removed WHERE tenant_id = $1";

const OLDEST: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text";

/// The oldest running transaction, and the newest change that is visible to this tenant.
const POSITION: &str = "
SELECT pg_snapshot_xmin(pg_current_snapshot())::text, greatest(
    (SELECT j.change_xid FROM vmafx.jobs j WHERE j.tenant_id = $1 ORDER BY j.change_xid DESC, j.id DESC LIMIT 1),
    (SELECT s.change_xid FROM vmafx.samples s WHERE s.tenant_id = $1 ORDER BY s.change_xid DESC, s.id DESC LIMIT 1)
)::text";

/// How long a reader waits for rows that are held back.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A reader that starts at the oldest sample cannot have missed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feed {
    Changes,
    OldestSamples,
    Samples,
}

struct FeedPage {
    rows: Vec<(FeedPosition, Row)>,
    /// Where to continue when the page is empty.
    start: FeedPosition,
    /// The newest transaction whose rows are held back.
    held_back: Option<u64>,
}

impl Shared {
    pub(super) async fn position(&self, tenant: &TenantId) -> StoreResult<Cursor> {
        let values: [Value<'_>; 1] = [&tenant.as_str()];
        let rows = self.connections.run(Scope::Tenant(tenant), Access::Read, POSITION, &values).await?;
        let mut reader = Reader::new(rows.first().ok_or_else(|| corrupt("the position"))?);
        let oldest = reader.transaction()?;
        let newest = reader.next::<Option<&str>>()?.and_then(|text| text.parse().ok()).unwrap_or(0);
        // Rows that are already visible must not be returned again.
        let oldest =
            if newest < oldest { oldest } else { self.wait_until_settled(newest).await?.unwrap_or(oldest) };
        Ok(FeedPosition::before(oldest).write(self.store_id, CursorFeed::Changes))
    }

    pub(super) async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Changes> {
        let after = FeedPosition::read(after, self.store_id, CursorFeed::Changes)?;
        let page = self.page(tenant, after, limit, Feed::Changes).await?;
        let cursor = |position: FeedPosition| position.write(self.store_id, CursorFeed::Changes);
        let next = cursor(page.next());
        let read = |(position, row): &(FeedPosition, Row)| {
            Ok((cursor(*position), Reader::after(row, FEED_COLUMNS).job()?))
        };
        Ok(Changes { jobs: page.rows.iter().map(read).collect::<StoreResult<_>>()?, next })
    }

    pub(super) async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Samples> {
        let (after, feed) = if after.is_empty() {
            (FeedPosition::START, Feed::OldestSamples)
        } else {
            (FeedPosition::read(after, self.store_id, CursorFeed::Samples)?, Feed::Samples)
        };
        let page = self.page(tenant, after, limit, feed).await?;
        let cursor = |position: FeedPosition| position.write(self.store_id, CursorFeed::Samples);
        let next = cursor(page.next());
        let read = |(position, row): &(FeedPosition, Row)| Ok((cursor(*position), sample(row)?));
        Ok(Samples { samples: page.rows.iter().map(read).collect::<StoreResult<_>>()?, next })
    }

    /// Reads the page after a position, once its transactions have settled.
    async fn page(
        &self,
        tenant: &TenantId,
        after: FeedPosition,
        limit: u32,
        feed: Feed,
    ) -> StoreResult<FeedPage> {
        let page = self.read_page(tenant, after, limit, feed).await?;
        let Some(newest) = page.held_back else { return Ok(page) };
        if self.wait_until_settled(newest).await?.is_none() {
            tracing::warn!(transaction = newest, "a long-running transaction delays the feeds");
            self.held_back.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(tenant.clone());
        }
        self.read_page(tenant, after, limit, feed).await
    }

    async fn read_page(
        &self,
        tenant: &TenantId,
        after: FeedPosition,
        limit: u32,
        feed: Feed,
    ) -> StoreResult<FeedPage> {
        let (transaction, limit) = (after.transaction.to_string(), i64::from(limit));
        let (id, number) = (after.id(), i64::try_from(after.row).unwrap_or(i64::MAX));
        let (statement, row): (_, Value<'_>) = match feed {
            Feed::Changes => (CHANGES, &id),
            Feed::Samples | Feed::OldestSamples => (SAMPLES, &number),
        };
        let values: [Value<'_>; 4] = [&tenant.as_str(), &transaction, row, &limit];
        let calls: [Call<'_>; 2] = [(statement, &values), (REMOVED, &values[..1])];
        let calls = if feed == Feed::Changes { &calls[..1] } else { &calls[..] };
        let mut answers =
            self.connections.run_all(Scope::Tenant(tenant), Access::Read, calls).await?.into_iter();
        let rows = answers.next().unwrap_or_default();
        let mut page = FeedPage { rows: vec![], start: after, held_back: None };
        for row in answers.flatten() {
            let mut reader = Reader::new(&row);
            let removed =
                FeedPosition { transaction: reader.transaction()?, row: reader.count::<u64>()?.into() };
            if feed == Feed::Samples && after < removed {
                return Err(StoreError::Cursor);
            }
            page.start = after.max(removed);
        }
        for row in rows {
            let mut reader = Reader::new(&row);
            let oldest = reader.transaction()?;
            if after.transaction > reader.transaction()? {
                return Err(StoreError::Cursor);
            }
            if reader.is_null() {
                continue;
            }
            let transaction = reader.transaction()?;
            let row_id = match feed {
                Feed::Changes => reader.next::<uuid::Uuid>()?.as_u128(),
                Feed::Samples | Feed::OldestSamples => reader.count::<u64>()?.into(),
            };
            if transaction < oldest {
                page.rows.push((FeedPosition { transaction, row: row_id }, row));
            } else {
                page.held_back = Some(transaction);
            }
        }
        Ok(page)
    }

    /// Waits until this transaction and every older one have ended. Returns the oldest running transaction, or
    /// `None` after a timeout.
    pub(super) async fn wait_until_settled(&self, transaction: u64) -> StoreResult<Option<u64>> {
        let end = Instant::now() + SETTLE_TIMEOUT;
        let mut poll_interval = Duration::from_millis(1);
        loop {
            let rows = self.connections.run(Scope::Maintenance, Access::Read, OLDEST, &[]).await?;
            let oldest =
                Reader::new(rows.first().ok_or_else(|| corrupt("the oldest transaction"))?).transaction()?;
            if oldest > transaction {
                return Ok(Some(oldest));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            sleep(poll_interval).await;
            poll_interval = (poll_interval * 2).min(MAX_POLL_INTERVAL);
        }
    }
}

/// Number of columns before those of the job or the sample.
const FEED_COLUMNS: usize = 4;

impl FeedPage {
    fn next(&self) -> FeedPosition {
        self.rows.last().map_or(self.start, |(position, _)| *position)
    }
}

fn sample(row: &Row) -> StoreResult<Sample> {
    let mut reader = Reader::after(row, FEED_COLUMNS);
    Ok(Sample {
        job: JobId(reader.next()?),
        features: reader.value()?,
        label: reader.next()?,
        node_labels: reader.value()?,
    })
}
