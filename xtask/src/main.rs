//! The work behind the Makefile. `make help` lists the usual ways in.

mod bench;
mod cluster;
mod e2e;
mod images;
mod kube;
mod manifests;
mod one_machine;
mod run;
mod test;
mod tools;
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
    /// Bring up the project on this machine and show it at work.
    Run {
        /// Stay up until interrupted: 1 or 0; left out, if somebody is at the terminal.
        #[arg(long, value_name = "0|1", value_parser = clap::builder::BoolishValueParser::new())]
        keep: Option<bool>,
    },
    /// Run every test, on one shared Kubernetes control plane.
    Test {
        /// What follows `--` goes to `cargo test`.
        #[arg(last = true)]
        extra: Vec<String>,
    },
    /// Do what users do, on a whole Kubernetes node with the images and the chart.
    E2e(e2e::Arguments),
    /// Start a whole Kubernetes node with the images and the chart, and leave it running.
    Cluster(kube::Place),
    /// Make container images of the daemons, without a container engine.
    Images(images::Arguments),
    /// A real Kubernetes on this machine.
    #[command(subcommand)]
    Kube(kube::Command),
    /// Measure; fail when a figure is short of its bar.
    Bench {
        /// Measure this part only.
        #[arg(long)]
        only: Option<bench::Part>,
    },
    /// Write every file that is generated from the types.
    Manifests {
        /// Write nothing; fail when a file is stale or a definition does not extend the baseline.
        #[arg(long)]
        check: bool,
    },
    /// Make the present CRDs the baseline that later ones must extend. Part of a release.
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
        Command::Run { keep } => run::run(keep.unwrap_or_else(run::somebody_is_there)),
        Command::Test { extra } => test::run(&extra),
        Command::E2e(arguments) => e2e::run(&arguments),
        Command::Cluster(place) => cluster::run(&place),
        Command::Images(arguments) => images::run(&arguments),
        Command::Kube(command) => kube::run(command),
        Command::Bench { only } => bench::run(only),
        Command::Manifests { check: true } => manifests::check(),
        Command::Manifests { check: false } => manifests::write(),
        Command::Baseline => manifests::move_baseline(),
    }
}
