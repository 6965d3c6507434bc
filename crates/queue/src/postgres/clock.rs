//! The clock of the database, so that all controllers of a store use the same time.
//!
//! The offset between the database's clock and the local clocks is measured when the store is opened and at every
//! sweep; in between, the local clocks advance the time. The monotonic clock stops while the machine sleeps, and the
//! system clock can be set back, so the later of both counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::error::corrupt;
use super::pool::{Access, Connections, Scope};
use crate::clock::{Clock, SteadyClock, SystemClock, Timestamp};
use crate::store::StoreResult;

pub(super) enum StoreClock {
    Custom(Arc<dyn Clock>),
    Database { monotonic: LocalClock<SteadyClock>, wall: LocalClock<SystemClock> },
}

impl StoreClock {
    pub(super) fn new(custom: Option<Arc<dyn Clock>>) -> Self {
        match custom {
            Some(clock) => Self::Custom(clock),
            None => Self::Database {
                monotonic: LocalClock::new(SteadyClock::start()),
                wall: LocalClock::new(SystemClock::default()),
            },
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        match self {
            Self::Custom(clock) => clock.now(),
            Self::Database { monotonic, wall } => monotonic.now().max(wall.now()),
        }
    }

    /// Measures the offset to the database's clock. The error is at most half of the round trip.
    pub(super) async fn measure(&self, connections: &Connections) -> StoreResult<()> {
        let Self::Database { monotonic, wall } = self else { return Ok(()) };
        let before = (monotonic.local.now(), wall.local.now());
        let query = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        let rows = connections.run(Scope::Maintenance, Access::Read, query, &[]).await?;
        let theirs: i64 =
            rows.first().and_then(|row| row.try_get(0).ok()).ok_or_else(|| corrupt("the time"))?;
        monotonic.set(before.0, Timestamp(theirs));
        wall.set(before.1, Timestamp(theirs));
        Ok(())
    }
}

/// A clock of this machine, and how far the database's clock is ahead of it.
pub(super) struct LocalClock<C> {
    local: C,
    ahead_millis: AtomicI64,
}

impl<C: Clock> LocalClock<C> {
    fn new(local: C) -> Self {
        Self { local, ahead_millis: AtomicI64::new(0) }
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.local.now().0.saturating_add(self.ahead_millis.load(Ordering::Relaxed)))
    }

    /// The database showed `theirs` at some time between `before` and now.
    fn set(&self, before: Timestamp, theirs: Timestamp) {
        let ours = i64::midpoint(before.0, self.local.now().0);
        self.ahead_millis.store(theirs.0.saturating_sub(ours), Ordering::Relaxed);
    }
}
