use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::table::{ClipTable, TableError};
use crate::learner::SplitMix64;

/// The order in which the rows are learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Simulates viewers and clips that do not change over time.
    Shuffled,
    /// As in the file.
    File,
    /// Group after group, in the order of their first appearance, shuffled within each group. Simulates viewers or
    /// clips that change over time.
    By(String),
}

impl FromStr for RowOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once([':', ' ', '=']) {
            Some(("by", column)) if !column.trim().is_empty() => Ok(Self::By(column.trim().to_owned())),
            None if text == "shuffled" => Ok(Self::Shuffled),
            None if text == "file" => Ok(Self::File),
            _ => Err("use \"shuffled\", \"file\" or \"by:COLUMN\"".to_owned()),
        }
    }
}

impl fmt::Display for RowOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shuffled => f.write_str("shuffled"),
            Self::File => f.write_str("file"),
            Self::By(column) => write!(f, "by {column}"),
        }
    }
}

impl RowOrder {
    /// The row indices of each run: one run for every seed, or a single one if the order is not random.
    pub(super) fn runs(&self, table: &ClipTable, seeds: u32) -> Result<Vec<Vec<usize>>, TableError> {
        let group = match self {
            Self::File => return Ok(vec![(0..table.rows.len()).collect()]),
            Self::Shuffled => vec![0; table.rows.len()],
            Self::By(column) => groups(&table.column(column)?),
        };
        let run = |seed: u32| {
            let mut rows: Vec<usize> = (0..group.len()).collect();
            SplitMix64::new(seed.into()).shuffle(&mut rows);
            rows.sort_by_key(|&row| group[row]);
            rows
        };
        Ok((0..seeds).map(run).collect())
    }
}

/// Numbers equal values alike, in the order of their first appearance.
fn groups(values: &[&str]) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    let mut number = |value| {
        let next = numbers.len();
        *numbers.entry(value).or_insert(next)
    };
    values.iter().map(|value| number(*value)).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("shuffled", Ok(RowOrder::Shuffled))]
    #[case("file", Ok(RowOrder::File))]
    #[case("by:test", Ok(RowOrder::By("test".to_owned())))]
    #[case("by src", Ok(RowOrder::By("src".to_owned())))]
    #[case("by:", Err(()))]
    #[case("by", Err(()))]
    #[case("reversed", Err(()))]
    fn an_order_is_parsed(#[case] text: &str, #[case] order: Result<RowOrder, ()>) {
        assert_eq!(text.parse::<RowOrder>().map_err(|_| ()), order);
    }

    #[test]
    fn groups_are_numbered_as_they_appear() {
        assert_eq!(groups(&["b", "a", "b", "c", "a"]), [0, 1, 0, 2, 1]);
    }
}
