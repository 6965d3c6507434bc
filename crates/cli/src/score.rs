//! `vmafx score`: compares clips with their reference.
//!
//! Options and report files are checked before the first frame is read.

mod args;
#[cfg(test)]
mod example;
mod instruction_set;
mod min_score;
pub(crate) mod models;
mod numbers;
mod progress;
mod request;
mod table;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use args::{ScoreArgs, ScoreFormat};
pub use numbers::NumberError;
pub(crate) use numbers::score;
use vmafx_job::ReportFormat;
use vmafx_scoring::input::Tools;
use vmafx_scoring::outcome::ScoringOutcome;
use vmafx_scoring::report::{
    ReportError, ScoreSummary, ScoringReport, SummaryError, file, format_of, wording,
};
use vmafx_scoring::score::ScoreError;

use crate::terminal::Look;
use crate::{Exit, interrupt};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no clips given; usage: vmafx score REF DIS [DIS...]")]
    NoInputs,
    #[error(
        "{} is a URL, and vmafx score reads files: download it, or score it on a node with vmafx submit", .0.display()
    )]
    IsUrl(PathBuf),
    #[error(transparent)]
    Score(#[from] ScoreError),
    #[error(transparent)]
    Summary(#[from] SummaryError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error("cannot write the result to standard output")]
    Output(#[source] io::Error),
    #[error("cannot install the signal handlers")]
    Signals(#[source] io::Error),
}

pub fn run(args: &ScoreArgs) -> Result<Exit, Error> {
    let look = Look::of_stdout(std::env::var_os("NO_COLOR").as_deref());
    if args.list_models {
        print(|out| out.write_all(models::list(look).as_bytes()))?;
        return Ok(Exit::Done);
    }
    let (reference, distorted) = args.inputs().ok_or(Error::NoInputs)?;
    if let Some(url) = [&reference].into_iter().chain(&distorted).find(|path| is_url(path)) {
        return Err(Error::IsUrl(url.clone()));
    }
    let request = request::build(&reference, &distorted, args);
    for path in &args.report {
        format_of(path)?;
        file::check(path).map_err(ReportError::from)?;
    }

    let cancelled = interrupt::token().map_err(Error::Signals)?;
    let started = Instant::now();
    let scored = {
        let bar = progress::Bar::new();
        vmafx_scoring::score::run(&request, &Tools::from_process_env(), &bar, &cancelled)
    };
    let outcomes = match scored {
        Ok(outcomes) => outcomes,
        // After a cancellation any step may fail first; its error says nothing to the user.
        Err(_) if cancelled.is_cancelled() => {
            eprintln!("\nstopped; no report was written");
            return Ok(Exit::Interrupted);
        }
        Err(error) => return Err(error.into()),
    };
    show(args, &outcomes, started.elapsed(), look)
}

fn is_url(path: &Path) -> bool {
    path.to_string_lossy().contains("://") && !path.exists()
}

/// Writes the reports, the result, the warnings and the clips below `--min-score`.
fn show(args: &ScoreArgs, outcomes: &[ScoringOutcome], elapsed: Duration, look: Look) -> Result<Exit, Error> {
    let results: Vec<(&ScoringOutcome, ScoreSummary)> = outcomes
        .iter()
        .map(|outcome| Ok((outcome, ScoreSummary::of(outcome)?)))
        .collect::<Result<_, SummaryError>>()?;
    let report = ScoringReport { outcomes, speed: speed(outcomes, elapsed) };
    for path in &args.report {
        report.save(path)?;
    }
    match args.output {
        ScoreFormat::Table => {
            print(|out| out.write_all(table::render(&results, &args.options.features, look).as_bytes()))?;
        }
        ScoreFormat::Json => write_report(&report, ReportFormat::Json)?,
        ScoreFormat::Csv => write_report(&report, ReportFormat::Csv)?,
    }
    for (outcome, _) in &results {
        let clip =
            if results.len() > 1 { format!("{}: ", outcome.distorted.path.display()) } else { String::new() };
        for warning in &outcome.warnings {
            eprintln!("warning: {clip}{}", wording::warning(warning));
        }
    }
    let below = min_score::below(&results, args.min_score);
    for clip in &below {
        eprintln!("{}", clip.message());
    }
    Ok(if below.is_empty() { Exit::Done } else { Exit::BelowMinimum })
}

fn write_report(report: &ScoringReport<'_>, format: ReportFormat) -> Result<(), Error> {
    let mut bytes = vec![];
    report.write(format, &mut bytes)?;
    print(|out| out.write_all(&bytes))
}

fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    write(&mut out).and_then(|()| out.flush()).map_err(Error::Output)
}

/// Frames per second, over all clips.
#[allow(clippy::cast_precision_loss)]
fn speed(outcomes: &[ScoringOutcome], elapsed: Duration) -> Option<f64> {
    let frames: usize = outcomes.iter().map(|outcome| outcome.frames.len()).sum();
    (elapsed > Duration::ZERO).then(|| frames as f64 / elapsed.as_secs_f64())
}
