//! The `vmafx-node` command: the agent, and two subcommands.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use vmafx_job::RunResult;
use vmafx_kit::daemon;
use vmafx_node::run_once::{self, RunOnceArgs};
use vmafx_node::settings::Settings;
use vmafx_node::{start, worker};

#[derive(Debug, Parser)]
#[command(name = "vmafx-node", version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs one task from standard input; started by the agent.
    #[command(hide = true)]
    Worker,
    RunOnce(Box<RunOnceArgs>),
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("worker" | "run-once" | "help") => subcommand(),
        _ => daemon::main::<Settings, _>(start::start),
    }
}

fn subcommand() -> ExitCode {
    match Cli::try_parse() {
        // Before anything that starts a thread, which would not be confined.
        Ok(Cli { command: Command::Worker }) => {
            worker::run(std::io::BufReader::new(std::io::stdin()), std::io::stdout())
        }
        Ok(Cli { command: Command::RunOnce(args) }) => run_once::run(&args),
        Err(error) => {
            // `--help` and `--version` come here as well.
            let is_error = error.use_stderr();
            _ = error.print();
            if is_error { ExitCode::from(RunResult::EXIT_USAGE) } else { ExitCode::SUCCESS }
        }
    }
}
