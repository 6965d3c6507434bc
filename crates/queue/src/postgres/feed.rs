//! What readers follow: changes and samples.
//!
//! Transactions commit in another order than they begin, so "after this number" would skip whatever commits late. Each
//! change carries the number of its transaction, and a reader sees only what is below every transaction that still
//! runs: nothing can appear there any more. What is above is *held back*. A reader waits a moment for it, since the
//! notice that made it look does not come twice; if some transaction takes very long, the reader is told to look again
//! later.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::Row;

use super::Shared;
use super::cursor::{Of, Place};
use super::error::corrupt;
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, job_columns};
use crate::ids::{JobId, TenantId};
use crate::store::{Changes, Cursor, Sample, Samples, StoreError};

/// Every row begins with the oldest running transaction, the first that is still to come, and its own.
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

/// The newest sample that was removed. Nothing is left at or before it, and nothing will come there.
const REMOVED: &str = "SELECT change_xid::text, id FROM vmafx.samples_removed WHERE tenant_id = $1";

const OLDEST: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text";

/// The oldest running transaction, and the newest change that this tenant can see.
const POSITION: &str = "
SELECT pg_snapshot_xmin(pg_current_snapshot())::text, greatest(
    (SELECT j.change_xid FROM vmafx.jobs j WHERE j.tenant_id = $1 ORDER BY j.change_xid DESC, j.id DESC LIMIT 1),
    (SELECT s.change_xid FROM vmafx.samples s WHERE s.tenant_id = $1 ORDER BY s.change_xid DESC, s.id DESC LIMIT 1)
)::text";

/// How long a reader waits for what is held back.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// What is read. Whoever reads from the oldest sample that is kept has missed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feed {
    Changes,
    OldestSamples,
    Samples,
}

/// One look.
struct Page {
    rows: Vec<(Place, Row)>,
    /// Where to go on when there are none.
    start: Place,
    /// The newest transaction that was seen and is held back.
    held_back: Option<u64>,
}

impl Shared {
    pub(super) async fn position(&self, tenant: &TenantId) -> Result<Cursor, StoreError> {
        let values: [Value<'_>; 1] = [&tenant.as_str()];
        let rows = self.connections.run(Scope::Of(tenant), Access::Read, POSITION, &values).await?;
        let mut reader = Reader::new(rows.first().ok_or_else(|| corrupt("the position"))?);
        let oldest = reader.transaction()?;
        let newest = reader.next::<Option<&str>>()?.and_then(|text| text.parse().ok()).unwrap_or(0);
        // What can be seen already must not come again.
        let oldest = if newest < oldest { oldest } else { self.settled(newest).await?.unwrap_or(oldest) };
        Ok(Place::before(oldest).write(self.store_id, Of::Changes))
    }

    pub(super) async fn changes(
        &self,
        tenant: &TenantId,
        after: &str,
        limit: u32,
    ) -> Result<Changes, StoreError> {
        let after = Place::read(after, self.store_id, Of::Changes)?;
        let page = self.page(tenant, after, limit, Feed::Changes).await?;
        let cursor = |place: Place| place.write(self.store_id, Of::Changes);
        let next = cursor(page.next());
        let read = |(place, row): &(Place, Row)| Ok((cursor(*place), Reader::after(row, FIRST).job()?));
        Ok(Changes { jobs: page.rows.iter().map(read).collect::<Result<_, StoreError>>()?, next })
    }

    pub(super) async fn samples(
        &self,
        tenant: &TenantId,
        after: &str,
        limit: u32,
    ) -> Result<Samples, StoreError> {
        let (after, of) = if after.is_empty() {
            (Place::START, Feed::OldestSamples)
        } else {
            (Place::read(after, self.store_id, Of::Samples)?, Feed::Samples)
        };
        let page = self.page(tenant, after, limit, of).await?;
        let cursor = |place: Place| place.write(self.store_id, Of::Samples);
        let next = cursor(page.next());
        let read = |(place, row): &(Place, Row)| Ok((cursor(*place), sample(row)?));
        Ok(Samples { samples: page.rows.iter().map(read).collect::<Result<_, StoreError>>()?, next })
    }

    /// What there is after a place, once it has settled.
    async fn page(&self, tenant: &TenantId, after: Place, limit: u32, of: Feed) -> Result<Page, StoreError> {
        let page = self.look(tenant, after, limit, of).await?;
        let Some(newest) = page.held_back else { return Ok(page) };
        if self.settled(newest).await?.is_none() {
            tracing::warn!(transaction = newest, "a transaction that runs for long holds changes back");
            self.held_back.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(tenant.clone());
        }
        self.look(tenant, after, limit, of).await
    }

    async fn look(&self, tenant: &TenantId, after: Place, limit: u32, of: Feed) -> Result<Page, StoreError> {
        let (transaction, limit) = (after.transaction.to_string(), i64::from(limit));
        let (id, number) = (after.id(), i64::try_from(after.row).unwrap_or(i64::MAX));
        let (statement, row): (_, Value<'_>) = match of {
            Feed::Changes => (CHANGES, &id),
            Feed::Samples | Feed::OldestSamples => (SAMPLES, &number),
        };
        let values: [Value<'_>; 4] = [&tenant.as_str(), &transaction, row, &limit];
        let calls: [Call<'_>; 2] = [(statement, &values), (REMOVED, &values[..1])];
        let calls = if of == Feed::Changes { &calls[..1] } else { &calls[..] };
        let mut answers = self.connections.run_all(Scope::Of(tenant), Access::Read, calls).await?.into_iter();
        let rows = answers.next().unwrap_or_default();
        let mut page = Page { rows: vec![], start: after, held_back: None };
        for row in answers.flatten() {
            let mut reader = Reader::new(&row);
            let removed = Place { transaction: reader.transaction()?, row: reader.count::<u64>()?.into() };
            if of == Feed::Samples && after < removed {
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
            let row_id = match of {
                Feed::Changes => reader.next::<uuid::Uuid>()?.as_u128(),
                Feed::Samples | Feed::OldestSamples => reader.count::<u64>()?.into(),
            };
            if transaction < oldest {
                page.rows.push((Place { transaction, row: row_id }, row));
            } else {
                page.held_back = Some(transaction);
            }
        }
        Ok(page)
    }

    /// Waits until this transaction, and every older one, is over: answers with the oldest that runs then, or nothing
    /// when it takes too long.
    pub(super) async fn settled(&self, transaction: u64) -> Result<Option<u64>, StoreError> {
        let end = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(1);
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
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Columns before those of the job or the sample.
const FIRST: usize = 4;

impl Page {
    /// Where to go on.
    fn next(&self) -> Place {
        self.rows.last().map_or(self.start, |(place, _)| *place)
    }
}

fn sample(row: &Row) -> Result<Sample, StoreError> {
    let mut reader = Reader::after(row, FIRST);
    Ok(Sample {
        job: JobId(reader.next()?),
        features: reader.value()?,
        label: reader.next()?,
        node_labels: reader.value()?,
    })
}
