//! The `vmafx-trainer` command.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use vmafx_trainer::evaluate::{self, EvaluateArgs};

/// Learns a quality model from labelled jobs
#[derive(Parser)]
#[command(name = "vmafx-trainer", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What the learner would have made of a table of labelled clips
    Evaluate(EvaluateArgs),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Evaluate(args) => evaluate::run(&args),
    }
}
