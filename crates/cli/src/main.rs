//! The `vmafx` command; called `kubectl-vmafx` it is a plugin of `kubectl`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use vmafx_cli::cluster::{self, Plugin, complete};
use vmafx_cli::{Cli, Error, failure};
use vmafx_kit::config::{Environment, ParseExit, parse, styled};

const WRONG: u8 = 2;

fn main() -> ExitCode {
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    if complete::is_asked(&program) {
        complete::run(std::env::args().skip(1));
        ExitCode::SUCCESS
    } else if cluster::is_plugin(&program) {
        start::<Plugin>(vmafx_cli::run_plugin)
    } else {
        start::<Cli>(vmafx_cli::run)
    }
}

fn start<A: clap::Parser>(run: fn(&A) -> Result<ExitCode, Error>) -> ExitCode {
    let cli: A = match parse(std::env::args_os(), &Environment::of_process(), &[]) {
        Ok(cli) => cli,
        Err(ParseExit::HelpOrVersion(text)) => {
            // Whoever pipes the help into `head` closes the pipe early, and that is no failure.
            let _ = std::io::stdout().write_all(styled(&text).as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(ParseExit::Invalid(refusal)) => {
            eprint!("{}", failure::text(&refusal));
            return ExitCode::from(WRONG);
        }
    };
    match run(&cli) {
        Ok(exit) => exit,
        Err(error) => {
            eprint!("{}", failure::text(&error));
            ExitCode::from(WRONG)
        }
    }
}
