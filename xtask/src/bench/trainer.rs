//! How fast the trainer learns, what a checkpoint takes, and what is held in memory.

mod daemon;

use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::figure::Figure;
use super::measure;
use crate::workspace;

const REPEATS: usize = 5;
const SAMPLES: &str = "200000";

pub(super) fn measure(report: &mut dyn FnMut(Figure)) -> Result<()> {
    println!("trainer: vmaf_v0.6.1, 211 centres and 6 features, one replayed sample with each new one");
    let (mut speed, mut over_bumps, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let cost = measure::run(Command::new(workspace::release("examples/learn_speed")).arg(SAMPLES))?;
        let said: Value = serde_json::from_str(&cost.output)?;
        let number = |name: &str| said[name].as_f64().with_context(|| format!("no {name} in {said}"));
        speed.push(number("per_second")?);
        over_bumps.push(number("over_bumps")?);
        memory.push(cost.peak);
    }
    report(Figure::at_least("trainer.samples-learned", "samples/s", 20_000.0, speed));
    report(Figure::at_most("trainer.learning-over-bumps-alone", "ratio", 5.0, over_bumps));
    report(Figure::at_most("trainer.memory-with-10000-replayable", "MB", 100.0, memory));
    let (seconds, memory) = daemon::measure()?;
    report(Figure::at_most("trainer.checkpoint-with-push", "s", 1.0, seconds));
    report(Figure::at_most("trainer.memory-of-the-daemon", "MB", 100.0, memory));
    Ok(())
}
