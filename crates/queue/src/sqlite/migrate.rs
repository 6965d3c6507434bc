//! The schema, as a list of steps. `user_version` counts those that were taken.

use rusqlite::{Connection, TransactionBehavior};

/// Why a file cannot be used.
#[derive(Debug)]
pub(super) enum Unfit {
    /// A newer program wrote it: its version.
    Newer(i64),
    /// Another program's tables are in it.
    Foreign,
    /// It cannot have a write-ahead log.
    NoLog,
    /// It cannot be read or written.
    Broken(rusqlite::Error),
}

impl From<rusqlite::Error> for Unfit {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

/// Each brings the schema from its place in the list to the next.
const STEPS: &[&str] = &[include_str!("migrations/0001.sql"), include_str!("migrations/0002.sql")];

/// The schema of this program: the number of steps.
pub(super) const NEEDED: i64 = 2;

/// Marks the file as ours ("VMFX"), so that another program's database is not taken for an empty one.
const APPLICATION: i64 = 0x564d_4658;

/// What to do about a file that a newer program wrote.
pub(super) const REMEDY: &str = "start the newer program that wrote it, or use another file";

/// Takes the steps that are missing, each in a transaction of its own.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Unfit> {
    let found = version(connection)?;
    if found > NEEDED {
        return Err(Unfit::Newer(found));
    }
    if found == 0 && !is_empty(connection)? {
        return Err(Unfit::Foreign);
    }
    for (taken, step) in (0_i64..).zip(STEPS.iter().copied()) {
        if taken >= found {
            take(connection, step, taken + 1)?;
        }
    }
    Ok(())
}

pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

fn take(connection: &mut Connection, step: &str, version: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(step)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_of_this_program_is_the_last_step() {
        assert_eq!(usize::try_from(NEEDED), Ok(STEPS.len()));
    }

    #[test]
    fn steps_are_taken_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        let id = |connection: &Connection| -> String {
            connection.query_row("SELECT id FROM store", [], |row| row.get(0)).unwrap()
        };
        let first = id(&connection);
        migrate(&mut connection).unwrap();
        assert_eq!(id(&connection), first);
        assert_eq!(version(&connection).unwrap(), NEEDED);
    }

    #[test]
    fn another_programs_tables_are_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE jobs (id TEXT)").unwrap();
        assert!(matches!(migrate(&mut connection), Err(Unfit::Foreign)));
    }
}
