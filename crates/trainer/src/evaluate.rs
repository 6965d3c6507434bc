//! `vmafx-trainer evaluate`: what the learner would have made of a table of labelled clips.
//!
//! Every row is predicted first and learned from then, once (prequential), so no figure has seen its label. Nothing is
//! held out: in such a pass every row is a test.

mod order;
mod report;
mod table;
mod trial;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::ValueEnum;
use vmafx_scoring::engine::models::{Model, ModelChoice};

use self::order::Order;
use self::table::{Scale, Table, TableError};
use crate::learner::{BaseModel, LearnerError, ModelError, Options};

/// How the figures are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    Table,
    /// JSON, with the figures of every seed
    Json,
}

/// What the learner would have made of a table of labelled clips
#[derive(clap::Args, Clone, Debug)]
pub struct EvaluateArgs {
    /// The table: one clip in a row, with a header; a column for each feature of the model (`adm2`, or `integer_adm2`) and
    /// one for the label
    #[arg(long, value_name = "FILE")]
    pub csv: PathBuf,
    /// The base model: a built-in one, or a file with libvmaf's JSON
    #[arg(long, default_value = "vmaf_v0.6.1")]
    pub model: String,
    /// The column with the label [default: "label", or else "mos"]
    #[arg(long, value_name = "COLUMN")]
    pub label_column: Option<String>,
    /// The scale of the labels [default: mos if the column is called so, else score]
    #[arg(long)]
    pub scale: Option<Scale>,
    /// The order of the rows: "shuffled", "file", or "by:COLUMN" (one group after the other, shuffled within); may be
    /// given several times [default: shuffled and file]
    #[arg(long, value_name = "ORDER")]
    pub order: Vec<Order>,
    /// How often an order with chance in it is tried
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// How much of the average stays at each step, or "off" [default: both 0.9 and off]
    #[arg(long, value_name = "SHARE")]
    pub ema: Option<Ema>,
    /// How the figures are written
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub output: Format,
}

/// How much of the average stays at each step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ema(f64);

impl FromStr for Ema {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" {
            return Ok(Self(0.0));
        }
        let share = text.parse::<f64>().ok().filter(|share| (0.0..1.0).contains(share));
        share.map(Self).ok_or_else(|| "neither \"off\" nor a number from 0 to below 1".to_owned())
    }
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// The table is not one.
    #[error("cannot evaluate on {}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: TableError,
    },
    /// The model cannot be read.
    #[error("cannot read the model {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no such model.
    #[error(transparent)]
    Unknown(#[from] vmafx_scoring::engine::models::ModelError),
    /// The model is no base.
    #[error(transparent)]
    Base(#[from] ModelError),
    /// The model cannot be learned from.
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

/// Prints the figures.
pub fn run(args: &EvaluateArgs) -> ExitCode {
    match figures(args) {
        Ok(text) => {
            // Whoever pipes this into `head` closes the pipe early, and that is no failure.
            let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprint!("{}", told(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(format!("error: {error}\n"), |text, cause| text + &format!("  because: {cause}\n"))
}

/// The figures as they are printed.
pub fn figures(args: &EvaluateArgs) -> Result<String, EvaluateError> {
    let base = base(&args.model)?;
    let table = Table::read(&args.csv, &base, args.label_column.as_deref(), args.scale)
        .map_err(|source| EvaluateError::Table { path: args.csv.clone(), source })?;
    let orders = if args.order.is_empty() { vec![Order::Shuffled, Order::File] } else { args.order.clone() };
    let averages = args.ema.map_or_else(|| vec![Ema(Options::default().ema), Ema(0.0)], |ema| vec![ema]);
    let mut lines = Vec::new();
    for order in &orders {
        let columns = |source| EvaluateError::Table { path: args.csv.clone(), source };
        let runs = order.runs(&table, args.seeds).map_err(columns)?;
        for Ema(ema) in &averages {
            let options = Options { ema: *ema, held_out_one_in: 0, ..Options::default() };
            lines.push(trial::line(&base, &options, order, &table, &runs)?);
        }
    }
    Ok(match args.output {
        Format::Table => report::table(&base, &table, &lines),
        Format::Json => report::json(&base, &table, &lines),
    })
}

fn base(model: &str) -> Result<BaseModel, EvaluateError> {
    match model.parse() {
        Ok(ModelChoice::File(path)) => {
            let json =
                fs::read(&path).map_err(|source| EvaluateError::Read { path: path.clone(), source })?;
            Ok(BaseModel::parse(model, &json)?)
        }
        _ => Ok(BaseModel::parse(model, Model::named(model)?.json())?),
    }
}
