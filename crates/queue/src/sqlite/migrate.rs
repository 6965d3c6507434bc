//! Schema migrations. `user_version` counts those that were applied.

use rusqlite::{Connection, TransactionBehavior};

#[derive(Debug)]
pub(super) enum UnusableDatabase {
    /// A newer program wrote the file; its schema version.
    Newer(i64),
    /// The file contains tables of another program.
    Foreign,
    /// The file system does not support a write-ahead log.
    NoWriteAheadLog,
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for UnusableDatabase {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Migration `n` brings the schema from version `n` to version `n + 1`.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
    include_str!("migrations/0007.sql"),
    include_str!("migrations/0008.sql"),
    include_str!("migrations/0009.sql"),
    include_str!("migrations/0010.sql"),
    include_str!("migrations/0011.sql"),
];

/// The schema version of this program.
pub(super) const SCHEMA_VERSION: i64 = 11;

/// The `application_id` of our files ("VMFX"). It keeps another program's database from being taken for an empty
/// one.
const APPLICATION_ID: i64 = 0x564d_4658;

pub(super) const REMEDY: &str = "start the newer program that wrote it, or use another file";

/// Applies the missing migrations, each in its own transaction.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), UnusableDatabase> {
    let found = version(connection)?;
    if found > SCHEMA_VERSION {
        return Err(UnusableDatabase::Newer(found));
    }
    if found == 0 && !is_empty(connection)? {
        return Err(UnusableDatabase::Foreign);
    }
    for (applied, migration) in (0_i64..).zip(MIGRATIONS.iter().copied()) {
        if applied >= found {
            apply(connection, migration, applied + 1)?;
        }
    }
    Ok(())
}

pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether this program, in whatever version, made the file.
pub(super) fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(id == APPLICATION_ID)
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

fn apply(connection: &mut Connection, migration: &str, version: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(migration)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_version_counts_the_migrations() {
        assert_eq!(usize::try_from(SCHEMA_VERSION), Ok(MIGRATIONS.len()));
    }

    #[test]
    fn migrations_are_applied_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        let id = |connection: &Connection| -> String {
            connection.query_row("SELECT id FROM store", [], |row| row.get(0)).unwrap()
        };
        let first = id(&connection);
        migrate(&mut connection).unwrap();
        assert_eq!(id(&connection), first);
        assert_eq!(version(&connection).unwrap(), SCHEMA_VERSION);
    }

    #[test]
    fn another_programs_tables_are_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE jobs (id TEXT)").unwrap();
        assert!(matches!(migrate(&mut connection), Err(UnusableDatabase::Foreign)));
    }
}
