//! The `vmafx` command. A link named `kubectl-vmafx` makes it a plugin of `kubectl`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use vmafx_cli::cluster::{self, Plugin, complete};
use vmafx_cli::{Cli, Error, Exit, failure};
use vmafx_kit::config::{Environment, ParseExit, parse, styled};

fn main() -> ExitCode {
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    if complete::is_completion(&program) {
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
            // `vmafx --help | head` closes the pipe early, which is not an error.
            let _ = std::io::stdout().write_all(styled(&text).as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(ParseExit::Invalid(error)) => return fail(&error),
    };
    run(&cli).unwrap_or_else(|error| fail(&error))
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    eprint!("{}", failure::text(error));
    Exit::Failed.into()
}
