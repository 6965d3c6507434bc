//! Cursors, which name the life of the store, the feed and the position. Callers treat them as opaque.

use uuid::Uuid;

use crate::store::{Cursor, StoreError, StoreResult};

/// Digits of a life.
const LIFE_LENGTH: usize = 32;

/// Part of the text, so that a cursor of one feed is not accepted by the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CursorFeed {
    Changes,
    Samples,
}

impl CursorFeed {
    const fn letter(self) -> &'static str {
        match self {
            Self::Changes => "c",
            Self::Samples => "s",
        }
    }
}

/// Follows the given row of the given transaction, because a page may end within a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FeedPosition {
    pub(super) transaction: u64,
    pub(super) row: u128,
}

impl FeedPosition {
    pub(super) const START: Self = Self { transaction: 0, row: 0 };

    /// Follows everything that earlier transactions wrote.
    pub(super) const fn before(transaction: u64) -> Self {
        Self { transaction, row: 0 }
    }

    pub(super) const fn id(self) -> Uuid {
        Uuid::from_u128(self.row)
    }

    pub(super) fn write(self, life: Uuid, feed: CursorFeed) -> Cursor {
        format!("{}.{}{:x}.{:x}", life.simple(), feed.letter(), self.transaction, self.row)
    }

    /// The life and the position; fails for a cursor of another feed. The caller checks the life, and that the
    /// position is not ahead of the database.
    pub(super) fn read(text: &str, feed: CursorFeed) -> StoreResult<(Uuid, Self)> {
        let parse = || {
            let (life, rest) = text.split_once('.')?;
            let (transaction, row) = rest.strip_prefix(feed.letter())?.split_once('.')?;
            let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if life.len() != LIFE_LENGTH || !plain(life) || !plain(transaction) || !plain(row) {
                return None;
            }
            let transaction = u64::from_str_radix(transaction, 16).ok()?;
            let position = Self { transaction, row: u128::from_str_radix(row, 16).ok()? };
            Some((Uuid::try_parse(life).ok()?, position))
        };
        parse().ok_or(StoreError::Cursor)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const LIFE: Uuid = Uuid::from_u128(0xab);
    const PREFIX: &str = "000000000000000000000000000000ab";

    #[rstest]
    #[case::own("{}.cff.10", Some(FeedPosition { transaction: 255, row: 16 }))]
    #[case::start("{}.c0.0", Some(FeedPosition::START))]
    #[case::of_samples("{}.sff.10", None)]
    #[case::signed("{}.c+f.10", None)]
    #[case::no_row("{}.cff", None)]
    #[case::empty_row("{}.cff.", None)]
    #[case::too_large("{}.cfffffffffffffffff.0", None)]
    #[case::more("{}.cff.10.1", None)]
    #[case::short_life("ab.cff.10", None)]
    #[case::no_life(".cff.10", None)]
    #[case::garbage("garbage", None)]
    #[case::empty("", None)]
    fn only_positions_of_this_feed_are_read(#[case] text: &str, #[case] expected: Option<FeedPosition>) {
        assert_eq!(
            FeedPosition::read(&text.replace("{}", PREFIX), CursorFeed::Changes).ok(),
            expected.map(|position| (LIFE, position))
        );
    }

    #[test]
    fn what_is_written_can_be_read() {
        let place = FeedPosition { transaction: u64::MAX, row: u128::MAX };
        assert_eq!(
            FeedPosition::read(&place.write(LIFE, CursorFeed::Samples), CursorFeed::Samples).ok(),
            Some((LIFE, place))
        );
    }
}
