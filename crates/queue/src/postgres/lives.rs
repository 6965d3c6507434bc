//! The lives of the store, by which a cursor notices a restore.
//!
//! A life is one history of the data: from one start of the server to the next, on one timeline, in one copy of the
//! tables. A cursor names its life. Whatever goes back in time begins a new life, because the server starts again or
//! is promoted: a point-in-time recovery, a failover to a replica that lagged, a copied data directory, a dump that
//! was loaded again.
//!
//! A cursor of an earlier life is good up to the point that both histories certainly share: the horizon that the last
//! sweep in the restored data recorded. Beyond it the reader may have seen what no longer happened, and begins again.
//! A life that is not in the table belongs to a future that was lost.
//!
//! Every connection registers the life of its server before its first statement, so no statement of ours runs in a
//! life without a row.

use deadpool_postgres::{ClientWrapper, Hook, HookError};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use super::cursor::FeedPosition;
use super::error::corrupt;
use super::row::Reader;
use crate::store::{StoreError, StoreResult};

/// Identifies the life: cluster, timeline, database, table, start of the server.
const HOME: &str = "
SELECT pg_is_in_recovery(), CASE WHEN NOT pg_is_in_recovery() THEN concat_ws('/',
    (SELECT c.system_identifier FROM pg_control_system() c), left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()), 'vmafx.meta'::regclass::oid,
    extract(epoch FROM pg_postmaster_start_time())) END";

/// For servers that deny the functions of [`HOME`], as some managed ones do.
const HOME_WITHOUT_TIMELINE: &str = "
SELECT pg_is_in_recovery(), concat_ws('/', (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()),
    'vmafx.meta'::regclass::oid, extract(epoch FROM pg_postmaster_start_time()))";

const NEWEST: &str = "SELECT home FROM vmafx.lives ORDER BY number DESC LIMIT 1";

/// Serializes registrations ("vmafx" and "life").
const LOCK: &str = "SELECT pg_advisory_xact_lock(x'766d6166'::int, x'6c696665'::int)";

const REGISTER: &str = "
INSERT INTO vmafx.lives (home, settled_xid)
SELECT $1, m.settled_xid FROM vmafx.meta m
WHERE $1 IS DISTINCT FROM (SELECT l.home FROM vmafx.lives l ORDER BY l.number DESC LIMIT 1)";

/// Readers with a cursor of a life that is older begin again.
const FORGET: &str = "DELETE FROM vmafx.lives WHERE number <= (SELECT max(number) FROM vmafx.lives) - 1000";

/// From Postgres 17 on, a transaction whose client was stopped between two messages ends by itself.
const LIMIT_TRANSACTIONS: &str = "
SELECT set_config('transaction_timeout', '60000', false)
WHERE current_setting('server_version_num')::int >= 170000";

/// The current life, and for the life of a cursor whether it is the current one and where it ended.
pub(super) const LIFE: &str = "
SELECT current.id, known.number = current.number, (
    SELECT n.settled_xid::text FROM vmafx.lives n WHERE n.number > known.number ORDER BY n.number LIMIT 1)
FROM (SELECT l.id, l.number FROM vmafx.lives l ORDER BY l.number DESC LIMIT 1) current
LEFT JOIN vmafx.lives known ON known.id = $1";

/// Runs for every new connection.
pub(super) fn hook() -> Hook {
    Hook::async_fn(|client, _| {
        Box::pin(async move {
            match register(client).await.map_err(HookError::Backend)? {
                ServerRole::Primary => Ok(()),
                ServerRole::Standby => {
                    Err(HookError::message("the server is a standby; connect to the primary"))
                }
            }
        })
    })
}

/// A standby serves old data, and goes on in another life when it is promoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerRole {
    Primary,
    Standby,
}

async fn register(client: &mut ClientWrapper) -> Result<ServerRole, tokio_postgres::Error> {
    client.batch_execute(LIMIT_TRANSACTIONS).await?;
    let home = match client.query_one(HOME, &[]).await {
        Err(error) if is_denied(&error) => client.query_one(HOME_WITHOUT_TIMELINE, &[]).await?,
        other => other?,
    };
    if home.try_get(0)? {
        return Ok(ServerRole::Standby);
    }
    let home: String = home.try_get(1)?;
    let newest = client.query_opt(NEWEST, &[]).await?;
    if newest.map(|row| row.try_get::<_, String>(0)).transpose()?.as_ref() == Some(&home) {
        return Ok(ServerRole::Primary);
    }
    let transaction = client.transaction().await?;
    transaction.query(LOCK, &[]).await?;
    if transaction.execute(REGISTER, &[&home]).await? > 0 {
        tracing::info!("the database was started, promoted or restored: its store begins a new life");
    }
    transaction.execute(FORGET, &[]).await?;
    transaction.commit().await?;
    Ok(ServerRole::Primary)
}

fn is_denied(error: &tokio_postgres::Error) -> bool {
    matches!(
        error.code(),
        Some(
            &SqlState::INSUFFICIENT_PRIVILEGE
                | &SqlState::FEATURE_NOT_SUPPORTED
                | &SqlState::UNDEFINED_FUNCTION
        )
    )
}

/// The life of a cursor, as the store knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CursorLife {
    Current,
    /// Positions below this transaction are the same in the later lives.
    Past {
        settled: u64,
    },
    Unknown,
}

/// The lives that a reader needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lives {
    pub(super) current: Uuid,
    of_cursor: CursorLife,
}

impl Lives {
    /// Reads the row of [`LIFE`].
    pub(super) fn read(rows: &[Row]) -> StoreResult<Self> {
        let mut reader = Reader::new(rows.first().ok_or_else(|| corrupt("the life of the store"))?);
        let current = reader.next()?;
        let is_current: Option<bool> = reader.next()?;
        let settled = reader.next::<Option<&str>>()?.and_then(|text| text.parse().ok());
        let of_cursor = match (is_current, settled) {
            (Some(true), _) => CursorLife::Current,
            (Some(false), Some(settled)) => CursorLife::Past { settled },
            _ => CursorLife::Unknown,
        };
        Ok(Self { current, of_cursor })
    }

    /// Whether a reader can continue from this position of the cursor's life.
    pub(super) fn check(&self, position: FeedPosition) -> StoreResult<()> {
        match self.of_cursor {
            CursorLife::Current => Ok(()),
            CursorLife::Past { settled } if position.transaction < settled => Ok(()),
            CursorLife::Past { .. } | CursorLife::Unknown => Err(StoreError::Cursor),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::current(CursorLife::Current, 900, true)]
    #[case::shared_past(CursorLife::Past { settled: 800 }, 799, true)]
    #[case::perhaps_undone(CursorLife::Past { settled: 800 }, 800, false)]
    #[case::lost_future(CursorLife::Past { settled: 800 }, 900, false)]
    #[case::unknown(CursorLife::Unknown, 1, false)]
    fn a_cursor_is_good_in_the_past_that_its_life_shares(
        #[case] of_cursor: CursorLife,
        #[case] transaction: u64,
        #[case] good: bool,
    ) {
        let lives = Lives { current: Uuid::nil(), of_cursor };
        assert_eq!(lives.check(FeedPosition { transaction, row: 0 }).is_ok(), good);
    }
}
