//! `vmafx completion`: what a shell needs to complete commands.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::{Cli, Error, Exit, output};

/// Print the completions of a shell, such as `vmafx completion bash > /etc/bash_completion.d/vmafx`.
#[derive(Args, Clone, Debug)]
pub struct CompletionArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionArgs) -> Result<Exit, Error> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "vmafx", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
