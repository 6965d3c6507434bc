//! Floating-point numbers that are read back bit for bit.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};

/// Stored as the shortest text that parses to the same number. A REAL column would store `-0.0` as `0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ExactFloat(pub(super) f64);

impl ToSql for ExactFloat {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(format!("{:?}", self.0).into())
    }
}

impl FromSql for ExactFloat {
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
        let back: ExactFloat =
            connection.query_row("SELECT ?1", [ExactFloat(number)], |row| row.get(0)).unwrap();
        assert_eq!(back.0.to_bits(), number.to_bits());
    }
}
