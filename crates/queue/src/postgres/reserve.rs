//! Space that is held in reserve on the server's volume.
//!
//! A full volume fails every change of a row, because Postgres writes a new version of it. A table holds space that nobody
//! reads. When an operation that ends or continues something finds no room, it drops the table, which gives the space back
//! to the file system at once, and runs again. While there is no reserve, whatever makes the store grow is refused. The
//! table is made again when there is room.
//!
//! | operation                                                         | no room, reserve held      | reserve released |
//! |-------------------------------------------------------------------|----------------------------|------------------|
//! | submission, label, claim                                          | refused                    | refused          |
//! | report, release, cancellation, change, heartbeat, session, sweep  | drop the reserve, run again| run              |
//!
//! The table is unlogged: filling it costs no write-ahead log, and a crash of the server empties it, which is noticed by its
//! size. All controllers share the table, and look every few seconds whether it is there.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::time::{Instant, interval, timeout};

use super::Shared;
use super::error::{corrupt, full, timed_out, unavailable};
use super::pool::{Access, Scope};
use super::row::Reader;
use crate::store::{StoreError, StoreResult};

/// Time between two looks at the reserve.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// A table of the largest permitted size takes minutes to fill.
const HOLD_TIMEOUT: Duration = Duration::from_mins(10);
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);
/// Operations that found no room before it was given back run again too.
const RECENTLY: Duration = Duration::from_secs(5);

/// Bytes of a row of the table: one page of the server.
const ROW_BYTES: u64 = 8192;

const SIZE: &str = "SELECT coalesce(pg_relation_size(to_regclass('vmafx.reserve')), 0)";
const DROP: &str = "DROP TABLE IF EXISTS vmafx.reserve";
/// Of several controllers one makes the table.
const LOCK: &str = "SELECT pg_try_advisory_xact_lock(hashtext('vmafx.reserve'))";
const CREATE: &str = "
SET LOCAL statement_timeout = 0;
SET LOCAL client_min_messages = warning;
DROP TABLE IF EXISTS vmafx.reserve;
CREATE UNLOGGED TABLE vmafx.reserve (filling text NOT NULL);
ALTER TABLE vmafx.reserve ALTER filling SET STORAGE PLAIN";
/// Random digits, so that a file system that compresses holds the space too. A row fills a page.
const FILL: &str = "
INSERT INTO vmafx.reserve
SELECT (SELECT left(string_agg((random() * digits)::text, pages::text), 7680) FROM generate_series(1, 700) AS digits)
FROM generate_series(1, $1::bigint) AS pages";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum ReserveState {
    /// Nothing is held, because nothing is configured or the role may not create a table.
    None,
    Held,
    Released,
}

#[derive(Debug)]
pub(super) struct Reserve {
    bytes: u64,
    state: AtomicU8,
    /// When room was given back last. Locked while the reserve is made or dropped.
    freed_at: tokio::sync::Mutex<Option<Instant>>,
}

impl Reserve {
    pub(super) fn new(bytes: u64) -> Self {
        Self {
            bytes,
            state: AtomicU8::new(ReserveState::None as u8),
            freed_at: tokio::sync::Mutex::default(),
        }
    }

    /// Refuses what makes the store grow while the reserve is released.
    pub(super) fn check(&self) -> StoreResult<()> {
        if self.is_released() { Err(full()) } else { Ok(()) }
    }

    pub(super) fn is_released(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ReserveState::Released as u8
    }

    fn is_held(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ReserveState::Held as u8
    }

    fn set(&self, state: ReserveState) {
        let before = self.state.swap(state as u8, Ordering::Relaxed);
        match state {
            ReserveState::Released if before != state as u8 => {
                tracing::error!("the database has no room: new jobs are refused");
            }
            ReserveState::Held if before == ReserveState::Released as u8 => {
                tracing::info!("the database has room again");
            }
            _ => {}
        }
    }
}

impl Shared {
    /// Runs an operation that ends or continues something; it may use the reserve.
    pub(super) async fn essential<T, F>(&self, work: impl Fn() -> F + Send) -> StoreResult<T>
    where
        F: Future<Output = StoreResult<T>> + Send,
    {
        match work().await {
            Err(StoreError::Full { .. }) if self.release_reserve().await => work().await,
            done => done,
        }
    }

    /// Returns whether there is more room than a moment ago.
    async fn release_reserve(&self) -> bool {
        if self.reserve.bytes == 0 {
            return false;
        }
        // A failed attempt to make the reserve takes the room that is left for a moment, and gives it back.
        let locked = timeout(RELEASE_TIMEOUT, self.reserve.freed_at.lock()).await;
        let Ok(mut freed_at) = locked else { return false };
        if !self.reserve.is_held() {
            return freed_at.is_some_and(|at| at.elapsed() < RECENTLY);
        }
        let dropped = match timeout(RELEASE_TIMEOUT, self.drop_reserve()).await {
            Ok(dropped) => dropped,
            Err(_) => Err(timed_out()),
        };
        if let Err(error) = &dropped {
            tracing::error!(
                error = error as &dyn std::error::Error,
                "cannot release the reserve of the store"
            );
            return false;
        }
        tracing::warn!(bytes = self.reserve.bytes, "released the reserve of the store");
        self.reserve.set(ReserveState::Released);
        *freed_at = Some(Instant::now());
        true
    }

    async fn drop_reserve(&self) -> StoreResult<()> {
        let client = self.connections.take().await?;
        client.batch_execute(DROP).await.map_err(unavailable)
    }

    /// Makes the reserve, or finds that it is there.
    pub(super) async fn hold_reserve(&self) {
        if self.reserve.bytes == 0 {
            return;
        }
        let mut freed_at = self.reserve.freed_at.lock().await;
        let held = match timeout(HOLD_TIMEOUT, self.try_hold()).await {
            Ok(held) => held,
            Err(_) => Err(timed_out()),
        };
        match held {
            Ok(state) => self.reserve.set(state),
            Err(StoreError::Full { .. }) => {
                self.reserve.set(ReserveState::Released);
                *freed_at = Some(Instant::now());
            }
            // The database is away, or the role may not create tables; new jobs are tried.
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot hold the reserve of the store"
                );
            }
        }
    }

    async fn try_hold(&self) -> StoreResult<ReserveState> {
        let rows = self.connections.run(Scope::Maintenance, Access::Read, SIZE, &[]).await?;
        let size: i64 =
            Reader::new(rows.first().ok_or_else(|| corrupt("the size of the reserve"))?).next()?;
        let pages = self.reserve.bytes.div_ceil(ROW_BYTES);
        if u64::try_from(size).unwrap_or(0) >= pages * ROW_BYTES {
            return Ok(ReserveState::Held);
        }
        let mut client = self.connections.take().await?;
        let made = fill(&mut client, pages).await;
        if made.is_err() {
            // A statement of the table may still run.
            drop(Object::take(client));
        }
        Ok(if made? { ReserveState::Held } else { ReserveState::None })
    }

    /// Looks after the reserve until the store is closed.
    pub(super) async fn keep_reserve(&self) {
        let mut checks = interval(CHECK_INTERVAL);
        checks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            checks.tick().await;
            self.hold_reserve().await;
        }
    }
}

/// Returns whether this controller made the table; if not, another one is at it.
async fn fill(client: &mut Object, pages: u64) -> StoreResult<bool> {
    let transaction = client.transaction().await.map_err(unavailable)?;
    let locked: bool = transaction.query_one(LOCK, &[]).await.map_err(unavailable)?.get(0);
    if !locked {
        return Ok(false);
    }
    transaction.batch_execute(CREATE).await.map_err(unavailable)?;
    let rows = i64::try_from(pages).unwrap_or(i64::MAX);
    transaction.execute(FILL, &[&rows]).await.map_err(unavailable)?;
    transaction.commit().await.map_err(unavailable)?;
    Ok(true)
}
