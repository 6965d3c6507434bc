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
use super::document::Checkpoint;
use super::lineage::{self, Lineage};
use super::list::{correlation, rmse};
use super::source::{Source, Stored};
use super::versions::Version;
use crate::output::OutputArgs;
use crate::terminal::Look;
use crate::view::age;
use crate::{Error, Exit};

const EXAMPLES: &str = "\
Examples:
  vmafx models inspect oci://registry.example.com/video/models:sports-stable
      What the stable model of a training is: its metrics against the base model, why the gate
      let it pass, which checkpoints it came from, and what lies in the registry.

  vmafx models inspect vmaf_v0.6.1
  vmafx models inspect ./model.json
      The features, support vectors and digest of a built-in model and of a file.";

/// Show everything about one model.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "More and examples: vmafx models inspect --help")]
pub(crate) struct InspectArgs {
    /// A built-in model, a file, or oci://… by tag or by digest
    #[arg(value_name = "MODEL")]
    model: String,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    registry: RegistryArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    name: &'a str,
    model_digest: &'a str,
    machine: Option<MachineDocument<'a>>,
    manifest_digest: Option<String>,
    checkpoint: Option<Checkpoint<'a>>,
    layers: Vec<LayerDocument<'a>>,
    annotations: Option<&'a BTreeMap<String, String>>,
    lineage: Vec<Checkpoint<'a>>,
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
    let source = Source::find(&args.model, &args.registry).await?;
    let lineage = match (&source.artifact, source.version()) {
        (Some(stored), Some(version)) => Some(lineage::follow(stored, version).await?),
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
    source: &'a Source,
    machine: Option<&'a BaseModel>,
    lineage: Option<&'a Lineage>,
) -> Document<'a> {
    let stored = source.artifact.as_ref();
    let layers = stored.map(|stored| stored.manifest.layers.as_slice()).unwrap_or_default();
    Document {
        name: &source.name,
        model_digest: &source.digest,
        machine: machine.map(|machine| MachineDocument {
            features: machine.features(),
            support_vectors: machine.machine().vectors.len(),
            gamma: machine.machine().gamma,
            rho: machine.machine().rho,
            score_clip: machine.clip(),
        }),
        manifest_digest: stored.map(|stored| stored.digest.to_string()),
        checkpoint: source.version().map(Checkpoint::of),
        layers: layers
            .iter()
            .map(|layer| LayerDocument {
                media_type: &layer.media_type,
                digest: layer.digest.to_string(),
                size: layer.size,
            })
            .collect(),
        annotations: stored.map(|stored| &stored.manifest.annotations),
        lineage: lineage
            .map(|lineage| lineage.parents.iter().map(Checkpoint::of).collect())
            .unwrap_or_default(),
    }
}

fn text(
    source: &Source,
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
    if let Some(stored) = &source.artifact {
        line("Manifest", &stored.digest.to_string());
    }
    line("JSON", &source.digest);
    match machine {
        Ok(machine) => {
            let names = machine.stems();
            line("Features", &format!("{}: {}", names.len(), names.join(", ")));
            let clip = machine.clip().map(|(low, high)| format!(", scores from {low} to {high}"));
            let (clip, inside) = (clip.unwrap_or_default(), machine.machine());
            line(
                "Machine",
                &format!("{} support vectors, gamma {}{clip}", inside.vectors.len(), inside.gamma),
            );
        }
        Err(problem) => line("Machine", &problem.to_string()),
    }
    match source.artifact.as_ref().map(|stored| &stored.version) {
        Some(Ok(version)) => text.push_str(&checkpoint(version, lineage, look, now)),
        Some(Err(why)) => line("Training", &format!("unknown, {why}")),
        None => {}
    }
    if let Some(stored) = &source.artifact {
        text.push_str(&contents(stored, look));
    }
    text
}

fn checkpoint(version: &Version, lineage: Option<&Lineage>, look: Look, now: Timestamp) -> String {
    let facts = &version.facts;
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<11}{value}");
    };
    let stable = if version.stable { ", stable" } else { "" };
    line("Version", format!("{}{stable}", facts.version()));
    let place = if facts.namespace.is_empty() { String::new() } else { format!(" in {}", facts.namespace) };
    line("Training", format!("{}{place}, seed {}, EMA {}", facts.name, facts.seed, facts.ema));
    line("Created", format!("{} ({} ago)", facts.created, age::since(facts.created.as_millisecond(), now)));
    line("Base", format!("{} ({})", facts.base_model, facts.base_digest));
    line(
        "Samples",
        format!("{} accepted, {} refused, cursor {:?}", facts.samples, facts.refused, facts.cursor),
    );
    let gate = if facts.gate_passed { "passed" } else { "held back" };
    line("Gate", format!("{gate}: {}", facts.gate_message));
    let _ = write!(
        text,
        "\n{}",
        metrics(&[("all", facts.all), ("window", facts.window), ("held out", facts.held_out)], look)
    );
    if let Some(lineage) = lineage {
        let _ = write!(text, "\n{}", descent(version, lineage, look));
    }
    text
}

/// The learned model and its base, side by side.
fn metrics(pairs: &[(&str, ModelComparison)], look: Look) -> String {
    let header = ["Over", "Samples", "RMSE", "base", "PLCC", "base", "SROCC", "base"];
    let mut table = look.table(&header, 1);
    for (over, ModelComparison { model, base }) in pairs {
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

fn descent(version: &Version, lineage: &Lineage, look: Look) -> String {
    let mut table = look.table(&["Lineage", "Digest", "Samples", "RMSE", "SROCC"], 2);
    for Version { digest, facts, .. } in std::iter::once(version).chain(&lineage.parents) {
        table.add_row([
            facts.version(),
            digest.short().to_owned(),
            facts.samples.to_string(),
            rmse(&facts.all.model),
            correlation(facts.all.model.srocc),
        ]);
    }
    if let Some(cut) = &lineage.cut {
        table.add_row([cut.as_str(), "", "", "", ""]);
    } else {
        let oldest = lineage.parents.last().unwrap_or(version);
        let base = &oldest.facts.all.base;
        let name = format!("{} (base)", oldest.facts.base_model);
        table.add_row([name, String::new(), "0".to_owned(), rmse(base), correlation(base.srocc)]);
    }
    format!("{}\n", table.trim_fmt())
}

fn contents(stored: &Stored, look: Look) -> String {
    let mut table = look.table(&["Layer", "Digest", "Bytes"], 2);
    for layer in &stored.manifest.layers {
        table.add_row([layer.media_type.clone(), layer.digest.to_string(), layer.size.to_string()]);
    }
    let mut text = format!("\n{}\n", table.trim_fmt());
    if !stored.manifest.annotations.is_empty() {
        let mut table = look.table(&["Annotation", "Value"], 2);
        for (key, value) in &stored.manifest.annotations {
            table.add_row([key, value]);
        }
        let _ = write!(text, "\n{}\n", table.trim_fmt());
    }
    text
}
