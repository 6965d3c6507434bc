//! The database's time, carried on by a clock that nobody sets.
//!
//! Controllers of one store must agree about the time, whatever their machines think. The distance to the database's
//! clock is measured when the store opens and at every sweep; in between, time passes steadily.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::error::corrupt;
use super::pool::{Access, Connections, Scope};
use crate::clock::{Clock, SteadyClock, Timestamp};
use crate::store::StoreError;

/// Where the store's time comes from.
pub(super) enum StoreClock {
    /// Given, for tests.
    Given(Arc<dyn Clock>),
    /// The database's.
    Database {
        /// Ours.
        local: SteadyClock,
        /// Milliseconds that the database is ahead of it.
        ahead: AtomicI64,
    },
}

impl StoreClock {
    pub(super) fn new(given: Option<Arc<dyn Clock>>) -> Self {
        match given {
            Some(clock) => Self::Given(clock),
            None => Self::Database { local: SteadyClock::start(), ahead: AtomicI64::new(0) },
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        match self {
            Self::Given(clock) => clock.now(),
            Self::Database { local, ahead } => {
                Timestamp(local.now().0.saturating_add(ahead.load(Ordering::Relaxed)))
            }
        }
    }

    /// Measures the distance to the database's clock. Half the time of the answer is its uncertainty.
    pub(super) async fn measure(&self, connections: &Connections) -> Result<(), StoreError> {
        let Self::Database { local, ahead } = self else { return Ok(()) };
        let before = local.now();
        let asked = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        let rows = connections.run(Scope::Maintenance, Access::Read, asked, &[]).await?;
        let theirs: i64 =
            rows.first().and_then(|row| row.try_get(0).ok()).ok_or_else(|| corrupt("the time"))?;
        let ours = i64::midpoint(before.0, local.now().0);
        ahead.store(theirs.saturating_sub(ours), Ordering::Relaxed);
        Ok(())
    }
}
