//! Numbers that come back to the last bit.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};

/// A number as the shortest text that is read as the same number. A column of numbers would store `-0.0` as `0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exact(pub(super) f64);

impl ToSql for Exact {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(format!("{:?}", self.0).into())
    }
}

impl FromSql for Exact {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map(Self).map_err(FromSqlError::other)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use rusqlite::Connection;

    use super::*;

    #[rstest]
    #[case(0.0)]
    #[case(-0.0)]
    #[case(0.1 + 0.2)]
    #[case(f64::MIN_POSITIVE / 8.0)]
    #[case(f64::MAX)]
    #[case(93.0)]
    fn every_bit_comes_back(#[case] number: f64) {
        let connection = Connection::open_in_memory().unwrap();
        let back: Exact = connection.query_row("SELECT ?1", [Exact(number)], |row| row.get(0)).unwrap();
        assert_eq!(back.0.to_bits(), number.to_bits());
    }
}
