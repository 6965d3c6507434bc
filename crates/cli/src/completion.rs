//! `vmafx completion`: what a shell needs to complete commands.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cluster::Plugin;
use crate::{Cli, Error, Exit, output};

/// Print the completions of a shell, such as `vmafx completion bash > /etc/bash_completion.d/vmafx`.
///
/// `kubectl vmafx …` is completed by kubectl itself, which asks a program kubectl_complete-vmafx in PATH: make it a link
/// to vmafx.
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

pub(crate) fn run_plugin(args: &CompletionArgs) -> Result<Exit, Error> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Plugin::command(), "kubectl-vmafx", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
