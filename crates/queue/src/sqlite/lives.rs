//! The lives of the store, by which a cursor notices that the file is an older copy.
//!
//! Every opening of the file begins a life with a random id, and records the last numbers of the sequences. A cursor
//! names its life. When an older copy is put in place, the lives that were opened after the copy are missing from it,
//! and the life in which it was made ends at the numbers of the copy: a cursor beyond them has seen changes that no
//! longer happened. The sequences may pass the numbers of the cursor later; its life still ended before.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::cursor::CursorFeed;
use crate::{StoreError, StoreResult};

/// Readers with a cursor of a life that is older begin again.
const MAX_LIVES: i64 = 1000;

const BEGIN: &str = "INSERT INTO lives (id, job_seq, sample_seq) \
     SELECT lower(hex(randomblob(8))), job_seq, sample_seq FROM store RETURNING id";

const FORGET: &str = "DELETE FROM lives WHERE number <= (SELECT max(number) FROM lives) - ?1";

/// Begins a life and returns its id.
pub(super) fn begin(connection: &mut Connection) -> rusqlite::Result<String> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let id = transaction.query_row(BEGIN, [], |row| row.get(0))?;
    transaction.execute(FORGET, [MAX_LIVES])?;
    transaction.commit()?;
    Ok(id)
}

/// The last number of a life in a feed: where the next life began, or `newest` for the current one.
pub(super) fn end(connection: &Connection, life: &str, feed: CursorFeed, newest: i64) -> StoreResult<i64> {
    let column = match feed {
        CursorFeed::Changes => "job_seq",
        CursorFeed::Samples => "sample_seq",
    };
    let end: Option<Option<i64>> = connection
        .prepare_cached(&format!(
            "SELECT (SELECT n.{column} FROM lives n WHERE n.number > l.number ORDER BY n.number LIMIT 1) \
             FROM lives l WHERE l.id = ?1"
        ))?
        .query_row([life], |row| row.get(0))
        .optional()?;
    Ok(end.ok_or(StoreError::Cursor)?.unwrap_or(newest))
}

#[cfg(test)]
mod tests {
    use super::super::migrate::migrate;
    use super::*;

    fn store() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        connection
    }

    #[test]
    fn a_life_ends_where_the_next_one_begins() {
        let mut connection = store();
        let first = begin(&mut connection).unwrap();
        connection.execute("UPDATE store SET job_seq = 7, sample_seq = 3", []).unwrap();
        let second = begin(&mut connection).unwrap();
        let end = |life: &str, feed| end(&connection, life, feed, 9).ok();
        assert_eq!(end(&first, CursorFeed::Changes), Some(7));
        assert_eq!(end(&first, CursorFeed::Samples), Some(3));
        assert_eq!(end(&second, CursorFeed::Changes), Some(9));
        assert_eq!(end("0123456789abcdef", CursorFeed::Changes), None);
    }

    #[test]
    fn old_lives_are_forgotten() {
        let mut connection = store();
        let first = begin(&mut connection).unwrap();
        for _ in 0..MAX_LIVES {
            begin(&mut connection).unwrap();
        }
        assert!(end(&connection, &first, CursorFeed::Changes, 0).is_err());
        let count: i64 = connection.query_row("SELECT count(*) FROM lives", [], |row| row.get(0)).unwrap();
        assert_eq!(count, MAX_LIVES);
    }
}
