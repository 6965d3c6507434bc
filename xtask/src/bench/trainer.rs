//! How fast the trainer learns, what a checkpoint takes, and what is held in memory.

mod daemon;

use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::figure::{Bar, Figure};
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
    let figure = |name, unit, bar, limit, samples| Figure { name, unit, bar, limit, samples };
    report(figure("trainer.samples-learned", "samples/s", Bar::AtLeast, 20_000.0, speed));
    report(figure("trainer.learning-over-bumps-alone", "ratio", Bar::AtMost, 5.0, over_bumps));
    report(figure("trainer.memory-with-10000-replayable", "MB", Bar::AtMost, 100.0, memory));
    let (seconds, memory) = daemon::measure()?;
    report(figure("trainer.checkpoint-with-push", "s", Bar::AtMost, 1.0, seconds));
    report(figure("trainer.memory-of-the-daemon", "MB", Bar::AtMost, 100.0, memory));
    Ok(())
}
