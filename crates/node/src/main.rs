//! The `vmafx-node` command: the agent, and the two other things this program can be.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use vmafx_kit::daemon;
use vmafx_node::run_once::{self, RunOnceArgs};
use vmafx_node::settings::Settings;
use vmafx_node::{start, worker};

/// What is not the agent.
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
    RunOnce(Box<RunOnceArgs>),
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("worker" | "run-once" | "help") => other(),
        _ => daemon::main::<Settings, _>(start::start),
    }
}

fn other() -> ExitCode {
    match Cli::try_parse() {
        // Before anything that starts a thread: a thread would not be confined.
        Ok(Cli { command: Command::Worker }) => {
            worker::run(std::io::BufReader::new(std::io::stdin()), std::io::stdout())
        }
        Ok(Cli { command: Command::RunOnce(args) }) => run_once::run(&args),
        Err(error) => {
            // Help and the version are no errors.
            let wrong = error.use_stderr();
            _ = error.print();
            if wrong { ExitCode::from(run_once::USAGE) } else { ExitCode::SUCCESS }
        }
    }
}
