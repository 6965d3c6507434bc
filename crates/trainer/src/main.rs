//! The `vmafx-trainer` command: the daemon, and `vmafx-trainer evaluate`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use vmafx_kit::daemon;
use vmafx_trainer::evaluate::{self, EvaluateArgs};
use vmafx_trainer::run;
use vmafx_trainer::settings::Settings;

/// Trains a quality model on labelled jobs. Without a command it runs as a daemon: see `vmafx-trainer --help`.
#[derive(Debug, Parser)]
#[command(name = "vmafx-trainer", version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Evaluate(EvaluateArgs),
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("evaluate" | "help") => {
            let Command::Evaluate(args) = Cli::parse().command;
            evaluate::run(&args)
        }
        _ => daemon::main::<Settings, _>(run::start),
    }
}
