//! The `vmafx` command.

use std::io::Write as _;
use std::process::ExitCode;

use vmafx_cli::{Cli, failure};
use vmafx_kit::config::{Environment, Stop, parse, styled};

const WRONG: u8 = 2;

fn main() -> ExitCode {
    let cli: Cli = match parse(std::env::args_os(), &Environment::of_process(), &[]) {
        Ok(cli) => cli,
        Err(Stop::Answer(text)) => {
            // Whoever pipes the help into `head` closes the pipe early, and that is no failure.
            let _ = std::io::stdout().write_all(styled(&text).as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(Stop::Refused(refusal)) => {
            eprint!("{}", failure::text(&refusal));
            return ExitCode::from(WRONG);
        }
    };
    match vmafx_cli::run(&cli) {
        Ok(exit) => exit,
        Err(error) => {
            eprint!("{}", failure::text(&error));
            ExitCode::from(WRONG)
        }
    }
}
