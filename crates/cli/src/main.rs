//! The `vmafx` command.

use std::process::ExitCode;

use clap::Parser;
use vmafx_cli::{Cli, failure};

fn main() -> ExitCode {
    match vmafx_cli::run(&Cli::parse()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprint!("{}", failure::text(&error));
            ExitCode::from(2)
        }
    }
}
