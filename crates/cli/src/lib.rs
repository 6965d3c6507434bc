//! The `vmafx` command: one module per subcommand, and what they share.
//!
//! Exit codes, the same for every subcommand: 0 done, 1 done but a bar was missed, 2 error or wrong usage,
//! 130 stopped by Ctrl-C.

pub mod failure;
mod interrupt;
pub mod score;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures video quality.
#[derive(Debug, Parser)]
#[command(name = "vmafx", version, propagate_version = true, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Score(Box<score::ScoreArgs>),
}

/// How a command ended that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Done,
    /// A clip is below the score asked for.
    BelowMinimum,
    /// Stopped by the user.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::BelowMinimum => 1,
            // What a shell reports for a program that Ctrl-C ended.
            Exit::Interrupted => 130,
        })
    }
}

/// Runs the command.
pub fn run(cli: &Cli) -> Result<Exit, score::Error> {
    match &cli.command {
        Command::Score(args) => score::run(args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
