//! The `vmafx-node` command.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Pulls jobs and scores them.
#[derive(Debug, Parser)]
#[command(name = "vmafx-node", version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Does one job that comes on standard input; started by the agent.
    #[command(hide = true)]
    Worker,
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Worker => vmafx_node::worker::run(std::io::stdin().lock(), std::io::stdout()),
    }
}
