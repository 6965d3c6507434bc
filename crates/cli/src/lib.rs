//! The `vmafx` command: one module per subcommand, and what they share.
//!
//! | module                                                                   | holds                                      |
//! |--------------------------------------------------------------------------|--------------------------------------------|
//! | [`score`]                                                                | `vmafx score`: on this machine, at once    |
//! | [`up`]                                                                   | `vmafx up`: a controller and a node        |
//! | [`submit`], [`get`], [`mod@watch`], [`explain`], [`cancel`], [`label`]   | what is asked of a controller              |
//! | [`models`]                                                               | `vmafx models`: built in, learned, compared |
//! | [`cluster`]                                                              | `vmafx kube`, and `kubectl vmafx`          |
//! | [`remote`]                                                               | how a controller is found and asked        |
//! | `view`, [`output`], `terminal`                                           | how answers are shown                      |
//!
//! Exit codes, the same for every subcommand: 0 done, 1 done but a bar was missed, 2 error, wrong usage or a job without
//! a score, 124 not reached in the time given, 130 stopped by Ctrl-C.

mod address;
mod bars;
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

/// Measures video quality: on this machine, or with the nodes of a controller.
#[derive(Debug, Parser)]
#[command(name = "vmafx", version, propagate_version = true, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Score(Box<score::ScoreArgs>),
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
    /// Does one job that comes on standard input; started by `vmafx up`.
    #[command(hide = true)]
    Worker,
}

/// How a command ended that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Done,
    /// A clip is below the score asked for, or a job is not where it was wanted.
    BelowMinimum,
    /// A job has no score, or there is no such job.
    Failed,
    /// What was waited for did not come in time.
    TimedOut,
    /// Stopped by the user.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::BelowMinimum => 1,
            Exit::Failed => 2,
            // As timeout(1) has it.
            Exit::TimedOut => 124,
            // What a shell reports for a program that Ctrl-C ended.
            Exit::Interrupted => 130,
        })
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No score.
    #[error(transparent)]
    Score(#[from] score::Error),
    /// No pairs.
    #[error(transparent)]
    Pairs(#[from] submit::PairsError),
    /// No such model.
    #[error(transparent)]
    Models(#[from] models::ModelsError),
    /// No answer from the controller.
    #[error(transparent)]
    Remote(#[from] remote::RemoteError),
    /// No answer from the cluster.
    #[error(transparent)]
    Kube(#[from] cluster::KubeError),
    /// No place to write the answer to.
    #[error(transparent)]
    Output(#[from] output::OutputError),
    /// Not up, or not any more.
    #[error(transparent)]
    Up(BoxError),
    /// Ctrl-C cannot be watched.
    #[error("signals cannot be handled")]
    Signals(#[source] io::Error),
    /// Nothing can be waited for.
    #[error("the runtime cannot be started")]
    Runtime(#[source] io::Error),
}

/// Runs the command.
pub fn run(cli: &Cli) -> Result<ExitCode, Error> {
    let exit = match &cli.command {
        // Before anything that starts a thread: a thread would not be confined.
        Command::Worker => {
            return Ok(vmafx_node::worker::run(io::BufReader::new(io::stdin()), io::stdout()));
        }
        Command::Score(args) => score::run(args)?,
        Command::Up(args) => up::run(args).map_err(Error::Up)?,
        Command::Submit(args) => remotely(submit::run(args))?,
        Command::Get(args) => remotely(get::run(args))?,
        Command::Watch(args) => remotely(watch::run(args))?,
        Command::Explain(args) => remotely(explain::run(args))?,
        Command::Cancel(args) => remotely(cancel::run(args))?,
        Command::Label(args) => remotely(label::run(args))?,
        Command::Models(args) => remotely(models::run(args))?,
        Command::Kube(args) => remotely(cluster::run(args))?,
        Command::Completion(args) => completion::run(args)?,
    };
    Ok(exit.into())
}

/// Runs the command as a plugin of `kubectl`.
pub fn run_plugin(plugin: &cluster::Plugin) -> Result<ExitCode, Error> {
    Ok(remotely(cluster::run_plugin(plugin))?.into())
}

/// Does something that talks to a controller or a cluster.
fn remotely(work: impl Future<Output = Result<Exit, Error>>) -> Result<Exit, Error> {
    vmafx_kit::tls::install_crypto_provider();
    runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?.block_on(work)
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
