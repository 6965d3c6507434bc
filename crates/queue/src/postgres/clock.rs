//! The clock of the database, so that all controllers of a store use the same time.
//!
//! The offset between the database's clock and the local clocks is measured when the store is opened and at every
//! sweep; in between, the local clocks advance the time. The monotonic clock stops while the machine sleeps, and the
//! system clock can be set back, so the later of both counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::clock_step::MAX_ROUND_TRIP;
use super::error::corrupt;
use super::pool::{Access, Connections, Scope};
use crate::clock::{Clock, ClockReading, SteadyClock, SystemClock, Timestamp};
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

    /// The database's time, as far as it is known, and the uptime of this machine.
    pub(super) fn reading(&self) -> ClockReading {
        match self {
            Self::Custom(clock) => clock.reading(),
            Self::Database { wall, .. } => ClockReading { wall: self.now(), uptime: wall.local.uptime() },
        }
    }

    /// Measures the offset to the database's clock. The error is at most half of the round trip. Returns the reading if it
    /// is exact enough to notice that the clock was set.
    pub(super) async fn measure(&self, connections: &Connections) -> StoreResult<Option<ClockReading>> {
        let Self::Database { monotonic, wall } = self else { return Ok(Some(self.reading())) };
        let before = (monotonic.local.now(), wall.local.now());
        let sent = wall.local.uptime();
        let query = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        let rows = connections.run(Scope::Maintenance, Access::Read, query, &[]).await?;
        let theirs: i64 =
            rows.first().and_then(|row| row.try_get(0).ok()).ok_or_else(|| corrupt("the time"))?;
        monotonic.set(before.0, Timestamp(theirs));
        wall.set(before.1, Timestamp(theirs));
        let round_trip = wall.local.uptime().saturating_sub(sent);
        let uptime = sent + round_trip / 2;
        Ok((round_trip < MAX_ROUND_TRIP).then_some(ClockReading { wall: Timestamp(theirs), uptime }))
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
