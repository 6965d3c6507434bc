//! Cursors: whose they are, of what, and how far. Opaque to everybody else.

use crate::StoreError;
use crate::store::Cursor;

/// What is read with it. Part of the text, so that one cannot be taken for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Changes,
    Samples,
}

impl Of {
    const fn letter(self) -> char {
        match self {
            Self::Changes => 'c',
            Self::Samples => 's',
        }
    }
}

/// The text of a place in a store.
pub(super) fn write(store: &str, of: Of, seq: i64) -> Cursor {
    format!("{store}.{}{seq}", of.letter())
}

/// The place, if it is one of this store and not beyond its newest.
pub(super) fn read(text: &str, store: &str, of: Of, newest: i64) -> Result<i64, StoreError> {
    text.strip_prefix(store)
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| rest.strip_prefix(of.letter()))
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
        assert_eq!(read(text, "ab", Of::Changes, 9).ok(), expected);
    }

    #[test]
    fn what_is_written_can_be_read() {
        assert_eq!(read(&write("ab", Of::Samples, 3), "ab", Of::Samples, 3).ok(), Some(3));
    }
}
