//! `vmafx score`: compares clips with their reference.
//!
//! This file is the order of events; each event is a file beneath it. Whatever can be refused is refused before the
//! first frame is read.

mod args;
mod clips;
#[cfg(test)]
mod example;
mod gate;
pub(crate) mod models;
mod progress;
mod request;
mod table;
mod values;

use std::io::{self, Write};
use std::time::{Duration, Instant};

pub use args::{Output, ScoreArgs};
pub use values::ValueError;
pub(crate) use values::score;
use vmafx_job::ReportFormat;
use vmafx_scoring::input::Tools;
use vmafx_scoring::outcome::Outcome;
use vmafx_scoring::report::{Report, ReportError, Summary, SummaryError, file, format_of, wording};
use vmafx_scoring::score::ScoreError;

use crate::terminal::Look;
use crate::{Exit, interrupt};

/// Why there is no score, or none to see.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No inputs.
    #[error("no clips are given; usage: vmafx score REF DIS [DIS...]")]
    NoInputs,
    /// The comparison failed.
    #[error(transparent)]
    Score(#[from] ScoreError),
    /// The comparison cannot be summed up.
    #[error(transparent)]
    Summary(#[from] SummaryError),
    /// A report could not be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Standard output or standard error is gone.
    #[error("the result cannot be written to standard output")]
    Output(#[source] io::Error),
    /// Ctrl-C cannot be watched.
    #[error("signals cannot be handled")]
    Signals(#[source] io::Error),
}

/// Runs the command.
pub fn run(args: &ScoreArgs) -> Result<Exit, Error> {
    let look = Look::of_stdout(std::env::var_os("NO_COLOR").as_deref());
    if args.list_models {
        print(|out| out.write_all(models::list(look).as_bytes()))?;
        return Ok(Exit::Done);
    }
    let (reference, distorted) = args.inputs().ok_or(Error::NoInputs)?;
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
        // Whatever broke first when everything was told to stop.
        Err(_) if cancelled.is_cancelled() => {
            eprintln!("\nstopped; nothing was written");
            return Ok(Exit::Interrupted);
        }
        Err(error) => return Err(error.into()),
    };
    show(args, &outcomes, started.elapsed(), look)
}

/// Writes what was asked for, says what should be known, and judges.
fn show(args: &ScoreArgs, outcomes: &[Outcome], took: Duration, look: Look) -> Result<Exit, Error> {
    let results: Vec<(&Outcome, Summary)> = outcomes
        .iter()
        .map(|outcome| Ok((outcome, Summary::of(outcome)?)))
        .collect::<Result<_, SummaryError>>()?;
    let report = Report { outcomes, speed: speed(outcomes, took) };
    for path in &args.report {
        report.save(path)?;
    }
    match args.output {
        Output::Table => {
            print(|out| out.write_all(table::render(&results, &args.options.features, look).as_bytes()))?;
        }
        Output::Json => write_report(&report, ReportFormat::Json)?,
        Output::Csv => write_report(&report, ReportFormat::Csv)?,
    }
    for (outcome, _) in &results {
        let about =
            if results.len() > 1 { format!("{}: ", outcome.distorted.path.display()) } else { String::new() };
        for warning in &outcome.warnings {
            eprintln!("warning: {about}{}", wording::warning(warning));
        }
    }
    let misses = gate::misses(&results, args.min_score);
    for miss in &misses {
        eprintln!("{}", miss.message());
    }
    Ok(if misses.is_empty() { Exit::Done } else { Exit::BelowMinimum })
}

fn write_report(report: &Report<'_>, format: ReportFormat) -> Result<(), Error> {
    let mut bytes = vec![];
    report.write(format, &mut bytes)?;
    print(|out| out.write_all(&bytes))
}

fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    write(&mut out).and_then(|()| out.flush()).map_err(Error::Output)
}

/// Frames scored per second of waiting, over all clips.
#[allow(clippy::cast_precision_loss)]
fn speed(outcomes: &[Outcome], took: Duration) -> Option<f64> {
    let frames: usize = outcomes.iter().map(|outcome| outcome.frames.len()).sum();
    (took > Duration::ZERO).then(|| frames as f64 / took.as_secs_f64())
}
