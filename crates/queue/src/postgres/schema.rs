//! The schema, and how it comes to be.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Transaction;

use super::dsn::Address;
use super::error::{ConnectError, late, unavailable};
use super::tls::Tls;
use crate::store::StoreError;

/// Every step from nothing to the schema of this program.
const STEPS: [&str; 4] = [
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
    include_str!("schema/0003.sql"),
    include_str!("schema/0004.sql"),
];

/// The version of this program's schema.
#[expect(clippy::cast_possible_wrap, reason = "a handful")]
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// A change of a large table takes its time, but not forever.
const DEADLINE: Duration = Duration::from_mins(30);

/// Taken by whoever changes the schema: "vmafx".
const LOCK: i64 = 0x0076_6d61_6678;

/// Brings the database to the schema of this program, and answers with its version. Many may call it at once: one does
/// the work, the others wait for it. A schema that is newer is left alone.
pub async fn migrate(dsn: &str) -> Result<i64, ConnectError> {
    timeout(DEADLINE, migrate_now(dsn)).await.unwrap_or_else(|_| Err(late().into()))
}

async fn migrate_now(dsn: &str) -> Result<i64, ConnectError> {
    let mut address = Address::parse(dsn)?;
    let tls = Tls::new(&address)?;
    address.set("-c lock_timeout=60000 -c statement_timeout=0");
    let (mut client, connection) = address.config.connect(tls).await.map_err(unavailable)?;
    let work = async {
        let role = client.query_one(ROLE, &[]).await.map_err(unavailable)?;
        if role.get(1) {
            return Err(ConnectError::Privileged { role: role.get(0) });
        }
        let transaction = client.transaction().await.map_err(unavailable)?;
        let version = bring_up(&transaction).await?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(version)
    };
    tokio::select! {
        done = work => done,
        ended = connection => Err(StoreError::Unavailable(match ended {
            Err(error) => Box::new(error),
            Ok(()) => "the server closed the connection".into(),
        }).into()),
    }
}

/// Who we are, and whether no policy holds for us.
const ROLE: &str =
    "SELECT rolname::text, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user";

async fn bring_up(transaction: &Transaction<'_>) -> Result<i64, StoreError> {
    let lock = "SELECT pg_advisory_xact_lock($1)";
    transaction.execute(lock, &[&LOCK]).await.map_err(unavailable)?;
    let found = version(transaction).await?;
    if found > VERSION {
        let remedy = "use a newer vmafx-controller, or restore a backup from before the upgrade";
        return Err(StoreError::Schema { found, needed: VERSION, remedy });
    }
    if found == 0 {
        transaction.batch_execute("CREATE SCHEMA IF NOT EXISTS vmafx").await.map_err(unavailable)?;
    }
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.batch_execute(step).await.map_err(unavailable)?;
    }
    if found < VERSION {
        let note = "INSERT INTO vmafx.meta (schema_version) VALUES ($1)
                    ON CONFLICT (one) DO UPDATE SET schema_version = excluded.schema_version";
        transaction.execute(note, &[&VERSION]).await.map_err(unavailable)?;
    }
    after_a_restore(transaction).await?;
    Ok(VERSION)
}

/// The version that is there; 0 is none.
async fn version(transaction: &Transaction<'_>) -> Result<i64, StoreError> {
    let there = "SELECT to_regclass('vmafx.meta') IS NOT NULL";
    let there: bool = transaction.query_one(there, &[]).await.map_err(unavailable)?.get(0);
    if !there {
        return Ok(0);
    }
    let rows = transaction.query("SELECT schema_version FROM vmafx.meta", &[]).await.map_err(unavailable)?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}

/// In a database that was restored into another cluster, changes carry numbers of transactions that are still to come:
/// nobody would see them for a long time. The last sweep's number shows it. They are numbered anew, and with the store's new name every old cursor ends.
async fn after_a_restore(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    transaction.batch_execute("SET LOCAL vmafx.maintenance = 'on'").await.map_err(unavailable)?;
    let ahead = "SELECT swept_xid > pg_current_xact_id() FROM vmafx.meta";
    let ahead: bool = transaction.query_one(ahead, &[]).await.map_err(unavailable)?.get(0);
    if ahead {
        tracing::warn!("the database was restored from another cluster: readers of changes begin again");
        let renumber = "UPDATE vmafx.jobs SET change_xid = pg_current_xact_id();
                        UPDATE vmafx.samples SET change_xid = pg_current_xact_id();
                        DELETE FROM vmafx.samples_removed;
                        UPDATE vmafx.meta SET store_id = gen_random_uuid(), swept_xid = pg_current_xact_id()";
        transaction.batch_execute(renumber).await.map_err(unavailable)?;
    }
    Ok(())
}
