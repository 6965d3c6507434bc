//! `vmafx models diff`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use vmafx_trainer::learner::BaseModel;

use super::RegistryArgs;
use super::compare::{ModelDifference, WeightDifference, compare};
use super::document::CheckpointDocument;
use super::error::ModelsError;
use super::list::{correlation, rmse, srocc};
use super::source::ModelSource;
use crate::output::OutputArgs;
use crate::terminal::Look;
use crate::{Error, Exit};

const EXAMPLES: &str = "\
Examples:
  vmafx models diff vmaf_v0.6.1 oci://registry.example.com/video/models:sports-stable
      Show what training changed: the number of weights, and the change of the scores in points.

  vmafx models diff oci://…:sports-v000006 oci://…:sports-v000007 --csv clips.csv
      Compare the scores of two checkpoints for your own clips: the file has a row for each clip
      and a column for each feature of the model (adm2, motion2, …). Without --csv, the scores are
      compared at the support vectors of both models.";

/// Compare the weights and the scores of two models.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "For details and examples: vmafx models diff --help")]
pub(crate) struct DiffArgs {
    /// First model: name of a built-in model, a model file, or oci://…
    #[arg(value_name = "MODEL")]
    first: String,

    /// Second model
    #[arg(value_name = "MODEL")]
    second: String,

    /// Compare the scores of the clips in this CSV file, which has a column for each feature
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    registry: RegistryArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiffDocument<'a> {
    first: ModelDocument<'a>,
    second: ModelDocument<'a>,
    identical: bool,
    weights: Option<WeightsDocument>,
    predictions: Option<PredictionsDocument>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelDocument<'a> {
    name: &'a str,
    model_digest: &'a str,
    features: &'a [String],
    support_vectors: usize,
    checkpoint: Option<CheckpointDocument<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WeightsDocument {
    of: usize,
    changed: usize,
    largest_change: f64,
    rho_change: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PredictionsDocument {
    points: usize,
    mean_difference: f64,
    mean_distance: f64,
    largest_distance: f64,
}

type ParsedModel = (ModelSource, BaseModel);

pub(crate) async fn run(args: &DiffArgs) -> Result<Exit, Error> {
    let first = open(&args.first, &args.registry).await?;
    let second = open(&args.second, &args.registry).await?;
    let clips = args.csv.as_deref().map(|path| read_clips(path, &first.1)).transpose()?;
    let difference = compare(&first.1, &second.1, clips.as_deref());
    args.output.show(&document(&first, &second, &difference), |look, _| {
        text(&first, &second, &difference, clips.is_some(), look)
    })?;
    Ok(Exit::Done)
}

async fn open(name: &str, registry: &RegistryArgs) -> Result<ParsedModel, ModelsError> {
    let source = ModelSource::load(name, registry).await?;
    let model = BaseModel::parse(&source.name, &source.json)?;
    Ok((source, model))
}

/// The features of each clip, in the order of the model's features.
fn read_clips(path: &Path, model: &BaseModel) -> Result<Vec<Vec<f64>>, ModelsError> {
    let invalid = |problem: String| ModelsError::InvalidCsv { path: path.to_owned(), problem };
    let file = std::fs::File::open(path).map_err(|source| ModelsError::File {
        path: path.to_owned(),
        action: "read",
        source,
    })?;
    let mut rows = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(file);
    let header = rows.headers().map_err(|error| invalid(error.to_string()))?.clone();
    let column_of = |(name, stem): (&String, &String)| {
        let names = [name.clone(), stem.clone(), format!("integer_{stem}")];
        let index =
            header.iter().position(|column| names.iter().any(|name| column.eq_ignore_ascii_case(name)));
        index.ok_or_else(|| invalid(format!("there is no column {stem:?}")))
    };
    let names = model.features().iter().zip(model.stems());
    let columns: Vec<usize> = names.map(column_of).collect::<Result<_, _>>()?;
    let mut clips = Vec::new();
    for (number, row) in rows.records().enumerate() {
        let row = row.map_err(|error| invalid(error.to_string()))?;
        let value = |index: &usize| {
            let text = row.get(*index).unwrap_or_default();
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            value.ok_or_else(|| {
                let column = header.get(*index).unwrap_or_default();
                invalid(format!("row {}: {column} is {text:?}, which is not a number", number + 1))
            })
        };
        clips.push(columns.iter().map(value).collect::<Result<_, _>>()?);
    }
    if clips.is_empty() { Err(invalid("there are no rows".to_owned())) } else { Ok(clips) }
}

fn document<'a>(
    first: &'a ParsedModel,
    second: &'a ParsedModel,
    difference: &ModelDifference,
) -> DiffDocument<'a> {
    let side = |(source, model): &'a ParsedModel| ModelDocument {
        name: &source.name,
        model_digest: &source.digest,
        features: model.stems(),
        support_vectors: model.machine().vectors.len(),
        checkpoint: source.checkpoint().map(CheckpointDocument::of),
    };
    let weights = match difference.weights {
        WeightDifference::Comparable { total, changed, largest, rho } => {
            Some(WeightsDocument { of: total, changed, largest_change: largest, rho_change: rho })
        }
        WeightDifference::Incomparable(_) => None,
    };
    let predictions = difference.predictions.as_ref().map(|predictions| PredictionsDocument {
        points: predictions.points,
        mean_difference: predictions.mean,
        mean_distance: predictions.mean_absolute,
        largest_distance: predictions.max_absolute,
    });
    let identical = first.0.digest == second.0.digest;
    DiffDocument { first: side(first), second: side(second), identical, weights, predictions }
}

fn features((_, model): &ParsedModel) -> String {
    model.stems().join(" ")
}

fn text(
    first: &ParsedModel,
    second: &ParsedModel,
    difference: &ModelDifference,
    own_clips: bool,
    look: Look,
) -> String {
    let mut table = look.table(&["", "First", "Second"], 3);
    let mut row = |name: &str, value: &dyn Fn(&ParsedModel) -> String| {
        table.add_row([name.to_owned(), value(first), value(second)]);
    };
    row("Model", &|(source, _)| source.name.clone());
    row("JSON", &|(source, _)| source.digest.chars().take(19).collect());
    row("Features", &|(_, model)| model.stems().len().to_string());
    row("Support vectors", &|(_, model)| model.machine().vectors.len().to_string());
    if first.0.checkpoint().is_some() || second.0.checkpoint().is_some() {
        let values = |value: &dyn Fn(&vmafx_oci::checkpoint::CheckpointMetadata) -> String| {
            let values: Vec<String> = [first, second]
                .map(|(source, _)| {
                    source.checkpoint().map_or("-".to_owned(), |checkpoint| value(&checkpoint.metadata))
                })
                .into();
            values
        };
        for (name, values) in [
            ("Samples", values(&|metadata| metadata.samples.to_string())),
            ("RMSE", values(&|metadata| rmse(&metadata.all.model))),
            ("RMSE of the base", values(&|metadata| rmse(&metadata.all.base))),
            ("PLCC", values(&|metadata| correlation(metadata.all.model.plcc))),
            ("SROCC", values(&|metadata| srocc(&metadata.all.model))),
            ("SROCC of the base", values(&|metadata| srocc(&metadata.all.base))),
            ("RMSE held out", values(&|metadata| rmse(&metadata.held_out.model))),
            (
                "Gate",
                values(&|metadata| if metadata.gate_passed { "passed" } else { "held back" }.to_owned()),
            ),
        ] {
            let mut cells = vec![name.to_owned()];
            cells.extend(values);
            table.add_row(cells);
        }
    }
    let mut text = format!("{}\n\n", table.trim_fmt());
    if first.0.digest == second.0.digest {
        text.push_str("The models are identical.\n");
        return text;
    }
    let _ = match &difference.weights {
        WeightDifference::Comparable { total, changed, largest, rho } => {
            let offset =
                if *rho == 0.0 { String::new() } else { format!("; the offset differs by {rho:+.4}") };
            writeln!(text, "{changed} of {total} weights differ, by at most {largest:.4}{offset}.")
        }
        WeightDifference::Incomparable(reason) => writeln!(text, "The weights cannot be compared: {reason}."),
    };
    let _ = match &difference.predictions {
        Some(predictions) => {
            let points = if own_clips { "clips" } else { "points (the support vectors of both models)" };
            writeln!(
                text,
                "Over {} {points}, the score of the second model differs by {:+.2} on average (mean absolute \
                 difference {:.2}) and by at most {:.2} ({:.2} against {:.2}).",
                predictions.points,
                predictions.mean,
                predictions.mean_absolute,
                predictions.max_absolute,
                predictions.furthest_pair.0,
                predictions.furthest_pair.1
            )
        }
        None => writeln!(
            text,
            "The scores cannot be compared: the features of the first model are {}, those of the second {}.",
            features(first),
            features(second)
        ),
    };
    text
}
