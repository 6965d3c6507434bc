//! `vmafx bench`: how fast this machine scores, with our kernels and with libvmaf.
//!
//! | module      | holds                                                            |
//! |-------------|------------------------------------------------------------------|
//! | [`args`]    | the options                                                      |
//! | [`content`] | the frames, which are generated                                  |
//! | [`measure`] | engine sessions on these frames, and their CPU and wall time     |
//! | [`result`]  | frames per second of both engines, and the JSON document         |
//! | [`table`]   | the table, and the sentence that sums it up                      |

mod args;
mod content;
mod measure;
mod result;
mod table;

use std::io;
use std::time::Duration;

use indicatif::ProgressBar;
use vmafx_job::FeatureEngine;
use vmafx_scoring::engine::models::{Model, ModelChoice, ModelError};
use vmafx_scoring::engine::{Engine, EngineError, LibvmafError};
use vmafx_scoring::picture::PictureFormat;

pub use self::args::BenchArgs;
use self::content::{FrameSet, Texture};
use self::measure::{Amount, Comparison, ROUNDS};
use self::result::{BenchResult, Machine};
use crate::{Error, Exit, bars, interrupt};

const PROGRESS: &str = "{spinner:.blue} {bar:24.blue/dim} {percent:>3} %  {msg}";
const TICK: Duration = Duration::from_millis(120);

/// From this height on, the classic model is the one for 2160p.
const UHD_HEIGHT: u32 = 2160;

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("no memory for frames of {format}; measure smaller ones with --size")]
    Memory { format: PictureFormat, source: LibvmafError },
    #[error(
        "{native} and libvmaf give different scores for {model} at {format}: {ours} and {theirs} for frame {frame}; do \
         not score with --engine native on this CPU, and report this with its name"
    )]
    DifferentScores {
        native: String,
        model: String,
        format: PictureFormat,
        frame: usize,
        ours: f64,
        theirs: f64,
    },
    #[error("cannot install the signal handlers")]
    Signals(#[source] io::Error),
}

/// What is measured in one row of the table.
struct BenchCase {
    model: Model,
    format: PictureFormat,
}

pub(crate) fn run(args: &BenchArgs) -> Result<Exit, Error> {
    // All models are found before the first one is measured.
    let cases = cases(args).map_err(EngineError::from).map_err(BenchError::from)?;
    let cancelled = interrupt::token().map_err(BenchError::Signals)?;
    let engines = [FeatureEngine::Native, FeatureEngine::Libvmaf].map(Engine::from);
    let threads = args.threads.into();
    let bar =
        ProgressBar::new((cases.len() * ROUNDS * engines.len()) as u64).with_style(bars::style(PROGRESS));
    bar.enable_steady_tick(TICK);
    let texture = Texture::new();
    let mut results = Vec::new();
    let mut frames: Option<FrameSet> = None;
    for case in &cases {
        bar.set_message(format!("generating frames of {}", case.format));
        let frames = match frames.take() {
            Some(same) if same.format() == case.format => frames.insert(same),
            _ => {
                let generated = FrameSet::generate(&texture, case.format)
                    .map_err(|source| BenchError::Memory { format: case.format, source })?;
                frames.insert(generated)
            }
        };
        let amount =
            args.frames.map_or(Amount::Seconds(args.seconds), |frames| Amount::Frames(frames.into()));
        let comparison = Comparison { model: &case.model, frames, engines, threads, amount };
        let measured = comparison.measure(&cancelled, &|engine| {
            let PictureFormat { width, height, .. } = case.format;
            bar.set_message(format!("{width}x{height}  {}  {engine}", case.model.name));
            bar.inc(1);
        });
        let Some([native, libvmaf]) = measured.map_err(BenchError::from)? else {
            bar.finish_and_clear();
            eprintln!("stopped; no result is shown, because not all was measured");
            return Ok(Exit::Interrupted);
        };
        results.push(BenchResult::new(case, native, libvmaf)?);
    }
    bar.finish_and_clear();
    let machine = Machine::this(args, engines[0]);
    args.output.show(&result::document(&machine, &results), |look, wide| {
        table::render(&machine, &results, look, wide)
    })?;
    Ok(Exit::Done)
}

/// Every model at every size, ordered by model, without duplicates.
fn cases(args: &BenchArgs) -> Result<Vec<BenchCase>, ModelError> {
    let formats: Vec<PictureFormat> = args.formats().collect();
    let choices: Vec<(ModelChoice, PictureFormat)> = if args.model.is_empty() {
        let auto = formats.iter().map(|format| (ModelChoice::Auto, *format));
        auto.chain(formats.iter().map(|format| (classic(*format), *format))).collect()
    } else {
        let of_model =
            |choice: &ModelChoice| formats.iter().map(|format| (choice.clone(), *format)).collect::<Vec<_>>();
        args.model.iter().flat_map(of_model).collect()
    };
    let mut cases: Vec<BenchCase> = Vec::new();
    for (choice, format) in choices {
        let model = Model::find(&choice, format, None)?;
        // For small frames, `auto` selects the classic model too.
        if !cases.iter().any(|case| case.format == format && case.model.digest == model.digest) {
            cases.push(BenchCase { model, format });
        }
    }
    Ok(cases)
}

/// The model of the v0.6 generation for this size.
fn classic(format: PictureFormat) -> ModelChoice {
    let name = if format.height >= UHD_HEIGHT { "vmaf_4k_v0.6.1" } else { "vmaf_v0.6.1" };
    ModelChoice::Named(name.to_owned())
}
