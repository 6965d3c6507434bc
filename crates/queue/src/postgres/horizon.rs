//! The horizon of the feeds: every transaction below it that can write jobs or samples has ended.
//!
//! A row carries the id of its transaction, and ids become visible out of order. A reader that stays below the
//! horizon skips nothing, because no further row can appear there. Only sessions that can write our tables count:
//! those in this database whose role owns the tables or is a member of the owner. A transaction of another database
//! or of another role may stay open for hours and delays nothing.
//!
//! The order of the two readings makes the result safe:
//!
//! 1. The snapshot of the statement names the next transaction id. Every smaller id has been assigned.
//! 2. The list of sessions is read after it. A writer with a smaller id is either in the list, or has ended, and then
//!    every later snapshot sees its rows.
//! 3. The rows are read by a later statement, with a later snapshot.
//!
//! So the rows must be read in a transaction whose statements have a snapshot each: [`Access::ReadLatest`].

use tokio_postgres::Row;

use super::Shared;
use super::error::corrupt;
use super::pool::{Access, Scope};
use super::row::Reader;
use crate::store::StoreResult;

/// The next transaction id, and the ids and processes of the running transactions that can write our tables.
/// Superusers are left out: no controller runs as one, and they count as a member of every role.
pub(super) const HORIZON: &str = "
SELECT pg_snapshot_xmax(pg_current_snapshot())::text, coalesce(array_agg(w.xid), '{}'), coalesce(array_agg(w.pid), '{}')
FROM (
    SELECT s.backend_xid::text::bigint AS xid, s.pid
    FROM pg_stat_get_activity(NULL) s
    WHERE s.backend_xid IS NOT NULL
        AND s.datid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = s.usesysid AND r.rolsuper)
        AND pg_has_role(s.usesysid, (SELECT c.relowner FROM pg_class c WHERE c.oid = 'vmafx.jobs'::regclass), 'MEMBER')
) w";

/// Everything below `transaction` has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Horizon {
    pub(super) transaction: u64,
    /// The process of the server that runs the transaction at the horizon, if one does.
    pub(super) holder: Option<i32>,
    /// No transaction has this id or a larger one yet.
    pub(super) next: u64,
}

impl Horizon {
    pub(super) fn read(rows: &[Row]) -> StoreResult<Self> {
        let mut reader = Reader::new(rows.first().ok_or_else(|| corrupt("the horizon"))?);
        let next = reader.transaction()?;
        let (running, processes): (Vec<i64>, Vec<i32>) = (reader.next()?, reader.next()?);
        Ok(Self::of(next, running.into_iter().zip(processes)))
    }

    fn of(next: u64, running: impl IntoIterator<Item = (i64, i32)>) -> Self {
        let oldest = running.into_iter().map(|(xid, process)| (widen(next, xid), process)).min();
        match oldest {
            Some((transaction, process)) if transaction < next => {
                Self { transaction, holder: Some(process), next }
            }
            _ => Self { transaction: next, holder: None, next },
        }
    }
}

/// The whole id of a running transaction of which the server tells the lower 32 bits: the one nearest to `next`.
fn widen(next: u64, xid: i64) -> u64 {
    const CYCLE: i64 = 1 << 32;
    let lower = i64::from(u32::try_from(next % (1 << 32)).unwrap_or(0));
    let mut ahead = xid - lower;
    if ahead > CYCLE / 2 {
        ahead -= CYCLE;
    } else if ahead < -CYCLE / 2 {
        ahead += CYCLE;
    }
    next.saturating_add_signed(ahead)
}

impl Shared {
    pub(super) async fn horizon(&self) -> StoreResult<Horizon> {
        Horizon::read(&self.connections.run(Scope::Maintenance, Access::Read, HORIZON, &[]).await?)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const WRAPPED: u64 = 7 << 32;

    #[rstest]
    #[case::nobody_writes(100, &[], 100, None)]
    #[case::the_oldest_holds(100, &[90, 80, 95], 80, Some(80))]
    #[case::began_after_the_snapshot(100, &[100, 104], 100, None)]
    #[case::after_a_wrap(WRAPPED + 5, &[3], WRAPPED + 3, Some(3))]
    #[case::before_a_wrap(WRAPPED + 5, &[0xffff_fff0], WRAPPED - 16, Some(-16))]
    #[case::next_has_wrapped_later(WRAPPED - 2, &[1], WRAPPED - 2, None)]
    fn the_horizon_is_the_oldest_writer(
        #[case] next: u64,
        #[case] running: &[u32],
        #[case] transaction: u64,
        #[case] holder: Option<i32>,
    ) {
        let running = running.iter().map(|xid| (i64::from(*xid), xid.cast_signed()));
        assert_eq!(Horizon::of(next, running), Horizon { transaction, holder, next });
    }
}
