//! `make bench`: figures with a limit, each measured several times in one run.
//!
//! Where possible a figure is a ratio to a competitor or to a physical limit that is measured in the same run, or CPU
//! seconds, because such numbers mean the same on every machine. One line is printed per figure, and all samples are
//! written to a JSON file together with a description of the machine.

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
use self::machine::CpuTime;
use crate::test::cargo;
use crate::workspace;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchPart {
    /// The local Kubernetes of the tests.
    Kubernetes,
    /// The scoring engine.
    Scoring,
    /// The controller's queue.
    Queue,
    Node,
    Operator,
    Trainer,
}

impl BenchPart {
    /// Measures, and reports each figure as soon as it is known.
    fn measure(self, report: &mut dyn FnMut(Figure)) -> Result<()> {
        match self {
            Self::Kubernetes => kubernetes::measure(report),
            Self::Scoring => scoring::measure(report),
            Self::Queue => queue::measure(report),
            Self::Node => node::measure(report),
            Self::Operator => operator::measure(report),
            Self::Trainer => trainer::measure(report),
        }
    }
}

/// The programs that all parts measure. One call builds them, because cargo compiles dependencies with the features that
/// the selected packages need together: a call for each part would compile most of them again.
const BUILD: &str = "build --release --locked \
    --bin vmafx --bin vmafx-controller --bin vmafx-node --bin vmafx-operator --bin vmafx-trainer \
    --example bare_loop --example label_clips --example learn_speed --example operator_load --example queue_load";

/// Measures one part, or all of them; an error when a figure misses its limit.
pub(crate) fn run(only: Option<BenchPart>) -> Result<()> {
    let parts = only.map_or_else(|| BenchPart::value_variants().to_vec(), |part| vec![part]);
    if parts != [BenchPart::Kubernetes] {
        cargo(&BUILD.split_whitespace().collect::<Vec<_>>(), &[])?;
    }
    let mut figures = Vec::new();
    for part in parts {
        let before = CpuTime::now();
        part.measure(&mut |figure| {
            println!("{figure}");
            figures.push(figure);
        })?;
        if let (Some(before), Some(now)) = (before, CpuTime::now()) {
            println!("other virtual machines took {} % of the CPU time meanwhile", now.stolen_since(&before));
        }
    }
    let path = workspace::root().join("target/bench/figures.json");
    fs::create_dir_all(workspace::root().join("target/bench"))?;
    let document = json!({ "machine": machine::describe(), "figures": figures });
    fs::write(&path, serde_json::to_string_pretty(&document)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("samples: {}", path.strip_prefix(workspace::root()).unwrap_or(&path).display());
    let short =
        figures.iter().filter(|figure| !figure.holds()).map(|figure| &*figure.name).collect::<Vec<_>>();
    if !short.is_empty() {
        bail!("these figures miss their limits: {}", short.join(", "));
    }
    Ok(())
}
