//! Cursors: whose they are, of what, and how far. Opaque to everybody else.

use uuid::Uuid;

use crate::store::{Cursor, StoreError};

/// What is read with it. Part of the text, so that one cannot be taken for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Changes,
    Samples,
}

impl Of {
    const fn letter(self) -> &'static str {
        match self {
            Self::Changes => "c",
            Self::Samples => "s",
        }
    }
}

/// A place: within a transaction, after this row of it. A page may end in the middle of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) transaction: u64,
    pub(super) row: u128,
}

impl Place {
    pub(super) const START: Self = Self { transaction: 0, row: 0 };

    /// After everything that the transactions before this one wrote.
    pub(super) const fn before(transaction: u64) -> Self {
        Self { transaction, row: 0 }
    }

    /// The row as the id of a job.
    pub(super) const fn id(self) -> Uuid {
        Uuid::from_u128(self.row)
    }

    pub(super) fn write(self, store: Uuid, of: Of) -> Cursor {
        format!("{}.{}{:x}.{:x}", store.simple(), of.letter(), self.transaction, self.row)
    }

    /// The place, if it is one of this store. Whether the store has come so far is for the reader to see.
    pub(super) fn read(text: &str, store: Uuid, of: Of) -> Result<Self, StoreError> {
        let parse = || {
            let rest = text.strip_prefix(&store.simple().to_string())?.strip_prefix('.')?;
            let (transaction, row) = rest.strip_prefix(of.letter())?.split_once('.')?;
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
    #[case::own("{}.cff.10", Some(Place { transaction: 255, row: 16 }))]
    #[case::start("{}.c0.0", Some(Place::START))]
    #[case::of_samples("{}.sff.10", None)]
    #[case::signed("{}.c+f.10", None)]
    #[case::no_row("{}.cff", None)]
    #[case::empty_row("{}.cff.", None)]
    #[case::too_large("{}.cfffffffffffffffff.0", None)]
    #[case::more("{}.cff.10.1", None)]
    #[case::other_store("000000000000000000000000000000ac.cff.10", None)]
    #[case::garbage("garbage", None)]
    #[case::empty("", None)]
    fn only_places_of_this_store_count(#[case] text: &str, #[case] expected: Option<Place>) {
        assert_eq!(Place::read(&text.replace("{}", PREFIX), STORE, Of::Changes).ok(), expected);
    }

    #[test]
    fn what_is_written_can_be_read() {
        let place = Place { transaction: u64::MAX, row: u128::MAX };
        assert_eq!(Place::read(&place.write(STORE, Of::Samples), STORE, Of::Samples).ok(), Some(place));
    }
}
