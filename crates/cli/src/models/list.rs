//! `vmafx models list`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use comfy_table::Cell;
use jiff::Timestamp;
use serde::Serialize;
use vmafx_oci::Repository;
use vmafx_oci::checkpoint::PredictionMetrics;
use vmafx_scoring::engine::models::built_in;

use super::chart::Chart;
use super::checkpoints::{self, Checkpoint, CheckpointList};
use super::document::CheckpointDocument;
use super::error::ModelsError;
use super::{RegistryArgs, html, plot};
use crate::output::{self, Format, OutputArgs};
use crate::terminal::Look;
use crate::view::age;
use crate::{Error, Exit};

/// Width of a plot whose output is not a terminal, in columns.
const DEFAULT_PLOT_WIDTH: u16 = 80;

const EXAMPLES: &str = "\
Examples:
  vmafx models list
      List the built-in models.

  vmafx models list registry.example.com/video/models
      List the checkpoints of each training, the newest first, with the number of samples, the
      error (RMSE) and the rank correlation (SROCC) against the opinion of viewers, and the change
      from the base model. The one marked stable is oci://…:<name>-stable.

  vmafx models list registry.example.com/video/models --name sports --plot
      Also plot the accuracy over samples in the terminal.

  vmafx models list registry.example.com/video/models --name sports --html sports.html
      Also write an HTML page with the plots and the table.

Credentials are those of Docker, from config.json in ~/.docker or in the directory DOCKER_CONFIG.";

/// List the built-in models or the checkpoints in a repository.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "For details and examples: vmafx models list --help")]
pub(crate) struct ListArgs {
    /// Repository with checkpoints, as registry/repository; if omitted, the built-in models are listed
    #[arg(value_name = "REPO", value_parser = Repository::parse)]
    repository: Option<Repository>,

    /// List only the checkpoints of the training NAME
    #[arg(long, value_name = "NAME", requires = "repository")]
    name: Option<String>,

    /// List at most N checkpoints of each training, the newest ones
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,

    /// Also plot RMSE and SROCC over the number of samples; needs a single training
    #[arg(long, requires = "repository")]
    plot: bool,

    /// Also write an HTML page with both plots and the table; needs a single training
    #[arg(long, value_name = "FILE", requires = "repository")]
    html: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    registry: RegistryArgs,
}

#[derive(Serialize)]
struct BuiltInModelsDocument {
    models: Vec<BuiltInModelDocument>,
}

#[derive(Serialize)]
struct BuiltInModelDocument {
    name: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct CheckpointsDocument<'a> {
    repository: String,
    checkpoints: Vec<CheckpointDocument<'a>>,
}

pub(crate) async fn run(args: &ListArgs) -> Result<Exit, Error> {
    let Some(repository) = &args.repository else {
        let models = built_in().map(|model| BuiltInModelDocument { name: model.name, about: model.about });
        args.output.show(&BuiltInModelsDocument { models: models.collect() }, |look, _| {
            let table = crate::score::models::table(look);
            format!("{table}\nTo list trained models: vmafx models list registry/repository\n")
        })?;
        return Ok(Exit::Done);
    };
    let client = args.registry.client()?;
    let list = checkpoints::fetch(&client, repository, args.name.as_deref(), args.limit).await?;
    let charts = if args.plot || args.html.is_some() { charts(repository, &list)? } else { Vec::new() };
    let now = Timestamp::now();
    if let Some(path) = &args.html {
        let page = html::render(&repository.to_string(), &list.checkpoints, &charts);
        std::fs::write(path, page).map_err(|source| ModelsError::File {
            path: path.clone(),
            action: "write",
            source,
        })?;
    }
    let checkpoints = list.checkpoints.iter().map(CheckpointDocument::of).collect();
    args.output
        .show(&CheckpointsDocument { repository: repository.to_string(), checkpoints }, |look, wide| {
            table(&list.checkpoints, look, wide, now)
        })?;
    let is_table = matches!(args.output.output, Format::Table | Format::Wide);
    if args.plot && is_table {
        let look = Look::of_stdout(std::env::var_os("NO_COLOR").as_deref());
        let width = look.width.unwrap_or(DEFAULT_PLOT_WIDTH);
        for chart in &charts {
            output::print(&format!("\n{}", plot::render(chart, width, look.styled)))?;
        }
    }
    for problem in &list.skipped {
        eprintln!("skipped: {problem}");
    }
    if list.truncated {
        eprintln!("there are more checkpoints; increase --limit to list them");
    }
    Ok(Exit::Done)
}

fn charts(repository: &Repository, list: &CheckpointList) -> Result<Vec<Chart>, ModelsError> {
    let mut names: Vec<String> =
        list.checkpoints.iter().map(|checkpoint| checkpoint.metadata.name.clone()).collect();
    names.dedup();
    if names.len() > 1 {
        return Err(ModelsError::SeveralTrainings { repository: repository.to_string(), names });
    }
    Ok(Chart::rmse_and_srocc(&list.checkpoints))
}

fn table(checkpoints: &[Checkpoint], look: Look, wide: bool, now: Timestamp) -> String {
    let text_columns = ["Version", "Stable", "Gate", "Age", "Digest"];
    let number_columns = ["Samples", "RMSE", "vs base", "SROCC", "vs base"];
    let wide_columns = ["Window RMSE", "Window SROCC", "Held out", "Refused", "Base"];
    let wide_columns = if wide { &wide_columns[..] } else { &[] };
    let header: Vec<&str> =
        text_columns.into_iter().chain(number_columns).chain(wide_columns.iter().copied()).collect();
    let mut table = look.table(&header, text_columns.len());
    for Checkpoint { digest, stable, metadata } in checkpoints {
        let (model, base, window) = (&metadata.all.model, &metadata.all.base, &metadata.window.model);
        let version = Cell::new(metadata.version());
        let mut cells = vec![
            if *stable { look.bold(version) } else { version },
            Cell::new(if *stable { "stable" } else { "" }),
            Cell::new(if metadata.gate_passed { "passed" } else { "held back" }),
            Cell::new(age::since(metadata.created.as_millisecond(), now)),
            Cell::new(if wide { digest.to_string() } else { digest.short().to_owned() }),
            Cell::new(metadata.samples),
            Cell::new(rmse(model)),
            Cell::new(rmse_change(model, base)),
            Cell::new(srocc(model)),
            Cell::new(srocc_change(model, base)),
        ];
        if wide {
            cells.extend([
                Cell::new(rmse(window)),
                Cell::new(srocc(window)),
                Cell::new(metadata.held_out.model.count),
                Cell::new(metadata.refused),
                Cell::new(&metadata.base_model),
            ]);
        }
        table.add_row(cells);
    }
    let mut text = format!("{}\n", table.trim_fmt());
    // The stable tag does not move to a checkpoint that the gate held back.
    if let Some(newest) = checkpoints.first().filter(|newest| !newest.metadata.gate_passed) {
        let _ =
            write!(text, "\n{} was held back: {}\n", newest.metadata.version(), newest.metadata.gate_message);
    }
    text
}

pub(super) fn rmse(metrics: &PredictionMetrics) -> String {
    if metrics.count == 0 { "-".to_owned() } else { format!("{:.2}", metrics.rmse) }
}

/// The relative change of the RMSE from that of the base model, such as `-27.8 %`.
pub(super) fn rmse_change(model: &PredictionMetrics, base: &PredictionMetrics) -> String {
    if model.count == 0 || base.count == 0 || base.rmse == 0.0 {
        return "-".to_owned();
    }
    format!("{:+.1} %", (model.rmse / base.rmse - 1.0) * 100.0)
}

pub(super) fn srocc(metrics: &PredictionMetrics) -> String {
    correlation(metrics.srocc)
}

pub(super) fn correlation(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

/// The change of the SROCC from that of the base model, such as `+0.0214`.
pub(super) fn srocc_change(model: &PredictionMetrics, base: &PredictionMetrics) -> String {
    match (model.srocc, base.srocc) {
        (Some(model), Some(base)) => format!("{:+.4}", model - base),
        _ => "-".to_owned(),
    }
}
