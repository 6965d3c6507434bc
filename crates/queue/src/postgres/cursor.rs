//! Cursors, which name the store, the feed and the position. Callers treat them as opaque.

use uuid::Uuid;

use crate::store::{Cursor, StoreError, StoreResult};

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

    pub(super) fn write(self, store: Uuid, feed: CursorFeed) -> Cursor {
        format!("{}.{}{:x}.{:x}", store.simple(), feed.letter(), self.transaction, self.row)
    }

    /// Fails for a cursor of another store or feed. The caller checks that the position is not ahead of the
    /// database.
    pub(super) fn read(text: &str, store: Uuid, feed: CursorFeed) -> StoreResult<Self> {
        let parse = || {
            let rest = text.strip_prefix(&store.simple().to_string())?.strip_prefix('.')?;
            let (transaction, row) = rest.strip_prefix(feed.letter())?.split_once('.')?;
            let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !plain(transaction) || !plain(row) {
                return None;
            }
            let transaction = u64::from_str_radix(transaction, 16).ok()?;
            Some(Self { transaction, row: u128::from_str_radix(row, 16).ok()? })
        };
        parse().ok_or(StoreError::Cursor)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const STORE: Uuid = Uuid::from_u128(0xab);
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
    #[case::other_store("000000000000000000000000000000ac.cff.10", None)]
    #[case::garbage("garbage", None)]
    #[case::empty("", None)]
    fn only_places_of_this_store_count(#[case] text: &str, #[case] expected: Option<FeedPosition>) {
        assert_eq!(
            FeedPosition::read(&text.replace("{}", PREFIX), STORE, CursorFeed::Changes).ok(),
            expected
        );
    }

    #[test]
    fn what_is_written_can_be_read() {
        let place = FeedPosition { transaction: u64::MAX, row: u128::MAX };
        assert_eq!(
            FeedPosition::read(&place.write(STORE, CursorFeed::Samples), STORE, CursorFeed::Samples).ok(),
            Some(place)
        );
    }
}
