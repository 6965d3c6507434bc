//! A table of labelled clips.

use std::path::Path;

use clap::ValueEnum;

use crate::learner::BaseModel;

/// What a label means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scale {
    /// A mean opinion score from 1 to 5
    Mos,
    /// A score from 0 to 100
    Score,
}

impl Scale {
    fn points(self, label: f64) -> f64 {
        match self {
            Self::Mos => (label - 1.0) * 25.0,
            Self::Score => label,
        }
    }

    /// How it reads in a heading.
    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Mos => "opinions from 1 to 5, as (MOS − 1) · 25",
            Self::Score => "scores from 0 to 100",
        }
    }
}

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file cannot be read, or is no table.
    #[error("it cannot be read as a table")]
    Csv(#[from] csv::Error),
    /// There is no such column.
    #[error("it has no column {wanted}; there are {}", columns.join(", "))]
    Column {
        /// What was looked for.
        wanted: String,
        /// What there is.
        columns: Vec<String>,
    },
    /// A value is no number.
    #[error("line {line} has {text:?} in column {column}, which is no number")]
    Number {
        /// Where.
        line: u64,
        /// The column.
        column: String,
        /// What is there.
        text: String,
    },
    /// There is nothing in it.
    #[error("it has no rows")]
    Empty,
}

/// The rows, and their header.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<String>,
    pub(super) scale: Scale,
    pub(super) rows: Vec<Row>,
}

/// A clip.
#[derive(Debug)]
pub(super) struct Row {
    /// In the model's order.
    pub(super) features: Vec<f64>,
    /// In points.
    pub(super) label: f64,
    fields: Vec<String>,
}

impl Table {
    pub(super) fn read(
        path: &Path,
        base: &BaseModel,
        label: Option<&str>,
        scale: Option<Scale>,
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
            Scale::Mos
        } else {
            Scale::Score
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
            rows.push(Row {
                features: features.iter().map(|&column| number(column)).collect::<Result<_, _>>()?,
                label: scale.points(number(label)?),
                fields: record.iter().map(str::to_owned).collect(),
            });
        }
        if rows.is_empty() { Err(TableError::Empty) } else { Ok(Self { columns, scale, rows }) }
    }

    /// The fields of one column.
    pub(super) fn column(&self, name: &str) -> Result<Vec<&str>, TableError> {
        let column = find(&self.columns, &[name])?;
        Ok(self.rows.iter().map(|row| row.fields[column].as_str()).collect())
    }
}

/// The first column that has one of these names.
fn find(columns: &[String], names: &[&str]) -> Result<usize, TableError> {
    let place = |name: &&str| columns.iter().position(|column| column.eq_ignore_ascii_case(name));
    names.iter().find_map(place).ok_or_else(|| {
        let mut wanted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        wanted.dedup();
        TableError::Column { wanted: wanted.join(" or "), columns: columns.to_owned() }
    })
}
