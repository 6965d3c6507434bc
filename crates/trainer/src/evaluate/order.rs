//! In which order a table is learned.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::table::{Table, TableError};
use crate::learner::Random;

/// In which order a table is learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// By chance: viewers and clips that do not change.
    Shuffled,
    /// As they stand.
    File,
    /// One group after the other, in the order in which they first appear, by chance within: viewers or clips that
    /// change.
    By(String),
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once([':', ' ', '=']) {
            Some(("by", column)) if !column.trim().is_empty() => Ok(Self::By(column.trim().to_owned())),
            None if text == "shuffled" => Ok(Self::Shuffled),
            None if text == "file" => Ok(Self::File),
            _ => Err("not \"shuffled\", \"file\" or \"by:COLUMN\"".to_owned()),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shuffled => f.write_str("shuffled"),
            Self::File => f.write_str("file"),
            Self::By(column) => write!(f, "by {column}"),
        }
    }
}

impl Order {
    /// The rows of each run: one for every seed, or a single one where there is no chance.
    pub(super) fn runs(&self, table: &Table, seeds: u32) -> Result<Vec<Vec<usize>>, TableError> {
        let group = match self {
            Self::File => return Ok(vec![(0..table.rows.len()).collect()]),
            Self::Shuffled => vec![0; table.rows.len()],
            Self::By(column) => groups(&table.column(column)?),
        };
        let run = |seed: u32| {
            let mut rows: Vec<usize> = (0..group.len()).collect();
            Random::new(seed.into()).shuffle(&mut rows);
            rows.sort_by_key(|&row| group[row]);
            rows
        };
        Ok((0..seeds).map(run).collect())
    }
}

/// The number of each value's first appearance.
fn groups(values: &[&str]) -> Vec<usize> {
    let mut seen = BTreeMap::new();
    let mut number = |value| {
        let next = seen.len();
        *seen.entry(value).or_insert(next)
    };
    values.iter().map(|value| number(*value)).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("shuffled", Ok(Order::Shuffled))]
    #[case("file", Ok(Order::File))]
    #[case("by:test", Ok(Order::By("test".to_owned())))]
    #[case("by src", Ok(Order::By("src".to_owned())))]
    #[case("by:", Err(()))]
    #[case("by", Err(()))]
    #[case("reversed", Err(()))]
    fn an_order_is_read(#[case] text: &str, #[case] order: Result<Order, ()>) {
        assert_eq!(text.parse::<Order>().map_err(|_| ()), order);
    }

    #[test]
    fn groups_are_numbered_as_they_appear() {
        assert_eq!(groups(&["b", "a", "b", "c", "a"]), [0, 1, 0, 2, 1]);
    }
}
