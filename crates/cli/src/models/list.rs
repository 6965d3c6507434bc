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
use super::document::Checkpoint;
use super::error::ModelsError;
use super::versions::{self, Version, Versions};
use super::{RegistryArgs, page, plot};
use crate::output::{self, Format, OutputArgs};
use crate::terminal::Look;
use crate::view::age;
use crate::{Error, Exit};

/// Columns of a plot that goes to no terminal.
const WIDTH: u16 = 80;

const EXAMPLES: &str = "\
Examples:
  vmafx models list
      The built-in models.

  vmafx models list registry.example.com/video/models
      Every checkpoint there, the newest first: how many samples it has learned from, how far it
      is from what viewers said (RMSE) and how well it ranks clips as they did (SROCC), each
      against the model it began with. The one marked stable is oci://…:<name>-stable.

  vmafx models list registry.example.com/video/models --name sports --plot
      Accuracy over samples, in the terminal.

  vmafx models list registry.example.com/video/models --name sports --html sports.html
      The same as a page for a browser, with the table below.

Credentials are docker's: any tool that writes ~/.docker/config.json, or DOCKER_CONFIG.";

/// List the built-in models, or the checkpoints of a repository.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "More and examples: vmafx models list --help")]
pub(crate) struct ListArgs {
    /// Where checkpoints lie, as registry/repository; without it, the built-in models
    #[arg(value_name = "REPO", value_parser = Repository::parse)]
    repository: Option<Repository>,

    /// Only checkpoints of this training
    #[arg(long, value_name = "NAME", requires = "repository")]
    name: Option<String>,

    /// At most so many of each training, the newest
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,

    /// Also plot RMSE and SROCC over samples
    #[arg(long, requires = "repository")]
    plot: bool,

    /// Also write a page with both plots and the table
    #[arg(long, value_name = "FILE", requires = "repository")]
    html: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    registry: RegistryArgs,
}

#[derive(Serialize)]
struct BuiltIn {
    models: Vec<BuiltInModel>,
}

#[derive(Serialize)]
struct BuiltInModel {
    name: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct Document<'a> {
    repository: String,
    checkpoints: Vec<Checkpoint<'a>>,
}

pub(crate) async fn run(args: &ListArgs) -> Result<Exit, Error> {
    let Some(repository) = &args.repository else {
        let models = built_in().map(|model| BuiltInModel { name: model.name, about: model.about });
        args.output.show(&BuiltIn { models: models.collect() }, |look, _| {
            let table = crate::score::models::table(look);
            format!(
                "{table}\nWhat was learned is listed by its place: vmafx models list registry/repository\n"
            )
        })?;
        return Ok(Exit::Done);
    };
    let client = args.registry.client()?;
    let found = versions::fetch(&client, repository, args.name.as_deref(), args.limit).await?;
    let charts = if args.plot || args.html.is_some() { charts(repository, &found)? } else { Vec::new() };
    let now = Timestamp::now();
    if let Some(path) = &args.html {
        let page = page::render(&repository.to_string(), &found.all, &charts);
        std::fs::write(path, page).map_err(|source| ModelsError::File {
            path: path.clone(),
            what: "written",
            source,
        })?;
    }
    let checkpoints = found.all.iter().map(Checkpoint::of).collect();
    args.output.show(&Document { repository: repository.to_string(), checkpoints }, |look, wide| {
        table(&found.all, look, wide, now)
    })?;
    let readable = matches!(args.output.output, Format::Table | Format::Wide);
    if args.plot && readable {
        let look = Look::of_stdout(std::env::var_os("NO_COLOR").as_deref());
        let width = look.width.unwrap_or(WIDTH);
        for chart in &charts {
            output::print(&format!("\n{}", plot::render(chart, width, look.styled)))?;
        }
    }
    for strange in &found.strange {
        eprintln!("left out: {strange}");
    }
    if found.more {
        eprintln!("there are more: --limit shows them");
    }
    Ok(Exit::Done)
}

/// Both plots, of one training.
fn charts(repository: &Repository, found: &Versions) -> Result<Vec<Chart>, ModelsError> {
    let mut names: Vec<String> = found.all.iter().map(|version| version.facts.name.clone()).collect();
    names.dedup();
    if names.len() > 1 {
        return Err(ModelsError::Several { repository: repository.to_string(), names });
    }
    Ok(Chart::both(&found.all))
}

fn table(versions: &[Version], look: Look, wide: bool, now: Timestamp) -> String {
    let texts = ["Version", "Stable", "Gate", "Age", "Digest"];
    let numbers = ["Samples", "RMSE", "to base", "SROCC", "to base"];
    let more = ["Window RMSE", "Window SROCC", "Held out", "Refused", "Base"];
    let header: Vec<&str> =
        texts.into_iter().chain(numbers).chain(if wide { &more[..] } else { &[] }.iter().copied()).collect();
    let mut table = look.table(&header, texts.len());
    for Version { digest, stable, facts } in versions {
        let (model, base, window) = (&facts.all.model, &facts.all.base, &facts.window.model);
        let version = Cell::new(facts.version());
        let mut cells = vec![
            if *stable { look.bold(version) } else { version },
            Cell::new(if *stable { "stable" } else { "" }),
            Cell::new(if facts.gate_passed { "passed" } else { "held back" }),
            Cell::new(age::since(facts.created.as_millisecond(), now)),
            Cell::new(if wide { digest.to_string() } else { digest.short().to_owned() }),
            Cell::new(facts.samples),
            Cell::new(rmse(model)),
            Cell::new(rmse_to(model, base)),
            Cell::new(srocc(model)),
            Cell::new(srocc_to(model, base)),
        ];
        if wide {
            cells.extend([
                Cell::new(rmse(window)),
                Cell::new(srocc(window)),
                Cell::new(facts.held_out.model.count),
                Cell::new(facts.refused),
                Cell::new(&facts.base_model),
            ]);
        }
        table.add_row(cells);
    }
    let mut text = format!("{}\n", table.trim_fmt());
    // Why the newest is not what people get.
    if let Some(newest) = versions.first().filter(|newest| !newest.facts.gate_passed) {
        let _ = write!(text, "\n{} was held back: {}\n", newest.facts.version(), newest.facts.gate_message);
    }
    text
}

/// `14.18`
pub(super) fn rmse(metrics: &PredictionMetrics) -> String {
    if metrics.count == 0 { "-".to_owned() } else { format!("{:.2}", metrics.rmse) }
}

/// `-27.8 %`
pub(super) fn rmse_to(model: &PredictionMetrics, base: &PredictionMetrics) -> String {
    if model.count == 0 || base.count == 0 || base.rmse == 0.0 {
        return "-".to_owned();
    }
    format!("{:+.1} %", (model.rmse / base.rmse - 1.0) * 100.0)
}

/// `0.8688`
pub(super) fn srocc(metrics: &PredictionMetrics) -> String {
    correlation(metrics.srocc)
}

/// A correlation, if there is one.
pub(super) fn correlation(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

/// `+0.0214`
pub(super) fn srocc_to(model: &PredictionMetrics, base: &PredictionMetrics) -> String {
    match (model.srocc, base.srocc) {
        (Some(model), Some(base)) => format!("{:+.4}", model - base),
        _ => "-".to_owned(),
    }
}
