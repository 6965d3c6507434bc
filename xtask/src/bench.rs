//! `make bench`: figures with a bar, each taken several times in one run.
//!
//! A figure is a ratio to a peer or to a physical limit measured in the same run, or CPU seconds, wherever it can be:
//! such numbers mean the same on every machine. One line is printed per figure, and all samples are written to a JSON
//! file together with what the machine is.

mod controller;
mod figure;
mod kubernetes;
mod machine;
mod measure;
mod node;
mod operator;
mod process;
mod queue;
mod scoring;
mod trainer;

use std::fs;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use serde_json::json;

use self::figure::Figure;
use crate::workspace;

/// A part of the system with figures of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// The local Kubernetes that every other measurement and test stands on.
    Kubernetes,
    /// The engine behind every score.
    Scoring,
    /// The queue behind every job.
    Queue,
    /// The node around every score.
    Node,
    /// The operator behind every resource.
    Operator,
    /// The trainer behind every learned model.
    Trainer,
}

impl Part {
    /// Measures, and hands over each figure as soon as it is known.
    fn measure(self, tell: &mut dyn FnMut(Figure)) -> Result<()> {
        match self {
            Self::Kubernetes => kubernetes::measure(tell),
            Self::Scoring => scoring::measure(tell),
            Self::Queue => queue::measure(tell),
            Self::Node => node::measure(tell),
            Self::Operator => operator::measure(tell),
            Self::Trainer => trainer::measure(tell),
        }
    }
}

/// Measures one part, or all of them; an error when a figure is short of its bar.
pub(crate) fn run(only: Option<Part>) -> Result<()> {
    let parts = only.map_or_else(|| Part::value_variants().to_vec(), |part| vec![part]);
    let mut figures = Vec::new();
    for part in parts {
        part.measure(&mut |figure| {
            println!("{figure}");
            figures.push(figure);
        })?;
    }
    let path = workspace::root().join("target/bench/figures.json");
    fs::create_dir_all(workspace::root().join("target/bench"))?;
    let report = json!({ "machine": machine::facts(), "figures": figures });
    fs::write(&path, serde_json::to_string_pretty(&report)?)
        .with_context(|| format!("write {}", path.display()))?;
    println!("samples: {}", path.strip_prefix(workspace::root()).unwrap_or(&path).display());
    let short = figures.iter().filter(|figure| !figure.holds()).map(|figure| figure.name).collect::<Vec<_>>();
    if !short.is_empty() {
        bail!("short of the bar: {}", short.join(", "));
    }
    Ok(())
}
