//! `vmafx models diff`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use vmafx_trainer::learner::BaseModel;

use super::RegistryArgs;
use super::compare::{Difference, Weights, compare};
use super::document::Checkpoint;
use super::error::ModelsError;
use super::list::{correlation, rmse, srocc};
use super::source::Source;
use crate::output::OutputArgs;
use crate::terminal::Look;
use crate::{Error, Exit};

const EXAMPLES: &str = "\
Examples:
  vmafx models diff vmaf_v0.6.1 oci://registry.example.com/video/models:sports-stable
      What training has changed: how many weights, and by how many points the scores move.

  vmafx models diff oci://…:sports-v000006 oci://…:sports-v000007 --csv clips.csv
      Two checkpoints, over your own clips: a row each, with a column for every feature of the
      model (adm2, motion2, …). Without --csv the support vectors of both are the clips.";

/// Show how two models differ.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "More and examples: vmafx models diff --help")]
pub(crate) struct DiffArgs {
    /// The first: oci://…, a built-in model, or a file
    #[arg(value_name = "MODEL")]
    first: String,

    /// The second
    #[arg(value_name = "MODEL")]
    second: String,

    /// Compare what they predict for these clips: a file with a column for each feature
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    registry: RegistryArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    first: Side<'a>,
    second: Side<'a>,
    identical: bool,
    weights: Option<WeightsDocument>,
    predictions: Option<PredictionsDocument>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Side<'a> {
    name: &'a str,
    model_digest: &'a str,
    features: &'a [String],
    support_vectors: usize,
    checkpoint: Option<Checkpoint<'a>>,
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

/// A model and its inside.
type Opened = (Source, BaseModel);

pub(crate) async fn run(args: &DiffArgs) -> Result<Exit, Error> {
    let first = open(&args.first, &args.registry).await?;
    let second = open(&args.second, &args.registry).await?;
    let clips = args.csv.as_deref().map(|path| clips(path, &first.1)).transpose()?;
    let difference = compare(&first.1, &second.1, clips.as_deref());
    args.output.show(&document(&first, &second, &difference), |look, _| {
        text(&first, &second, &difference, clips.is_some(), look)
    })?;
    Ok(Exit::Done)
}

async fn open(name: &str, registry: &RegistryArgs) -> Result<Opened, ModelsError> {
    let source = Source::find(name, registry).await?;
    let model = BaseModel::parse(&source.name, &source.json)?;
    Ok((source, model))
}

/// The features of clips, in the model's order.
fn clips(path: &Path, model: &BaseModel) -> Result<Vec<Vec<f64>>, ModelsError> {
    let wrong = |problem: String| ModelsError::Clips { path: path.to_owned(), problem };
    let file = std::fs::File::open(path).map_err(|source| ModelsError::File {
        path: path.to_owned(),
        what: "read",
        source,
    })?;
    let mut rows = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(file);
    let header = rows.headers().map_err(|error| wrong(error.to_string()))?.clone();
    let place = |(name, stem): (&String, &String)| {
        let names = [name.clone(), stem.clone(), format!("integer_{stem}")];
        let found =
            header.iter().position(|column| names.iter().any(|name| column.eq_ignore_ascii_case(name)));
        found.ok_or_else(|| wrong(format!("there is no column {stem:?}")))
    };
    let names = model.features().iter().zip(model.stems());
    let places: Vec<usize> = names.map(place).collect::<Result<_, _>>()?;
    let mut clips = Vec::new();
    for (number, row) in rows.records().enumerate() {
        let row = row.map_err(|error| wrong(error.to_string()))?;
        let value = |place: &usize| {
            let text = row.get(*place).unwrap_or_default();
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            value.ok_or_else(|| {
                let column = header.get(*place).unwrap_or_default();
                wrong(format!("row {}: {column} is {text:?}, which is no number", number + 1))
            })
        };
        clips.push(places.iter().map(value).collect::<Result<_, _>>()?);
    }
    if clips.is_empty() { Err(wrong("there are no rows".to_owned())) } else { Ok(clips) }
}

fn document<'a>(first: &'a Opened, second: &'a Opened, difference: &Difference) -> Document<'a> {
    let side = |(source, model): &'a Opened| Side {
        name: &source.name,
        model_digest: &source.digest,
        features: model.stems(),
        support_vectors: model.machine().vectors.len(),
        checkpoint: source.version().map(Checkpoint::of),
    };
    let weights = match difference.weights {
        Weights::Comparable { of, changed, largest, rho } => {
            Some(WeightsDocument { of, changed, largest_change: largest, rho_change: rho })
        }
        Weights::Different(_) => None,
    };
    let predictions = difference.predictions.as_ref().map(|predictions| PredictionsDocument {
        points: predictions.points,
        mean_difference: predictions.mean,
        mean_distance: predictions.mean_distance,
        largest_distance: predictions.largest,
    });
    let identical = first.0.digest == second.0.digest;
    Document { first: side(first), second: side(second), identical, weights, predictions }
}

fn features((_, model): &Opened) -> String {
    model.stems().join(" ")
}

fn text(first: &Opened, second: &Opened, difference: &Difference, own: bool, look: Look) -> String {
    let mut table = look.table(&["", "First", "Second"], 3);
    let mut row = |name: &str, value: &dyn Fn(&Opened) -> String| {
        table.add_row([name.to_owned(), value(first), value(second)]);
    };
    row("Model", &|(source, _)| source.name.clone());
    row("JSON", &|(source, _)| source.digest.chars().take(19).collect());
    row("Features", &|(_, model)| model.stems().len().to_string());
    row("Support vectors", &|(_, model)| model.machine().vectors.len().to_string());
    if first.0.version().is_some() || second.0.version().is_some() {
        let fact = |value: &dyn Fn(&vmafx_oci::checkpoint::CheckpointMetadata) -> String| {
            let values: Vec<String> = [first, second]
                .map(|(source, _)| source.version().map_or("-".to_owned(), |version| value(&version.facts)))
                .into();
            values
        };
        for (name, values) in [
            ("Samples", fact(&|facts| facts.samples.to_string())),
            ("RMSE", fact(&|facts| rmse(&facts.all.model))),
            ("RMSE of the base", fact(&|facts| rmse(&facts.all.base))),
            ("PLCC", fact(&|facts| correlation(facts.all.model.plcc))),
            ("SROCC", fact(&|facts| srocc(&facts.all.model))),
            ("SROCC of the base", fact(&|facts| srocc(&facts.all.base))),
            ("RMSE held out", fact(&|facts| rmse(&facts.held_out.model))),
            ("Gate", fact(&|facts| if facts.gate_passed { "passed" } else { "held back" }.to_owned())),
        ] {
            let mut cells = vec![name.to_owned()];
            cells.extend(values);
            table.add_row(cells);
        }
    }
    let mut text = format!("{}\n\n", table.trim_fmt());
    if first.0.digest == second.0.digest {
        text.push_str("They are the same, to the last byte.\n");
        return text;
    }
    let _ = match &difference.weights {
        Weights::Comparable { of, changed, largest, rho } => {
            let offset = if *rho == 0.0 { String::new() } else { format!(", and the offset by {rho:+.4}") };
            writeln!(text, "{changed} of {of} weights differ, by {largest:.4} at most{offset}.")
        }
        Weights::Different(why) => writeln!(text, "Their weights cannot be held side by side: {why}."),
    };
    let _ = match &difference.predictions {
        Some(predictions) => {
            let over = if own { "clips" } else { "points (the support vectors of both)" };
            writeln!(
                text,
                "Over {} {over} the second scores {:+.2} on average, {:.2} apart; {:.2} at most, {:.2} and {:.2}.",
                predictions.points,
                predictions.mean,
                predictions.mean_distance,
                predictions.largest,
                predictions.there.0,
                predictions.there.1
            )
        }
        None => writeln!(
            text,
            "What they predict cannot be compared: {} is not {}.",
            features(first),
            features(second)
        ),
    };
    text
}
