//! The pairs of clips to submit, from the command line or from a CSV file.
//!
//! `vmafx submit` and `kubectl vmafx submit` read the same files. Each names the columns that it accepts: a column that it
//! cannot use is an error, because ignoring it would score something else than the file says.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Lines that start with this byte are comments.
const COMMENT: u8 = b'#';

/// Two clips to compare. Every other column overrides the option of the same name; an empty cell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct ClipPair {
    /// The line of the CSV file; `None` for a pair from the command line.
    #[serde(skip)]
    pub(crate) line: Option<u64>,
    pub(crate) reference: String,
    pub(crate) distorted: String,
    /// Name of the VmafxJob.
    pub(crate) name: Option<String>,
    /// The user's own identifier of the pair: the idempotency key of a job, or what the name of a VmafxJob is derived from.
    pub(crate) key: Option<String>,
    pub(crate) model: Option<String>,
    /// Not a `Backend`, because the error of an enum does not have the column.
    pub(crate) backend: Option<String>,
    pub(crate) priority: Option<i32>,
    pub(crate) min_score: Option<f64>,
    pub(crate) label: Option<f64>,
    pub(crate) report: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum PairsError {
    #[error("cannot determine the current directory")]
    CurrentDirectory(#[source] io::Error),
    #[error("{} cannot be read", .0.display())]
    Read(PathBuf, #[source] io::Error),
    #[error("{}: {problem}", file.display())]
    Invalid {
        file: PathBuf,
        /// What is wrong, after the line and the column.
        problem: String,
    },
    #[error("{}: there is no pair below the column names", .0.display())]
    Empty(PathBuf),
    #[error("--key identifies one job, but there are {jobs}: put the keys into a CSV file")]
    KeyOfSeveralJobs { jobs: usize },
}

/// Pairs the first clip, the reference, with each of the others.
pub(crate) fn from_clips(clips: &[String]) -> Vec<ClipPair> {
    let Some((reference, distorted)) = clips.split_first() else { return Vec::new() };
    let pair = |distorted: &String| ClipPair {
        reference: reference.clone(),
        distorted: distorted.clone(),
        ..ClipPair::default()
    };
    distorted.iter().map(pair).collect()
}

/// Reads the pairs of a CSV file, or of standard input for `-`.
pub(crate) fn read(file: &Path, columns: &[&str]) -> Result<Vec<ClipPair>, PairsError> {
    let text = if file == Path::new("-") {
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text).map(|_| text)
    } else {
        fs::read(file)
    };
    parse(file, &text.map_err(|error| PairsError::Read(file.to_owned(), error))?, columns)
}

fn parse(file: &Path, text: &[u8], columns: &[&str]) -> Result<Vec<ClipPair>, PairsError> {
    let invalid = |problem| PairsError::Invalid { file: file.to_owned(), problem };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(COMMENT)).from_reader(text);
    let header = reader.headers().map_err(|error| invalid(describe(&error, text, None)))?;
    // The field of a VmafxJob is accepted as the column's name, too.
    let header: csv::StringRecord =
        header.iter().map(|name| if name == "minScore" { "min_score" } else { name }).collect();
    if let Some(unknown) = header.iter().find(|name| !columns.contains(name)) {
        let accepted = columns.join(", ");
        return Err(invalid(format!("unknown column {unknown:?} in the first line; use {accepted}")));
    }
    let mut pairs = Vec::new();
    for record in reader.into_records() {
        let record = record.map_err(|error| invalid(describe(&error, text, None)))?;
        let pair: ClipPair = record
            .deserialize(Some(&header))
            .map_err(|error| invalid(describe(&error, text, Some(&header))))?;
        let line = record.position().map_or(0, |position| line_of(text, position));
        for (column, clip) in [("reference", &pair.reference), ("distorted", &pair.distorted)] {
            if clip.is_empty() {
                return Err(invalid(format!("line {line}, column {column}: the value is missing")));
            }
        }
        pairs.push(ClipPair { line: Some(line), ..pair });
    }
    if pairs.is_empty() { Err(PairsError::Empty(file.to_owned())) } else { Ok(pairs) }
}

/// The message of an error, after the line and, if it is known, the column.
fn describe(error: &csv::Error, text: &[u8], header: Option<&csv::StringRecord>) -> String {
    let location = |position: Option<&csv::Position>, column: Option<&str>| {
        let line = position.map_or_else(String::new, |position| format!("line {}", line_of(text, position)));
        match column {
            Some(column) => format!("{line}, column {column}: "),
            None => format!("{line}: "),
        }
    };
    match error.kind() {
        csv::ErrorKind::Deserialize { pos, err } => {
            let index = err.field().and_then(|index| usize::try_from(index).ok());
            let column = index.and_then(|index| header?.get(index));
            format!("{}{}", location(pos.as_ref(), column), err.kind())
        }
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            format!("{}{len} values for {expected_len} columns", location(pos.as_ref(), None))
        }
        _ => error.to_string(),
    }
}

/// The line in which a record starts. The reader's position is before the comments and empty lines that it skips.
fn line_of(text: &[u8], position: &csv::Position) -> u64 {
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

    const COLUMNS: [&str; 5] = ["reference", "distorted", "label", "key", "priority"];

    fn parse(text: &str) -> Result<Vec<ClipPair>, String> {
        super::parse(Path::new("pairs.csv"), text.as_bytes(), &COLUMNS).map_err(|error| error.to_string())
    }

    #[test]
    fn every_pair_has_its_line() {
        let pairs = parse("reference,distorted\n# a comment\n\na,b\n\"c\nd\",e\n\r\nf,g\n").unwrap();
        assert_eq!(pairs.iter().map(|pair| pair.line).collect::<Vec<_>>(), [Some(4), Some(5), Some(8)]);
    }

    #[test]
    fn columns_come_in_any_order_and_may_be_empty() {
        let pairs =
            parse("distorted, reference, label, key, priority\nd1,r1,80.5,,\n# later\nd2,r2,,k,5\n").unwrap();
        assert_eq!(pairs.len(), 2);
        assert_eq!(
            (pairs[0].reference.as_str(), pairs[0].label, pairs[0].key.clone()),
            ("r1", Some(80.5), None)
        );
        assert_eq!((pairs[1].priority, pairs[1].key.as_deref()), (Some(5), Some("k")));
    }

    #[rstest]
    #[case::no_header("a.mp4,b.mp4\nc,d\n", "pairs.csv: unknown column \"a.mp4\" in the first line; use ref")]
    #[case::other_column("reference,distorted,model\na,b,c\n", "pairs.csv: unknown column \"model\"")]
    #[case::no_distorted("reference\na\n", "pairs.csv: line 2: missing field `distorted`")]
    #[case::no_number(
        "reference,distorted,priority\na,b,high\n",
        "pairs.csv: line 2, column priority: invalid digit"
    )]
    #[case::too_few("reference,distorted\na\n", "pairs.csv: line 2: 1 values for 2 columns")]
    #[case::empty_value(
        "reference,distorted\na,b\nc,\n",
        "pairs.csv: line 3, column distorted: the value is missing"
    )]
    #[case::no_pair("reference,distorted\n", "pairs.csv: there is no pair")]
    fn a_bad_file_is_refused_with_the_line(#[case] text: &str, #[case] expected: &str) {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}
