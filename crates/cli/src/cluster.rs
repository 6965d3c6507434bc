//! `vmafx kube`, also known as `kubectl vmafx`: commands on the VMAFX resources of a Kubernetes cluster.
//!
//! | module                                                   | holds                                                  |
//! |----------------------------------------------------------|--------------------------------------------------------|
//! | `get`, `explain`, `logs`, `change`, `wait`, `submit`     | one verb each; `change` has cancel, suspend and resume |
//! | `dashboard`                                              | the dashboard of the controller, by a port-forward     |
//! | `connection`, `error`                                    | the connection to the cluster, and failures            |
//! | `kind`, `job`, `table`, `output`                         | reading and printing resources                         |
//! | `select`, `watch`                                        | selecting resources, and watching them                 |
//! | `complete`                                               | completion through `kubectl`                           |
//!
//! Resources are untyped objects as the API server sent them, so that fields of later releases are shown too.

mod change;
pub mod complete;
mod connection;
mod dashboard;
mod error;
mod explain;
mod get;
mod job;
mod kind;
mod logs;
mod output;
mod select;
mod submit;
mod table;
mod wait;
mod watch;

use std::path::Path;

use clap::{Args, Parser, Subcommand};

use self::change::Change;
use self::connection::ConnectionArgs;
pub use self::dashboard::DashboardError;
pub use self::error::KubeError;
use crate::completion::CompletionArgs;
use crate::{Error, Exit, interrupt};

/// Owner of the fields that the commands write.
const FIELD_MANAGER: &str = "kubectl-vmafx";

const MAX_CONCURRENT_CALLS: usize = 16;

const EXAMPLES: &str = "\
Examples:
  kubectl vmafx submit -f pairs.csv --min-score 93 --wait
      Create a VmafxJob per line of a CSV file, and wait for the scores.

  kubectl vmafx get
      Show the jobs of the namespace with their phases, reasons and scores.

  kubectl vmafx explain trailer-1080p
      Explain why a job is in its state, and what to do next.

  kubectl vmafx dashboard --service-account video/reviewer
      Open the dashboard in the browser, signed in as a ServiceAccount.

`kubectl vmafx` and `vmafx kube` are the same; kubectl finds the program as kubectl-vmafx in the PATH.

Exit codes:
    0  success
    1  a score is below its minimum, or a job ended in another state than --for
    2  error, wrong usage, or a job without a score
  124  --timeout expired
  130  stopped by Ctrl-C";

/// Manage the scoring jobs, nodes and model trainings of a Kubernetes cluster.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "Details and examples: vmafx kube --help")]
pub struct KubeArgs {
    #[command(subcommand)]
    verb: Verb,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Score video on a Kubernetes cluster: manage scoring jobs, nodes and model trainings.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-vmafx",
    bin_name = "kubectl vmafx",
    version,
    propagate_version = true,
    max_term_width = 110
)]
#[command(after_long_help = EXAMPLES, after_help = "Details and examples: kubectl vmafx --help")]
pub struct Plugin {
    #[command(subcommand)]
    verb: PluginVerb,

    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
enum PluginVerb {
    #[command(flatten)]
    Kube(Verb),
    Completion(CompletionArgs),
}

#[derive(Clone, Debug, Subcommand)]
enum Verb {
    Get(Box<get::GetArgs>),
    Explain(Box<explain::ExplainArgs>),
    Logs(Box<logs::LogsArgs>),
    Submit(Box<submit::SubmitArgs>),
    Wait(Box<wait::WaitArgs>),
    Cancel(Box<change::CancelArgs>),
    Suspend(Box<change::SuspendArgs>),
    Resume(Box<change::ResumeArgs>),
    Dashboard(Box<dashboard::DashboardArgs>),
}

impl Verb {
    /// Printed when Ctrl-C stops the command: what continues in the cluster.
    fn interrupted_message(&self) -> Option<&'static str> {
        match self {
            Self::Submit(_) => Some("stopped; created jobs continue, and the command can be repeated"),
            Self::Wait(_) => Some("stopped waiting; the jobs continue"),
            Self::Cancel(_) | Self::Suspend(_) | Self::Resume(_) => {
                Some("stopped; changed jobs stay changed, and the command can be repeated")
            }
            Self::Dashboard(_) => Some("stopped; the pages in the browser show no changes any more"),
            Self::Get(_) | Self::Explain(_) | Self::Logs(_) => None,
        }
    }
}

/// Whether the program was started as a plugin of `kubectl`.
pub fn is_plugin(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name == "kubectl-vmafx")
}

pub(crate) async fn run(args: &KubeArgs) -> Result<Exit, Error> {
    run_verb(&args.verb, &args.connection).await
}

pub(crate) async fn run_plugin(plugin: &Plugin) -> Result<Exit, Error> {
    match &plugin.verb {
        PluginVerb::Kube(verb) => run_verb(verb, &plugin.connection).await,
        PluginVerb::Completion(args) => crate::completion::run_plugin(args),
    }
}

async fn run_verb(verb: &Verb, connection: &ConnectionArgs) -> Result<Exit, Error> {
    let stopped = interrupt::token().map_err(Error::Signals)?;
    let work = async {
        match verb {
            Verb::Get(args) => get::run(args, connection).await,
            Verb::Explain(args) => explain::run(args, connection).await,
            Verb::Logs(args) => logs::run(args, connection).await,
            Verb::Submit(args) => submit::run(args, connection).await,
            Verb::Wait(args) => wait::run(args, connection).await,
            Verb::Cancel(args) => change::run(Change::Cancel, &args.change, connection).await,
            Verb::Suspend(args) => change::run(Change::Suspend, &args.change, connection).await,
            Verb::Resume(args) => change::run(Change::Resume, &args.change, connection).await,
            Verb::Dashboard(args) => dashboard::run(args, connection).await,
        }
    };
    tokio::select! {
        done = work => done,
        () = stopped.cancelled() => {
            if let Some(message) = verb.interrupted_message() {
                eprintln!("{message}");
            }
            Ok(Exit::Interrupted)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_command_line_of_the_plugin_is_consistent() {
        Plugin::command().debug_assert();
    }

    #[rstest]
    #[case("/usr/local/bin/kubectl-vmafx", true)]
    #[case("kubectl-vmafx", true)]
    #[case("/usr/bin/vmafx", false)]
    #[case("kubectl_complete-vmafx", false)]
    fn the_name_of_the_program_decides_whether_it_is_a_plugin(#[case] program: &str, #[case] expected: bool) {
        assert_eq!(is_plugin(Path::new(program)), expected);
    }
}
