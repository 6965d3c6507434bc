//! Cursors, which name the life of the store, the feed and the position. Callers treat them as opaque.

use rusqlite::Connection;

use super::lives;
use crate::store::Cursor;
use crate::{StoreError, StoreResult};

/// Part of the text, so that a cursor of one feed is not accepted by the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CursorFeed {
    Changes,
    Samples,
}

impl CursorFeed {
    const fn letter(self) -> char {
        match self {
            Self::Changes => 'c',
            Self::Samples => 's',
        }
    }
}

pub(super) fn write(life: &str, feed: CursorFeed, seq: i64) -> Cursor {
    format!("{life}.{}{seq}", feed.letter())
}

/// The position, unless the cursor belongs to another store or feed, or lies beyond the end of its life.
pub(super) fn read(connection: &Connection, text: &str, feed: CursorFeed, newest: i64) -> StoreResult<i64> {
    let (life, seq) = parse(text, feed).ok_or(StoreError::Cursor)?;
    if seq <= lives::end(connection, life, feed, newest)? { Ok(seq) } else { Err(StoreError::Cursor) }
}

fn parse(text: &str, feed: CursorFeed) -> Option<(&str, i64)> {
    let (life, rest) = text.split_once('.')?;
    let digits = rest.strip_prefix(feed.letter())?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((life, digits.parse().ok().filter(|_| plain)?))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::own("ab.c7", Some(7))]
    #[case::start("ab.c0", Some(0))]
    #[case::of_samples("ab.s7", None)]
    #[case::negative("ab.c-1", None)]
    #[case::signed("ab.c+1", None)]
    #[case::no_number("ab.c", None)]
    #[case::too_large("ab.c99999999999999999999", None)]
    #[case::garbage("garbage", None)]
    #[case::empty("", None)]
    fn only_positions_of_this_feed_are_read(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse(text, CursorFeed::Changes), expected.map(|seq| ("ab", seq)));
    }

    #[test]
    fn what_is_written_can_be_read() {
        let text = write("ab", CursorFeed::Samples, 3);
        assert_eq!(parse(&text, CursorFeed::Samples), Some(("ab", 3)));
    }
}
