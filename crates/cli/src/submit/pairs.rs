//! Pairs of clips, from arguments or from a CSV file.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Lines that begin with this are for people.
const COMMENT: u8 = b'#';

/// A line of a CSV file of pairs. Which columns there may be is the business of whoever reads it.
pub(crate) trait Row: DeserializeOwned {
    /// The columns that must not be empty, with their values.
    fn clips(&self) -> [(&'static str, &str); 2];
}

/// A line that was understood, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line<T> {
    pub(crate) number: u64,
    pub(crate) row: T,
}

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

impl Row for Pair {
    fn clips(&self) -> [(&'static str, &str); 2] {
        [("reference", &self.reference), ("distorted", &self.distorted)]
    }
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
pub(crate) fn read<T: Row>(file: &Path) -> Result<Vec<Line<T>>, PairsError> {
    let text = if file == Path::new("-") {
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text).map(|_| text)
    } else {
        fs::read(file)
    };
    parse(file, &text.map_err(|error| PairsError::Read(file.to_owned(), error))?)
}

fn parse<T: Row>(file: &Path, text: &[u8]) -> Result<Vec<Line<T>>, PairsError> {
    let problem = |problem| PairsError::Line { file: file.to_owned(), problem };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(COMMENT)).from_reader(text);
    let columns = reader.headers().map_err(|error| problem(said(&error, text, None)))?.clone();
    let mut lines = Vec::new();
    for record in reader.into_records() {
        let record = record.map_err(|error| problem(said(&error, text, None)))?;
        let row: T = record
            .deserialize(Some(&columns))
            .map_err(|error| problem(said(&error, text, Some(&columns))))?;
        let number = record.position().map_or(0, |position| line(text, position));
        if let Some((column, _)) = row.clips().into_iter().find(|(_, value)| value.is_empty()) {
            return Err(problem(format!("line {number}, column {column}: there is nothing in it")));
        }
        lines.push(Line { number, row });
    }
    if lines.is_empty() { Err(PairsError::Empty(file.to_owned())) } else { Ok(lines) }
}

/// The line, the column if it is known, and what is wrong there.
fn said(error: &csv::Error, text: &[u8], columns: Option<&csv::StringRecord>) -> String {
    let place = |position: Option<&csv::Position>, column: Option<&str>| {
        let line = position.map_or_else(String::new, |position| format!("line {}", line(text, position)));
        match column {
            Some(column) => format!("{line}, column {column}: "),
            None => format!("{line}: "),
        }
    };
    match error.kind() {
        csv::ErrorKind::Deserialize { pos, err } => {
            let index = err.field().and_then(|index| usize::try_from(index).ok());
            let column = index.and_then(|index| columns?.get(index));
            format!("{}{}", place(pos.as_ref(), column), err.kind())
        }
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            format!("{}{len} values for {expected_len} columns", place(pos.as_ref(), None))
        }
        _ => error.to_string(),
    }
}

/// The line in which a record begins. Its position is where the reader looked for it: before comments and empty lines.
fn line(text: &[u8], position: &csv::Position) -> u64 {
    let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let rest = text.get(start..).unwrap_or_default();
    let skipped = rest.split(|byte| *byte == b'\n').take_while(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.is_empty() || line.first() == Some(&COMMENT)
    });
    position.line() + skipped.count() as u64
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn read(text: &str) -> Result<Vec<Pair>, String> {
        let lines = parse(Path::new("pairs.csv"), text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(lines.into_iter().map(|line| line.row).collect())
    }

    #[test]
    fn every_pair_knows_its_line() {
        let text = "reference,distorted\n# a comment\n\na,b\n\"c\nd\",e\n\r\nf,g\n";
        let lines: Vec<Line<Pair>> = parse(Path::new("pairs.csv"), text.as_bytes()).unwrap();
        assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [4, 5, 8]);
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
    #[case::no_number(
        "reference,distorted,priority\na,b,high\n",
        "pairs.csv: line 2, column priority: invalid digit"
    )]
    #[case::too_few("reference,distorted\na\n", "pairs.csv: line 2: 1 values for 2 columns")]
    #[case::empty_value(
        "reference,distorted\na,b\nc,\n",
        "pairs.csv: line 3, column distorted: there is nothing in it"
    )]
    #[case::nothing("reference,distorted\n", "pairs.csv: there is no pair")]
    fn a_bad_file_is_refused_with_the_line(#[case] text: &str, #[case] expected: &str) {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}
