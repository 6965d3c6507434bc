//! The feeds of changes and samples.
//!
//! Transactions commit in another order than they start, so a cursor over start order would skip rows that commit
//! late. Each change carries the id of its transaction, and a reader sees only rows below the horizon
//! ([`super::horizon`]), where no further row can appear. Rows above it are *held back*. A reader waits a moment for
//! them, because the notification that triggered the read is not repeated; if a transaction of ours runs for long, the
//! reader is notified again later. The server ends a transaction of ours whose controller was stopped after
//! `idle_in_transaction_session_timeout`.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Shared;
use super::cursor::{CursorFeed, FeedPosition};
use super::error::corrupt;
use super::horizon::{HORIZON, Horizon};
use super::lives::{LIFE, Lives};
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, job_columns};
use crate::ids::{JobId, TenantId};
use crate::job::Labeller;
use crate::store::{Changes, Cursor, Sample, Samples, StoreError, StoreResult};

/// Every row starts with the transaction and the id of the change, and the newest removed sample.
macro_rules! feed {
    ($columns:expr, $table:literal, $row:literal, $removed:literal) => {
        concat!(
            "
SELECT j.change_xid::text, j.id, removed.change_xid::text, removed.id, ",
            $columns,
            "
FROM (SELECT 1) one
LEFT JOIN (",
            $removed,
            ") removed ON true
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
const CHANGES: &str = feed!(
    job_columns!(),
    "vmafx.jobs",
    "$3::uuid",
    "SELECT NULL::xid8 AS change_xid, NULL::bigint AS id WHERE false"
);
/// No sample at or before the newest removed one is left, and none can appear there.
const SAMPLES: &str = feed!(
    "j.job_id, j.features, j.label, j.labelled_by, j.node_labels",
    "vmafx.samples",
    "$3::bigint",
    "SELECT r.change_xid, r.id FROM vmafx.samples_removed r WHERE r.tenant_id = $1"
);

/// The newest change that is visible to this tenant.
const NEWEST: &str = "
SELECT greatest(
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
    /// The current life, which new cursors name.
    life: Uuid,
    rows: Vec<(FeedPosition, Row)>,
    /// Where to continue when the page is empty.
    start: FeedPosition,
    /// The newest transaction whose rows are held back.
    held_back: Option<u64>,
}

impl Shared {
    pub(super) async fn position(&self, tenant: &TenantId) -> StoreResult<Cursor> {
        let (tenant_id, no_life) = (tenant.as_str(), Uuid::nil());
        let (life, newest): ([Value<'_>; 1], [Value<'_>; 1]) = ([&no_life], [&tenant_id]);
        let calls: [Call<'_>; 3] = [(HORIZON, &[]), (LIFE, &life), (NEWEST, &newest)];
        let answers = self.connections.run_all(Scope::Tenant(tenant), Access::ReadLatest, &calls).await?;
        let [horizon, lives, newest] = &answers[..] else { return Err(corrupt("the position")) };
        let (horizon, lives) = (Horizon::read(horizon)?.transaction, Lives::read(lives)?);
        let mut reader = Reader::new(newest.first().ok_or_else(|| corrupt("the position"))?);
        let newest = reader.next::<Option<&str>>()?.and_then(|text| text.parse().ok()).unwrap_or(0);
        // Rows that are already visible must not be returned again.
        let horizon = if newest < horizon {
            horizon
        } else {
            self.wait_until_settled(newest).await?.unwrap_or(horizon)
        };
        Ok(FeedPosition::before(horizon).write(lives.current, CursorFeed::Changes))
    }

    pub(super) async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Changes> {
        let after = FeedPosition::read(after, CursorFeed::Changes)?;
        let page = self.page(tenant, after, limit, Feed::Changes).await?;
        let cursor = |position: FeedPosition| position.write(page.life, CursorFeed::Changes);
        let next = cursor(page.next());
        let read = |(position, row): &(FeedPosition, Row)| {
            Ok((cursor(*position), Reader::after(row, FEED_COLUMNS).job()?))
        };
        Ok(Changes { jobs: page.rows.iter().map(read).collect::<StoreResult<_>>()?, next })
    }

    pub(super) async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Samples> {
        let (after, feed) = if after.is_empty() {
            ((Uuid::nil(), FeedPosition::START), Feed::OldestSamples)
        } else {
            (FeedPosition::read(after, CursorFeed::Samples)?, Feed::Samples)
        };
        let page = self.page(tenant, after, limit, feed).await?;
        let cursor = |position: FeedPosition| position.write(page.life, CursorFeed::Samples);
        let next = cursor(page.next());
        let read = |(position, row): &(FeedPosition, Row)| Ok((cursor(*position), sample(row)?));
        Ok(Samples { samples: page.rows.iter().map(read).collect::<StoreResult<_>>()?, next })
    }

    /// Reads the page after a position, once its transactions have settled.
    async fn page(
        &self,
        tenant: &TenantId,
        after: (Uuid, FeedPosition),
        limit: u32,
        feed: Feed,
    ) -> StoreResult<FeedPage> {
        let page = self.read_page(tenant, after, limit, feed).await?;
        let Some(newest) = page.held_back else { return Ok(page) };
        if self.wait_until_settled(newest).await?.is_none() {
            self.held_back.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(tenant.clone());
        }
        self.read_page(tenant, after, limit, feed).await
    }

    async fn read_page(
        &self,
        tenant: &TenantId,
        (life, after): (Uuid, FeedPosition),
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
        let life: [Value<'_>; 1] = [&life];
        let calls: [Call<'_>; 3] = [(HORIZON, &[]), (LIFE, &life), (statement, &values)];
        let answers = self.connections.run_all(Scope::Tenant(tenant), Access::ReadLatest, &calls).await?;
        let Ok([horizon, lives, rows]) = <[_; 3]>::try_from(answers) else { return Err(corrupt("a page")) };
        let (horizon, lives) = (Horizon::read(&horizon)?, Lives::read(&lives)?);
        if feed != Feed::OldestSamples {
            lives.check(after)?;
        }
        if after.transaction > horizon.next {
            return Err(StoreError::Cursor);
        }
        let mut page = FeedPage { life: lives.current, rows: vec![], start: after, held_back: None };
        for row in rows {
            if let Some(removed) = removed(&row)? {
                if feed == Feed::Samples && after < removed {
                    return Err(StoreError::Cursor);
                }
                page.start = after.max(removed);
            }
            let mut reader = Reader::new(&row);
            if reader.is_null() {
                continue;
            }
            let transaction = reader.transaction()?;
            let row_id = match feed {
                Feed::Changes => reader.next::<Uuid>()?.as_u128(),
                Feed::Samples | Feed::OldestSamples => reader.count::<u64>()?.into(),
            };
            if transaction < horizon.transaction {
                page.rows.push((FeedPosition { transaction, row: row_id }, row));
            } else {
                page.held_back = Some(transaction);
            }
        }
        Ok(page)
    }

    /// Waits until this transaction and every older one of ours have ended. Returns the horizon, or `None` after a
    /// timeout.
    pub(super) async fn wait_until_settled(&self, transaction: u64) -> StoreResult<Option<u64>> {
        let end = Instant::now() + SETTLE_TIMEOUT;
        let mut poll_interval = Duration::from_millis(1);
        loop {
            let horizon = self.horizon().await?;
            if horizon.transaction > transaction {
                return Ok(Some(horizon.transaction));
            }
            if Instant::now() >= end {
                tracing::warn!(
                    transaction = horizon.transaction,
                    server_process = horizon.holder,
                    "a transaction of the controllers' role in this database is still open and delays the feeds"
                );
                return Ok(None);
            }
            sleep(poll_interval).await;
            poll_interval = (poll_interval * 2).min(MAX_POLL_INTERVAL);
        }
    }
}

/// The newest removed sample.
fn removed(row: &Row) -> StoreResult<Option<FeedPosition>> {
    let mut reader = Reader::after(row, 2);
    if reader.is_null() {
        return Ok(None);
    }
    Ok(Some(FeedPosition { transaction: reader.transaction()?, row: reader.count::<u64>()?.into() }))
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
        labelled_by: Labeller::new(reader.next::<String>()?),
        node_labels: reader.value()?,
    })
}
