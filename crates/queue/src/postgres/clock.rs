//! The clock of the database, so that all controllers of a store use the same time.
//!
//! The offset between the database's clock and the local monotonic clock is measured when the store is opened and
//! at every sweep; in between, the local clock advances the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::error::corrupt;
use super::pool::{Access, Connections, Scope};
use crate::clock::{Clock, SteadyClock, Timestamp};
use crate::store::StoreResult;

pub(super) enum StoreClock {
    Custom(Arc<dyn Clock>),
    Database {
        local: SteadyClock,
        /// Milliseconds by which the database's clock is ahead of `local`.
        ahead: AtomicI64,
    },
}

impl StoreClock {
    pub(super) fn new(custom: Option<Arc<dyn Clock>>) -> Self {
        match custom {
            Some(clock) => Self::Custom(clock),
            None => Self::Database { local: SteadyClock::start(), ahead: AtomicI64::new(0) },
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        match self {
            Self::Custom(clock) => clock.now(),
            Self::Database { local, ahead } => {
                Timestamp(local.now().0.saturating_add(ahead.load(Ordering::Relaxed)))
            }
        }
    }

    /// Measures the offset to the database's clock. The error is at most half of the round trip.
    pub(super) async fn measure(&self, connections: &Connections) -> StoreResult<()> {
        let Self::Database { local, ahead } = self else { return Ok(()) };
        let before = local.now();
        let query = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        let rows = connections.run(Scope::Maintenance, Access::Read, query, &[]).await?;
        let theirs: i64 =
            rows.first().and_then(|row| row.try_get(0).ok()).ok_or_else(|| corrupt("the time"))?;
        let ours = i64::midpoint(before.0, local.now().0);
        ahead.store(theirs.saturating_sub(ours), Ordering::Relaxed);
        Ok(())
    }
}
