//! `vmafx completion`: shell completion scripts.

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;

use crate::cluster::Plugin;
use crate::{Cli, Error, Exit, output};

/// Print the completion script for a shell.
///
/// For bash: `vmafx completion bash > /etc/bash_completion.d/vmafx`. To complete `kubectl vmafx`, kubectl runs the
/// program kubectl_complete-vmafx in PATH; create it as a link to vmafx.
#[derive(Args, Clone, Debug)]
pub struct CompletionArgs {
    /// Shell to generate the script for
    shell: Shell,
}

pub(crate) fn run(args: &CompletionArgs) -> Result<Exit, Error> {
    print(args.shell, &mut Cli::command(), "vmafx")
}

pub(crate) fn run_plugin(args: &CompletionArgs) -> Result<Exit, Error> {
    print(args.shell, &mut Plugin::command(), "kubectl-vmafx")
}

fn print(shell: Shell, command: &mut Command, name: &str) -> Result<Exit, Error> {
    let mut text = Vec::new();
    clap_complete::generate(shell, command, name, &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
