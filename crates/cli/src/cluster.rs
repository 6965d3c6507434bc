//! `vmafx kube`, and the same as `kubectl vmafx`: the VMAFX resources of a Kubernetes cluster.
//!
//! | module                                                   | holds                                                  |
//! |----------------------------------------------------------|--------------------------------------------------------|
//! | `get`, `explain`, `logs`, `change`, `wait`, `submit`     | one verb each; `change` has cancel, suspend and resume |
//! | `reach`, `trouble`                                       | how the cluster is found, and what may go wrong        |
//! | `kind`, `job`, `table`, `output`                         | resources as they are read and shown                   |
//! | `select`, `watch`                                        | which resources, and their changes                     |
//! | `complete`                                               | completion through `kubectl`                           |
//!
//! Resources are kept as the API server sent them, so that fields that this release does not know are shown too.

mod change;
pub mod complete;
mod explain;
mod get;
mod job;
mod kind;
mod logs;
mod output;
mod reach;
mod select;
mod submit;
mod table;
mod trouble;
mod wait;
mod watch;

use std::path::Path;

use clap::{Args, Parser, Subcommand};

use self::reach::ReachArgs;
pub use self::trouble::KubeError;
use crate::completion::CompletionArgs;
use crate::{Error, Exit, interrupt};

/// Who is said to have written a field.
const FIELD_MANAGER: &str = "kubectl-vmafx";

/// Calls to the API server at a time.
const AT_ONCE: usize = 16;

const EXAMPLES: &str = "\
Examples:
  kubectl vmafx submit -f pairs.csv --min-score 93 --wait
      A VmafxJob for every line of a CSV file, and their scores.

  kubectl vmafx get
      The jobs of the namespace: where they stand, their scores, and why they wait.

  kubectl vmafx explain trailer-1080p
      Why a job is where it is, and what to do next.

As a plugin of kubectl this program is called kubectl-vmafx; `vmafx kube` is the same.

Exit codes:
    0  done
    1  a score is below its minimum, or a job ended in another way than was waited for
    2  error, wrong usage, or a job without a score
  124  not reached within --timeout
  130  stopped by Ctrl-C";

/// Ask a Kubernetes cluster: scoring jobs, pools of workers, models that learn.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "More and examples: vmafx kube --help")]
pub struct KubeArgs {
    #[command(subcommand)]
    verb: Verb,

    #[command(flatten)]
    reach: ReachArgs,
}

/// Score video in this cluster, and see what became of it.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-vmafx",
    bin_name = "kubectl vmafx",
    version,
    propagate_version = true,
    max_term_width = 110
)]
#[command(after_long_help = EXAMPLES, after_help = "More and examples: kubectl vmafx --help")]
pub struct Plugin {
    #[command(subcommand)]
    verb: PluginVerb,

    #[command(flatten)]
    reach: ReachArgs,
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
}

impl Verb {
    /// What is said of what goes on when Ctrl-C ends the command.
    fn parting(&self) -> Option<&'static str> {
        match self {
            Self::Submit(_) => {
                Some("stopped; jobs that were made stay, and the same command again goes on from there")
            }
            Self::Wait(_) => Some("not waited for any more; the jobs go on"),
            Self::Cancel(_) | Self::Suspend(_) | Self::Resume(_) => {
                Some("stopped; what was changed stays, and the same command again goes on from there")
            }
            Self::Get(_) | Self::Explain(_) | Self::Logs(_) => None,
        }
    }
}

/// Whether the program was called as a plugin of `kubectl`.
pub fn is_plugin(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name == "kubectl-vmafx")
}

/// Runs a verb of `vmafx kube`.
pub(crate) async fn run(args: &KubeArgs) -> Result<Exit, Error> {
    act(&args.verb, &args.reach).await
}

/// Runs the plugin.
pub(crate) async fn run_plugin(plugin: &Plugin) -> Result<Exit, Error> {
    match &plugin.verb {
        PluginVerb::Kube(verb) => act(verb, &plugin.reach).await,
        PluginVerb::Completion(args) => crate::completion::run_plugin(args),
    }
}

async fn act(verb: &Verb, reach: &ReachArgs) -> Result<Exit, Error> {
    let stopped = interrupt::token().map_err(Error::Signals)?;
    let work = async {
        match verb {
            Verb::Get(args) => get::run(args, reach).await,
            Verb::Explain(args) => explain::run(args, reach).await,
            Verb::Logs(args) => logs::run(args, reach).await,
            Verb::Submit(args) => submit::run(args, reach).await,
            Verb::Wait(args) => wait::run(args, reach).await,
            Verb::Cancel(args) => change::cancel(args, reach).await,
            Verb::Suspend(args) => change::suspend(args, reach).await,
            Verb::Resume(args) => change::resume(args, reach).await,
        }
    };
    tokio::select! {
        done = work => done,
        () = stopped.cancelled() => {
            if let Some(words) = verb.parting() {
                eprintln!("{words}");
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
    fn the_name_of_the_program_tells_whether_it_is_a_plugin(#[case] program: &str, #[case] expected: bool) {
        assert_eq!(is_plugin(Path::new(program)), expected);
    }
}
