//! `vmafx models inspect`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use comfy_table::Cell;
use jiff::Timestamp;
use serde::Serialize;
use vmafx_oci::checkpoint::ModelComparison;
use vmafx_trainer::learner::{BaseModel, ModelError};

use super::RegistryArgs;
use super::checkpoints::Checkpoint;
use super::document::CheckpointDocument;
use super::lineage::{self, Lineage};
use super::list::{correlation, rmse};
use super::source::{ModelSource, RegistryArtifact};
use crate::output::OutputArgs;
use crate::terminal::Look;
use crate::view::age;
use crate::{Error, Exit};

const EXAMPLES: &str = "\
Examples:
  vmafx models inspect oci://registry.example.com/video/models:sports-stable
      Show the stable checkpoint of a training: its metrics and those of the base model, the result
      of the gate, its ancestors, and its layers and annotations in the registry.

  vmafx models inspect vmaf_v0.6.1
  vmafx models inspect ./model.json
      Show the features, support vectors and digest of a built-in model or a file.";

/// Show the details of a model.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "For details and examples: vmafx models inspect --help")]
pub(crate) struct InspectArgs {
    /// Name of a built-in model, a model file, or oci://… with a tag or digest
    #[arg(value_name = "MODEL")]
    model: String,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    registry: RegistryArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InspectDocument<'a> {
    name: &'a str,
    model_digest: &'a str,
    machine: Option<MachineDocument<'a>>,
    manifest_digest: Option<String>,
    checkpoint: Option<CheckpointDocument<'a>>,
    layers: Vec<LayerDocument<'a>>,
    annotations: Option<&'a BTreeMap<String, String>>,
    lineage: Vec<CheckpointDocument<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MachineDocument<'a> {
    features: &'a [String],
    support_vectors: usize,
    gamma: f64,
    rho: f64,
    score_clip: Option<(f64, f64)>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LayerDocument<'a> {
    media_type: &'a str,
    digest: String,
    size: u64,
}

pub(crate) async fn run(args: &InspectArgs) -> Result<Exit, Error> {
    let source = ModelSource::load(&args.model, &args.registry).await?;
    let lineage = match (&source.artifact, source.checkpoint()) {
        (Some(artifact), Some(checkpoint)) => Some(lineage::follow(artifact, checkpoint).await?),
        _ => None,
    };
    let machine = BaseModel::parse(&source.name, &source.json);
    let now = Timestamp::now();
    args.output.show(&document(&source, machine.as_ref().ok(), lineage.as_ref()), |look, _| {
        text(&source, &machine, lineage.as_ref(), look, now)
    })?;
    Ok(Exit::Done)
}

fn document<'a>(
    source: &'a ModelSource,
    machine: Option<&'a BaseModel>,
    lineage: Option<&'a Lineage>,
) -> InspectDocument<'a> {
    let artifact = source.artifact.as_ref();
    let layers = artifact.map(|artifact| artifact.manifest.layers.as_slice()).unwrap_or_default();
    InspectDocument {
        name: &source.name,
        model_digest: &source.digest,
        machine: machine.map(|machine| MachineDocument {
            features: machine.features(),
            support_vectors: machine.machine().vectors.len(),
            gamma: machine.machine().gamma,
            rho: machine.machine().rho,
            score_clip: machine.clip(),
        }),
        manifest_digest: artifact.map(|artifact| artifact.digest.to_string()),
        checkpoint: source.checkpoint().map(CheckpointDocument::of),
        layers: layers
            .iter()
            .map(|layer| LayerDocument {
                media_type: &layer.media_type,
                digest: layer.digest.to_string(),
                size: layer.size,
            })
            .collect(),
        annotations: artifact.map(|artifact| &artifact.manifest.annotations),
        lineage: lineage
            .map(|lineage| lineage.ancestors.iter().map(CheckpointDocument::of).collect())
            .unwrap_or_default(),
    }
}

fn text(
    source: &ModelSource,
    machine: &Result<BaseModel, ModelError>,
    lineage: Option<&Lineage>,
    look: Look,
    now: Timestamp,
) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<11}{value}");
    };
    line("Model", &source.name);
    if let Some(artifact) = &source.artifact {
        line("Manifest", &artifact.digest.to_string());
    }
    line("JSON", &source.digest);
    match machine {
        Ok(machine) => {
            let names = machine.stems();
            line("Features", &format!("{}: {}", names.len(), names.join(", ")));
            let clip = machine.clip().map(|(low, high)| format!(", scores from {low} to {high}"));
            let (clip, svm) = (clip.unwrap_or_default(), machine.machine());
            line("Machine", &format!("{} support vectors, gamma {}{clip}", svm.vectors.len(), svm.gamma));
        }
        Err(problem) => line("Machine", &problem.to_string()),
    }
    match source.artifact.as_ref().map(|artifact| &artifact.checkpoint) {
        Some(Ok(found)) => text.push_str(&checkpoint(found, lineage, look, now)),
        Some(Err(error)) => line("Training", &format!("unknown, {error}")),
        None => {}
    }
    if let Some(artifact) = &source.artifact {
        text.push_str(&contents(artifact, look));
    }
    text
}

fn checkpoint(checkpoint: &Checkpoint, lineage: Option<&Lineage>, look: Look, now: Timestamp) -> String {
    let metadata = &checkpoint.metadata;
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<11}{value}");
    };
    let stable = if checkpoint.stable { ", stable" } else { "" };
    line("Version", format!("{}{stable}", metadata.version()));
    let namespace =
        if metadata.namespace.is_empty() { String::new() } else { format!(" in {}", metadata.namespace) };
    line("Training", format!("{}{namespace}, seed {}, EMA {}", metadata.name, metadata.seed, metadata.ema));
    line(
        "Created",
        format!("{} ({} ago)", metadata.created, age::since(metadata.created.as_millisecond(), now)),
    );
    line("Base", format!("{} ({})", metadata.base_model, metadata.base_digest));
    line(
        "Samples",
        format!("{} accepted, {} refused, cursor {:?}", metadata.samples, metadata.refused, metadata.cursor),
    );
    let gate = if metadata.gate_passed { "passed" } else { "held back" };
    line("Gate", format!("{gate}: {}", metadata.gate_message));
    let _ = write!(
        text,
        "\n{}",
        metrics(&[("all", metadata.all), ("window", metadata.window), ("held out", metadata.held_out)], look)
    );
    if let Some(lineage) = lineage {
        let _ = write!(text, "\n{}", lineage_table(checkpoint, lineage, look));
    }
    text
}

/// The metrics of the checkpoint beside those of its base model.
fn metrics(comparisons: &[(&str, ModelComparison)], look: Look) -> String {
    let header = ["Over", "Samples", "RMSE", "base", "PLCC", "base", "SROCC", "base"];
    let mut table = look.table(&header, 1);
    for (over, ModelComparison { model, base }) in comparisons {
        table.add_row([
            Cell::new(over),
            Cell::new(model.count),
            look.bold(Cell::new(rmse(model))),
            Cell::new(rmse(base)),
            look.bold(Cell::new(correlation(model.plcc))),
            Cell::new(correlation(base.plcc)),
            look.bold(Cell::new(correlation(model.srocc))),
            Cell::new(correlation(base.srocc)),
        ]);
    }
    format!("{}\n", table.trim_fmt())
}

fn lineage_table(checkpoint: &Checkpoint, lineage: &Lineage, look: Look) -> String {
    let mut table = look.table(&["Lineage", "Digest", "Samples", "RMSE", "SROCC"], 2);
    for Checkpoint { digest, metadata, .. } in std::iter::once(checkpoint).chain(&lineage.ancestors) {
        table.add_row([
            metadata.version(),
            digest.short().to_owned(),
            metadata.samples.to_string(),
            rmse(&metadata.all.model),
            correlation(metadata.all.model.srocc),
        ]);
    }
    if let Some(problem) = &lineage.incomplete {
        table.add_row([problem.as_str(), "", "", "", ""]);
    } else {
        let oldest = lineage.ancestors.last().unwrap_or(checkpoint);
        let base = &oldest.metadata.all.base;
        let name = format!("{} (base)", oldest.metadata.base_model);
        table.add_row([name, String::new(), "0".to_owned(), rmse(base), correlation(base.srocc)]);
    }
    format!("{}\n", table.trim_fmt())
}

fn contents(artifact: &RegistryArtifact, look: Look) -> String {
    let mut table = look.table(&["Layer", "Digest", "Bytes"], 2);
    for layer in &artifact.manifest.layers {
        table.add_row([layer.media_type.clone(), layer.digest.to_string(), layer.size.to_string()]);
    }
    let mut text = format!("\n{}\n", table.trim_fmt());
    if !artifact.manifest.annotations.is_empty() {
        let mut table = look.table(&["Annotation", "Value"], 2);
        for (key, value) in &artifact.manifest.annotations {
            table.add_row([key, value]);
        }
        let _ = write!(text, "\n{}\n", table.trim_fmt());
    }
    text
}
