//! Pairs of clips, from arguments or from a CSV file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A pair of clips, and what is special about it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    pub(super) reference: String,
    pub(super) distorted: String,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) priority: Option<i32>,
    #[serde(default)]
    pub(super) key: Option<String>,
    #[serde(default)]
    pub(super) label: Option<f64>,
}

/// Why there are no pairs.
#[derive(Debug, thiserror::Error)]
pub enum PairsError {
    /// No clips.
    #[error("no clips are given; usage: vmafx submit REF DIS [DIS...]")]
    Nothing,
    /// Relative paths cannot be made absolute.
    #[error("the current directory is gone")]
    Here(#[source] io::Error),
    /// The CSV file cannot be read.
    #[error("{} cannot be read", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// A line cannot be understood.
    #[error("{}: {problem}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// Nothing but the names of the columns.
    #[error("{}: there is no pair below the names of the columns", .0.display())]
    Empty(PathBuf),
    /// Two jobs with one name.
    #[error("--key names one job, and there are {jobs}: give the keys in a CSV file")]
    OneKey {
        /// How many.
        jobs: usize,
    },
}

/// The pairs of a CSV file, or of standard input for `-`.
pub(super) fn read(file: &Path) -> Result<Vec<Pair>, PairsError> {
    if file == Path::new("-") {
        return parse(file, io::stdin().lock());
    }
    let opened = File::open(file).map_err(|error| PairsError::Read(file.to_owned(), error))?;
    parse(file, opened)
}

fn parse(file: &Path, text: impl Read) -> Result<Vec<Pair>, PairsError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text);
    let mut pairs = Vec::new();
    for (index, line) in reader.deserialize::<Pair>().enumerate() {
        let problem = |problem| PairsError::Line { file: file.to_owned(), problem };
        let pair = line.map_err(|error| problem(said(&error)))?;
        let missing = [("reference", &pair.reference), ("distorted", &pair.distorted)];
        if let Some((column, _)) = missing.into_iter().find(|(_, value)| value.is_empty()) {
            return Err(problem(format!("pair {} has no {column}", index + 1)));
        }
        pairs.push(Pair {
            model: pair.model.filter(|model| !model.is_empty()),
            key: pair.key.filter(|key| !key.is_empty()),
            ..pair
        });
    }
    if pairs.is_empty() { Err(PairsError::Empty(file.to_owned())) } else { Ok(pairs) }
}

/// The line, the column if it is known, and what is wrong there.
fn said(error: &csv::Error) -> String {
    let line = |position: Option<&csv::Position>| {
        position.map_or_else(String::new, |position| format!("line {}: ", position.line()))
    };
    match error.kind() {
        csv::ErrorKind::Deserialize { pos, err } => format!("{}{}", line(pos.as_ref()), err.kind()),
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            format!("{}{len} values for {expected_len} columns", line(pos.as_ref()))
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn read(text: &str) -> Result<Vec<Pair>, String> {
        parse(Path::new("pairs.csv"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn columns_come_in_any_order_and_may_be_empty() {
        let pairs =
            read("distorted, reference, label, key, priority\nd1,r1,80.5,,\n# later\nd2,r2,,k,5\n").unwrap();
        assert_eq!(pairs.len(), 2);
        assert_eq!(
            (pairs[0].reference.as_str(), pairs[0].label, pairs[0].key.clone()),
            ("r1", Some(80.5), None)
        );
        assert_eq!((pairs[1].priority, pairs[1].key.as_deref()), (Some(5), Some("k")));
    }

    #[rstest]
    #[case::no_columns("a.mp4,b.mp4\nc,d\n", "pairs.csv: line 2: unknown field `a.mp4`")]
    #[case::no_number("reference,distorted,priority\na,b,high\n", "pairs.csv: line 2: ")]
    #[case::too_few("reference,distorted\na\n", "pairs.csv: line 2: 1 values for 2 columns")]
    #[case::empty_value("reference,distorted\na,b\nc,\n", "pairs.csv: pair 2 has no distorted")]
    #[case::nothing("reference,distorted\n", "pairs.csv: there is no pair")]
    fn a_bad_file_is_refused_with_the_line(#[case] text: &str, #[case] expected: &str) {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}
