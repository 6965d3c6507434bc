//! Schema migrations.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Transaction;

use super::dsn::Address;
use super::error::{ConnectError, timed_out, unavailable};
use super::tls::Tls;
use crate::store::{StoreError, StoreResult};

/// Migration `n` brings the schema from version `n` to version `n + 1`.
const MIGRATIONS: [&str; 15] = [
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
    include_str!("schema/0003.sql"),
    include_str!("schema/0004.sql"),
    include_str!("schema/0005.sql"),
    include_str!("schema/0006.sql"),
    include_str!("schema/0007.sql"),
    include_str!("schema/0008.sql"),
    include_str!("schema/0009.sql"),
    include_str!("schema/0010.sql"),
    include_str!("schema/0011.sql"),
    include_str!("schema/0012.sql"),
    include_str!("schema/0013.sql"),
    include_str!("schema/0014.sql"),
    include_str!("schema/0015.sql"),
];

/// The schema version of this program.
#[expect(clippy::cast_possible_wrap, reason = "a handful")]
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Long enough to rewrite a large table.
const MIGRATION_TIMEOUT: Duration = Duration::from_mins(30);

/// Key of the advisory lock that serializes migrations ("vmafx").
const MIGRATION_LOCK: i64 = 0x0076_6d61_6678;

/// Migrates the database to the schema of this program and returns its version. Concurrent calls are safe: one
/// migrates, and the others wait for it. A newer schema is left unchanged.
pub async fn migrate(dsn: &str) -> Result<i64, ConnectError> {
    timeout(MIGRATION_TIMEOUT, migrate_now(dsn)).await.unwrap_or_else(|_| Err(timed_out().into()))
}

async fn migrate_now(dsn: &str) -> Result<i64, ConnectError> {
    let mut address = Address::parse(dsn)?;
    let tls = Tls::new(&address)?;
    address.set("-c lock_timeout=60000 -c statement_timeout=0 -c idle_in_transaction_session_timeout=60000");
    let (mut client, connection) = address.config.connect(tls).await.map_err(unavailable)?;
    let work = async {
        let role = client.query_one(CURRENT_ROLE, &[]).await.map_err(unavailable)?;
        if role.get(1) {
            return Err(ConnectError::Privileged { role: role.get(0) });
        }
        let transaction = client.transaction().await.map_err(unavailable)?;
        let version = apply_migrations(&transaction).await?;
        transaction.commit().await.map_err(unavailable)?;
        let owner = client.query_one(OWNER, &[]).await.map_err(unavailable)?;
        if !owner.get::<_, bool>(1) {
            return Err(ConnectError::NotOwner { role: role.get(0), owner: owner.get(0) });
        }
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

/// The current role, and whether it bypasses row-level security.
const CURRENT_ROLE: &str =
    "SELECT rolname::text, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user";

/// The role that owns the tables, and whether the current one may act as it.
const OWNER: &str = "SELECT pg_get_userbyid(c.relowner)::text, pg_has_role(c.relowner, 'MEMBER')
FROM pg_class c WHERE c.oid = 'vmafx.jobs'::regclass";

async fn apply_migrations(transaction: &Transaction<'_>) -> StoreResult<i64> {
    let lock = "SELECT pg_advisory_xact_lock($1)";
    transaction.execute(lock, &[&MIGRATION_LOCK]).await.map_err(unavailable)?;
    // Without this setting, row-level security hides every row from the migrations.
    transaction.batch_execute("SET LOCAL vmafx.maintenance = 'on'").await.map_err(unavailable)?;
    let found = version(transaction).await?;
    if found > VERSION {
        let remedy = "use a newer vmafx-controller, or restore a backup from before the upgrade";
        return Err(StoreError::Schema { found, needed: VERSION, remedy });
    }
    if found == 0 {
        transaction.batch_execute("CREATE SCHEMA IF NOT EXISTS vmafx").await.map_err(unavailable)?;
    }
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.batch_execute(migration).await.map_err(unavailable)?;
    }
    if found < VERSION {
        let record = "INSERT INTO vmafx.meta (schema_version) VALUES ($1)
                    ON CONFLICT (one) DO UPDATE SET schema_version = excluded.schema_version";
        transaction.execute(record, &[&VERSION]).await.map_err(unavailable)?;
    }
    renumber_after_restore(transaction).await?;
    Ok(VERSION)
}

/// The schema version of the database; 0 when there is no schema.
async fn version(transaction: &Transaction<'_>) -> StoreResult<i64> {
    let exists = "SELECT to_regclass('vmafx.meta') IS NOT NULL";
    let exists: bool = transaction.query_one(exists, &[]).await.map_err(unavailable)?.get(0);
    if !exists {
        return Ok(0);
    }
    let rows = transaction.query("SELECT schema_version FROM vmafx.meta", &[]).await.map_err(unavailable)?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}

/// After a restore into another cluster, changes carry ids of transactions that have not happened there yet, and
/// readers would not see them for a long time. The transaction id of the last sweep reveals this. All changes then
/// get the current transaction id, and no life remains that an old cursor could name.
async fn renumber_after_restore(transaction: &Transaction<'_>) -> StoreResult<()> {
    let ahead = "SELECT swept_xid > pg_current_xact_id() FROM vmafx.meta";
    let ahead: bool = transaction.query_one(ahead, &[]).await.map_err(unavailable)?.get(0);
    if ahead {
        tracing::warn!("the database was restored from another cluster; all cursors are invalid");
        let renumber = "UPDATE vmafx.jobs SET change_xid = pg_current_xact_id();
                        UPDATE vmafx.samples SET change_xid = pg_current_xact_id();
                        DELETE FROM vmafx.samples_removed;
                        DELETE FROM vmafx.lives;
                        UPDATE vmafx.meta SET store_id = gen_random_uuid(), swept_xid = pg_current_xact_id()";
        transaction.batch_execute(renumber).await.map_err(unavailable)?;
    }
    Ok(())
}
