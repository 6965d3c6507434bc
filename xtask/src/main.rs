//! Implements the targets of the Makefile; `make help` lists them.

mod bench;
mod cluster;
mod e2e;
mod images;
mod kube;
mod manifests;
mod run;
mod test;
mod tools;
mod vmafx_up;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start everything on this machine and score a clip.
    Run {
        /// Stay up until interrupted (1) or exit (0) [default: stay up in a terminal].
        #[arg(long, value_name = "0|1", value_parser = clap::builder::BoolishValueParser::new())]
        keep: Option<bool>,
    },
    /// Run every test, on one shared Kubernetes control plane.
    Test {
        /// Run only this test, which a whole run leaves out.
        #[arg(long, conflicts_with = "extra")]
        only: Option<test::NamedTest>,
        /// Arguments for `cargo test`, after `--`.
        #[arg(last = true)]
        extra: Vec<String>,
    },
    /// Run the end-to-end scenarios on a whole Kubernetes node with the images and the chart.
    E2e(e2e::Arguments),
    /// Start a whole Kubernetes node with the images and the chart, and leave it running.
    Cluster(kube::ClusterArgs),
    /// Build container images of the daemons, without a container engine.
    Images(images::Arguments),
    /// Manage a local Kubernetes cluster.
    #[command(subcommand)]
    Kube(kube::Command),
    /// Run the benchmarks; fail when a figure misses its limit.
    Bench {
        /// Measure only this part.
        #[arg(long)]
        only: Option<bench::BenchPart>,
    },
    /// Write all generated files.
    Manifests {
        /// Write nothing; fail when a file is out of date or a CRD does not extend the baseline.
        #[arg(long)]
        check: bool,
    },
    /// Make the current CRDs the baseline that later ones must extend. Part of a release.
    Baseline,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Run { keep } => run::run(keep.unwrap_or_else(run::is_interactive)),
        Command::Test { only: Some(named), .. } => named.run(),
        Command::Test { only: None, extra } => test::run(&extra),
        Command::E2e(arguments) => e2e::run(&arguments),
        Command::Cluster(arguments) => cluster::run(&arguments),
        Command::Images(arguments) => images::run(&arguments),
        Command::Kube(command) => kube::run(command),
        Command::Bench { only } => bench::run(only),
        Command::Manifests { check: true } => manifests::check(),
        Command::Manifests { check: false } => manifests::write(),
        Command::Baseline => manifests::move_baseline(),
    }
}
