//! A CSV table of labelled clips.

use std::path::Path;

use clap::ValueEnum;

use crate::learner::BaseModel;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableScale {
    /// A mean opinion score from 1 to 5
    Mos,
    /// A score from 0 to 100
    Score,
}

impl TableScale {
    fn points(self, label: f64) -> f64 {
        match self {
            Self::Mos => (label - 1.0) * 25.0,
            Self::Score => label,
        }
    }

    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Mos => "opinions from 1 to 5, as (MOS − 1) · 25",
            Self::Score => "scores from 0 to 100",
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    #[error("the file cannot be read as CSV")]
    Csv(#[from] csv::Error),
    #[error("the table has no column {expected}; its columns are {}", columns.join(", "))]
    Column { expected: String, columns: Vec<String> },
    #[error("line {line} has {text:?} in column {column}, which is not a number")]
    Number { line: u64, column: String, text: String },
    #[error("the table has no rows")]
    Empty,
}

#[derive(Debug)]
pub(super) struct ClipTable {
    columns: Vec<String>,
    pub(super) scale: TableScale,
    pub(super) rows: Vec<ClipRow>,
}

#[derive(Debug)]
pub(super) struct ClipRow {
    /// In the model's order.
    pub(super) features: Vec<f64>,
    /// From 0 to 100, whatever the scale of the table.
    pub(super) label: f64,
    fields: Vec<String>,
}

impl ClipTable {
    pub(super) fn read(
        path: &Path,
        base: &BaseModel,
        label: Option<&str>,
        scale: Option<TableScale>,
    ) -> Result<Self, TableError> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(path)?;
        let columns: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
        let names = base.features().iter().zip(base.stems());
        let features = names
            .map(|(name, stem)| find(&columns, &[name, stem, &format!("integer_{stem}")]))
            .collect::<Result<Vec<_>, _>>()?;
        let label = match label {
            Some(label) => find(&columns, &[label])?,
            None => find(&columns, &["label", "mos"])?,
        };
        let scale = scale.unwrap_or(if columns[label].eq_ignore_ascii_case("mos") {
            TableScale::Mos
        } else {
            TableScale::Score
        });
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record?;
            let line = record.position().map_or(0, csv::Position::line);
            let number = |column: usize| {
                let text = &record[column];
                text.parse::<f64>().map_err(|_| TableError::Number {
                    line,
                    column: columns[column].clone(),
                    text: text.to_owned(),
                })
            };
            rows.push(ClipRow {
                features: features.iter().map(|&column| number(column)).collect::<Result<_, _>>()?,
                label: scale.points(number(label)?),
                fields: record.iter().map(str::to_owned).collect(),
            });
        }
        if rows.is_empty() { Err(TableError::Empty) } else { Ok(Self { columns, scale, rows }) }
    }

    pub(super) fn column(&self, name: &str) -> Result<Vec<&str>, TableError> {
        let column = find(&self.columns, &[name])?;
        Ok(self.rows.iter().map(|row| row.fields[column].as_str()).collect())
    }
}

/// The index of the first column that has one of these names.
fn find(columns: &[String], names: &[&str]) -> Result<usize, TableError> {
    let index_of = |name: &&str| columns.iter().position(|column| column.eq_ignore_ascii_case(name));
    names.iter().find_map(index_of).ok_or_else(|| {
        let mut expected: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        expected.dedup();
        TableError::Column { expected: expected.join(" or "), columns: columns.to_owned() }
    })
}
