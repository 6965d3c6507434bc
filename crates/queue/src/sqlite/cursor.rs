//! Cursors, which name the store, the feed and the position. Callers treat them as opaque.

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

pub(super) fn write(store: &str, feed: CursorFeed, seq: i64) -> Cursor {
    format!("{store}.{}{seq}", feed.letter())
}

/// The position, unless the cursor belongs to another store or feed or lies beyond `newest`.
pub(super) fn read(text: &str, store: &str, feed: CursorFeed, newest: i64) -> StoreResult<i64> {
    text.strip_prefix(store)
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| rest.strip_prefix(feed.letter()))
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|digits| digits.parse().ok())
        .filter(|seq| *seq <= newest)
        .ok_or(StoreError::Cursor)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::own("ab.c7", Some(7))]
    #[case::start("ab.c0", Some(0))]
    #[case::newest("ab.c9", Some(9))]
    #[case::beyond("ab.c10", None)]
    #[case::other_store("cd.c7", None)]
    #[case::of_samples("ab.s7", None)]
    #[case::negative("ab.c-1", None)]
    #[case::signed("ab.c+1", None)]
    #[case::no_number("ab.c", None)]
    #[case::too_large("ab.c99999999999999999999", None)]
    #[case::garbage("garbage", None)]
    #[case::empty("", None)]
    fn only_places_of_this_store_count(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(read(text, "ab", CursorFeed::Changes, 9).ok(), expected);
    }

    #[test]
    fn what_is_written_can_be_read() {
        assert_eq!(read(&write("ab", CursorFeed::Samples, 3), "ab", CursorFeed::Samples, 3).ok(), Some(3));
    }
}
