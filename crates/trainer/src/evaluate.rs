//! `vmafx-trainer evaluate`: how well the learner would have done on a table of labelled clips.
//!
//! The evaluation is prequential: every row is predicted first and then learned from, once, so no prediction depends
//! on its own label. Nothing is held out, because every row is a test already.

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

use self::order::RowOrder;
use self::table::{ClipTable, TableError, TableScale};
use crate::learner::{BaseModel, LearnerError, LearnerOptions, ModelError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A table for people
    Table,
    /// JSON, with the metrics of every seed
    Json,
}

/// Evaluate how well the learner would have done on a table of labelled clips
#[derive(clap::Args, Clone, Debug)]
pub struct EvaluateArgs {
    /// CSV file with a header and one clip per row: a column for each feature of the model (`adm2` or `integer_adm2`)
    /// and one for the label
    #[arg(long, value_name = "FILE")]
    pub csv: PathBuf,
    /// The base model: a built-in name, or a file with libvmaf's JSON
    #[arg(long, default_value = "vmaf_v0.6.1")]
    pub model: String,
    /// The column with the label [default: "label", or else "mos"]
    #[arg(long, value_name = "COLUMN")]
    pub label_column: Option<String>,
    /// The scale of the labels [default: mos if the column has that name, else score]
    #[arg(long)]
    pub scale: Option<TableScale>,
    /// The order of the rows: "shuffled", "file", or "by:COLUMN" (group after group, shuffled within each group); can
    /// be given several times [default: shuffled and file]
    #[arg(long, value_name = "ORDER")]
    pub order: Vec<RowOrder>,
    /// Number of random seeds with which a shuffled order is tried
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Decay of the exponential moving average of the weights, or "off" [default: both 0.9 and off]
    #[arg(long, value_name = "SHARE")]
    pub ema: Option<EmaDecay>,
    /// The output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub output: ReportFormat,
}

/// Decay of the moving average; 0 is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmaDecay(f64);

impl FromStr for EmaDecay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" {
            return Ok(Self(0.0));
        }
        let share = text.parse::<f64>().ok().filter(|share| (0.0..1.0).contains(share));
        share.map(Self).ok_or_else(|| "use \"off\" or a number from 0 to below 1".to_owned())
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    #[error("cannot evaluate on {}", path.display())]
    Table {
        path: PathBuf,
        #[source]
        source: TableError,
    },
    #[error("cannot read the model {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Unknown(#[from] vmafx_scoring::engine::models::ModelError),
    #[error(transparent)]
    Base(#[from] ModelError),
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

/// Prints the report.
pub fn run(args: &EvaluateArgs) -> ExitCode {
    match render_report(args) {
        Ok(text) => {
            // A reader such as `head` closes the pipe early, which is not a failure.
            let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprint!("{}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(format!("error: {error}\n"), |text, cause| text + &format!("  because: {cause}\n"))
}

pub fn render_report(args: &EvaluateArgs) -> Result<String, EvaluateError> {
    let base = base(&args.model)?;
    let table_error = |source| EvaluateError::Table { path: args.csv.clone(), source };
    let table =
        ClipTable::read(&args.csv, &base, args.label_column.as_deref(), args.scale).map_err(table_error)?;
    let both_orders = || vec![RowOrder::Shuffled, RowOrder::File];
    let orders = if args.order.is_empty() { both_orders() } else { args.order.clone() };
    let both_decays = || vec![EmaDecay(LearnerOptions::default().ema), EmaDecay(0.0)];
    let decays = args.ema.map_or_else(both_decays, |decay| vec![decay]);
    let mut results = Vec::new();
    for order in &orders {
        let runs = order.runs(&table, args.seeds).map_err(table_error)?;
        for EmaDecay(ema) in &decays {
            let options = LearnerOptions { ema: *ema, held_out_one_in: 0, ..LearnerOptions::default() };
            results.push(trial::run(&base, &options, order, &table, &runs)?);
        }
    }
    Ok(match args.output {
        ReportFormat::Table => report::table(&base, &table, &results),
        ReportFormat::Json => report::json(&base, &table, &results),
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
