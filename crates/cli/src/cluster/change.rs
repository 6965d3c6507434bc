//! `cancel`, `suspend` and `resume`: one field of a job's spec each.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::thread;

use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::job::Job;
use super::kind::Kind;
use super::output::{Format, FormatArgs};
use super::reach::{Cluster, ReachArgs};
use super::select::JobsArgs;
use super::trouble::KubeError;
use super::{AT_ONCE, FIELD_MANAGER};
use crate::output::print;
use crate::{Error, Exit};

/// Give jobs up for good. Their resources stay, with what is known of them; this cannot be taken back.
///
/// A job that waits leaves the queue, one that runs is stopped. A job that is cancelled already stays so; one that
/// has ended otherwise is an error.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx cancel trailer-1080p
  kubectl vmafx cancel -l batch=nightly --yes
  kubectl vmafx get -l batch=nightly -o name | xargs kubectl vmafx cancel")]
pub(super) struct CancelArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

/// Hold jobs back. One that runs is stopped, and begins anew when it is resumed.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx suspend trailer-1080p
  kubectl vmafx suspend --all --yes")]
pub(super) struct SuspendArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

/// Let jobs go on that were held back.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx resume trailer-1080p
  kubectl vmafx resume -l batch=nightly --yes")]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

#[derive(Args, Clone, Debug)]
struct ChangeArgs {
    #[command(flatten)]
    jobs: JobsArgs,

    /// Do not ask before many are changed
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    format: FormatArgs,
}

pub(super) async fn cancel(args: &CancelArgs, reach: &ReachArgs) -> Result<Exit, Error> {
    run(Change::Cancel, &args.change, reach).await
}

pub(super) async fn suspend(args: &SuspendArgs, reach: &ReachArgs) -> Result<Exit, Error> {
    run(Change::Suspend, &args.change, reach).await
}

pub(super) async fn resume(args: &ResumeArgs, reach: &ReachArgs) -> Result<Exit, Error> {
    run(Change::Resume, &args.change, reach).await
}

/// What is to be done with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Cancel,
    Suspend,
    Resume,
}

/// What that means for one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Need {
    /// A patch.
    Patch,
    /// Nothing: it is so already.
    Nothing,
    /// It cannot be.
    Never(String),
}

impl Change {
    fn verb(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Cancel => "cancelled",
            Self::Suspend => "suspended",
            Self::Resume => "resumed",
        }
    }

    fn patch(self) -> Value {
        match self {
            Self::Cancel => json!({ "spec": { "cancel": true } }),
            Self::Suspend => json!({ "spec": { "suspend": true } }),
            Self::Resume => json!({ "spec": { "suspend": false } }),
        }
    }

    fn need(self, job: Job<'_>) -> Need {
        let name = job.name();
        match self {
            Self::Cancel if job.cancel() => Need::Nothing,
            _ if job.cancel() => {
                Need::Never(format!("{name} was cancelled: submit it again under another name"))
            }
            _ if job.is_over() => Need::Never(format!(
                "{name} has ended ({}): there is nothing to {}",
                job.phase(),
                self.verb()
            )),
            Self::Suspend if job.suspend() => Need::Nothing,
            Self::Resume if !job.suspend() => Need::Nothing,
            _ => Need::Patch,
        }
    }
}

async fn run(change: Change, args: &ChangeArgs, reach: &ReachArgs) -> Result<Exit, Error> {
    let cluster = reach.connect().await?;
    let mut found = args.jobs.find(&cluster).await?;
    let never: Vec<String> = found
        .iter()
        .filter_map(|object| match change.need(Job(object)) {
            Need::Never(why) => Some(why),
            Need::Patch | Need::Nothing => None,
        })
        .collect();
    if args.jobs.by_name() {
        // Nothing is changed unless all can be: half of a command is hard to repeat.
        if !never.is_empty() {
            return Err(KubeError::Senseless(never).into());
        }
    } else {
        // Of many only those are meant that it can be done with.
        found.retain(|object| change.need(Job(object)) == Need::Patch);
        if found.is_empty() {
            eprintln!("there is no job to {} in namespace {}", change.verb(), cluster.namespace);
            args.format.show(Kind::Job, &[], false, |_, _| String::new())?;
            return Ok(Exit::Done);
        }
        confirm(change, args.yes, found.len(), &cluster.namespace).await?;
    }
    let all = found.len();
    let mut answers =
        futures::stream::iter(found).map(|object| apply(&cluster, change, object)).buffered(AT_ONCE);
    let mut changed = Vec::with_capacity(all);
    while let Some((object, done)) = answers.try_next().await? {
        if matches!(args.format.output, Format::Table | Format::Wide) {
            let what = if done { change.done().to_owned() } else { format!("{} before", change.done()) };
            print(&format!("{} {what}\n", Kind::Job.full_name(&object)))?;
        }
        changed.push(object);
    }
    if !matches!(args.format.output, Format::Table | Format::Wide) {
        args.format.show(Kind::Job, &changed, args.jobs.by_name() && all == 1, |_, _| String::new())?;
    }
    Ok(Exit::Done)
}

/// The job afterwards, and whether anything was changed.
async fn apply(
    cluster: &Cluster,
    change: Change,
    object: DynamicObject,
) -> Result<(DynamicObject, bool), KubeError> {
    if change.need(Job(&object)) != Need::Patch {
        return Ok((object, false));
    }
    let name = Job(&object).name().to_owned();
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let api = cluster.objects(Kind::Job);
    let patch = Patch::Merge(change.patch());
    let what = format!("{} {name}", change.verb());
    Ok((cluster.call(&what, api.patch(&name, &params, &patch)).await?, true))
}

/// Many are only changed when somebody says so.
async fn confirm(change: Change, yes: bool, jobs: usize, namespace: &str) -> Result<(), KubeError> {
    if yes {
        return Ok(());
    }
    let plural = if jobs == 1 { "job" } else { "jobs" };
    let question = format!("{} {jobs} {plural} in namespace {namespace}", change.verb());
    if !io::stdin().is_terminal() {
        return Err(KubeError::Unconfirmed(question));
    }
    let _ = write!(io::stderr(), "{question}? [y/N] ");
    let (tell, said) = oneshot::channel();
    // A thread that nobody waits for: whoever presses Ctrl-C here does not want to press Enter too.
    let reader = thread::Builder::new().name("answer".to_owned()).spawn(move || {
        let mut line = String::new();
        let _ = io::stdin().lock().read_line(&mut line);
        let _ = tell.send(line);
    });
    let answer = if reader.is_ok() { said.await.unwrap_or_default() } else { String::new() };
    if is_yes(&answer) { Ok(()) } else { Err(KubeError::Declined) }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn job(spec: &Value, ended: Option<&str>) -> DynamicObject {
        let conditions = ended.map(|type_| json!([{ "type": type_, "status": "True", "reason": "x" }]));
        serde_json::from_value(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "a" }, "spec": spec,
            "status": { "phase": "P", "conditions": conditions.unwrap_or(json!([])) },
        }))
        .unwrap()
    }

    #[rstest]
    #[case(Change::Cancel, json!({}), None, Ok(true))]
    #[case(Change::Cancel, json!({ "cancel": true }), None, Ok(false))]
    #[case(Change::Cancel, json!({ "cancel": true }), Some("Failed"), Ok(false))]
    #[case(Change::Cancel, json!({}), Some("Complete"), Err("a has ended (P): there is nothing to cancel"))]
    #[case(Change::Cancel, json!({}), Some("Failed"), Err("a has ended (P): there is nothing to cancel"))]
    #[case(Change::Suspend, json!({}), None, Ok(true))]
    #[case(Change::Suspend, json!({ "suspend": true }), None, Ok(false))]
    #[case(Change::Suspend, json!({}), Some("Complete"), Err("a has ended (P): there is nothing to suspend"))]
    #[case(Change::Suspend, json!({ "cancel": true }), None, Err("a was cancelled"))]
    #[case(Change::Resume, json!({ "suspend": true }), None, Ok(true))]
    #[case(Change::Resume, json!({}), None, Ok(false))]
    #[case(Change::Resume, json!({ "suspend": true, "cancel": true }), None, Err("a was cancelled"))]
    #[case(Change::Resume, json!({}), Some("Failed"), Err("a has ended (P): there is nothing to resume"))]
    fn a_change_is_made_once_and_never_after_the_end(
        #[case] change: Change,
        #[case] spec: Value,
        #[case] ended: Option<&str>,
        #[case] expected: Result<bool, &str>,
    ) {
        let need = change.need(Job(&job(&spec, ended)));
        match expected {
            Ok(patch) => assert_eq!(need, if patch { Need::Patch } else { Need::Nothing }),
            Err(why) => assert!(matches!(&need, Need::Never(said) if said.starts_with(why)), "{need:?}"),
        }
    }

    #[rstest]
    #[case("y\n", true)]
    #[case(" Yes \n", true)]
    #[case("\n", false)]
    #[case("n\n", false)]
    #[case("", false)]
    fn only_a_yes_is_a_yes(#[case] answer: &str, #[case] expected: bool) {
        assert_eq!(is_yes(answer), expected);
    }
}
