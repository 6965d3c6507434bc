//! The `vmafx` command: one module per subcommand, and the modules that they share.
//!
//! | module                                                                 | holds                                           |
//! |------------------------------------------------------------------------|-------------------------------------------------|
//! | [`score`]                                                              | `vmafx score`: scores clips in this process     |
//! | [`bench`]                                                              | `vmafx bench`: the speed of this machine        |
//! | [`up`]                                                                 | `vmafx up`: a controller and a node             |
//! | [`submit`], [`get`], [`mod@watch`], [`explain`], [`cancel`], [`label`] | the commands that call a controller             |
//! | [`models`]                                                             | `vmafx models`: built-in models and checkpoints |
//! | [`cluster`]                                                            | `vmafx kube` and `kubectl vmafx`                |
//! | [`remote`]                                                             | the connection to a controller                  |
//! | `view`, [`output`], `terminal`                                         | tables, JSON and YAML of results                |
//!
//! All subcommands use the exit codes of [`Exit`].

mod address;
mod bars;
pub mod bench;
pub mod cancel;
pub mod cluster;
pub mod completion;
pub mod explain;
pub mod failure;
pub mod get;
mod interrupt;
pub mod label;
pub mod models;
pub mod output;
mod raw_video;
pub mod remote;
pub mod score;
pub mod submit;
mod terminal;
pub mod up;
mod view;
pub mod watch;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::runtime;
use vmafx_kit::tasks::BoxError;

/// Measure video quality (VMAF) on this machine or on the nodes of a controller.
#[derive(Debug, Parser)]
#[command(name = "vmafx", version, propagate_version = true, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Score(Box<score::ScoreArgs>),
    Bench(Box<bench::BenchArgs>),
    Up(Box<up::UpArgs>),
    Submit(Box<submit::SubmitArgs>),
    Get(Box<get::GetArgs>),
    Watch(Box<watch::WatchArgs>),
    Explain(Box<explain::ExplainArgs>),
    Cancel(Box<cancel::CancelArgs>),
    Label(Box<label::LabelArgs>),
    Models(Box<models::ModelsArgs>),
    Kube(Box<cluster::KubeArgs>),
    Completion(completion::CompletionArgs),
    /// Runs one job from standard input. `vmafx up` starts this process for each job.
    #[command(hide = true)]
    Worker,
}

/// The exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    /// A clip is below the minimum score, or a job did not reach the state that was waited for.
    BelowMinimum,
    /// An error, wrong usage, a job without a score, or a job that does not exist.
    Failed,
    /// The condition that was waited for did not become true before the timeout.
    TimedOut,
    /// Ctrl-C stopped the command.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::BelowMinimum => 1,
            Exit::Failed => 2,
            // The same as timeout(1).
            Exit::TimedOut => 124,
            // What a shell reports for a program that SIGINT terminated.
            Exit::Interrupted => 130,
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Score(#[from] score::Error),
    #[error(transparent)]
    Bench(#[from] bench::BenchError),
    #[error(transparent)]
    Pairs(#[from] submit::PairsError),
    #[error(transparent)]
    Models(#[from] models::ModelsError),
    #[error(transparent)]
    Remote(#[from] remote::RemoteError),
    #[error(transparent)]
    Kube(#[from] cluster::KubeError),
    #[error(transparent)]
    Dashboard(#[from] cluster::DashboardError),
    #[error(transparent)]
    Output(#[from] output::OutputError),
    #[error(transparent)]
    Up(BoxError),
    #[error("cannot install the signal handlers")]
    Signals(#[source] io::Error),
    #[error("cannot start the async runtime")]
    Runtime(#[source] io::Error),
}

pub fn run(cli: &Cli) -> Result<ExitCode, Error> {
    let exit = match &cli.command {
        // No thread may exist before the worker confines itself: it would not be confined.
        Command::Worker => {
            return Ok(vmafx_node::worker::run(io::BufReader::new(io::stdin()), io::stdout()));
        }
        Command::Score(args) => score::run(args)?,
        Command::Bench(args) => bench::run(args)?,
        Command::Up(args) => up::run(args).map_err(Error::Up)?,
        Command::Submit(args) => block_on(submit::run(args))?,
        Command::Get(args) => block_on(get::run(args))?,
        Command::Watch(args) => block_on(watch::run(args))?,
        Command::Explain(args) => block_on(explain::run(args))?,
        Command::Cancel(args) => block_on(cancel::run(args))?,
        Command::Label(args) => block_on(label::run(args))?,
        Command::Models(args) => block_on(models::run(args))?,
        Command::Kube(args) => block_on(cluster::run(args))?,
        Command::Completion(args) => completion::run(args)?,
    };
    Ok(exit.into())
}

pub fn run_plugin(plugin: &cluster::Plugin) -> Result<ExitCode, Error> {
    Ok(block_on(cluster::run_plugin(plugin))?.into())
}

fn block_on(command: impl Future<Output = Result<Exit, Error>>) -> Result<Exit, Error> {
    vmafx_kit::tls::install_crypto_provider();
    runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?.block_on(command)
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
