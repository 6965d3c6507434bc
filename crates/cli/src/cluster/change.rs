//! `cancel`, `suspend` and `resume`: each changes one field of a job's spec.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::thread;

use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::connection::{Cluster, ConnectionArgs};
use super::error::KubeError;
use super::job::JobView;
use super::kind::ResourceKind;
use super::output::{Format, FormatArgs};
use super::select::JobSelectionArgs;
use super::{FIELD_MANAGER, MAX_CONCURRENT_CALLS};
use crate::output::print;
use crate::{Error, Exit};

/// Cancel jobs permanently; their resources remain.
///
/// A waiting job leaves the queue, and a running job is stopped. A job that is already cancelled is left alone; it is an
/// error if a named job has ended in another way.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx cancel trailer-1080p
  kubectl vmafx cancel -l batch=nightly --yes
  kubectl vmafx get -l batch=nightly -o name | xargs kubectl vmafx cancel")]
pub(super) struct CancelArgs {
    #[command(flatten)]
    pub(super) change: ChangeArgs,
}

/// Suspend jobs; a running job is stopped, and starts from the beginning when it is resumed.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx suspend trailer-1080p
  kubectl vmafx suspend --all --yes")]
pub(super) struct SuspendArgs {
    #[command(flatten)]
    pub(super) change: ChangeArgs,
}

/// Resume suspended jobs.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx resume trailer-1080p
  kubectl vmafx resume -l batch=nightly --yes")]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    pub(super) change: ChangeArgs,
}

#[derive(Args, Clone, Debug)]
pub(super) struct ChangeArgs {
    #[command(flatten)]
    jobs: JobSelectionArgs,

    /// Do not ask for confirmation with -l and --all
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Cancel,
    Suspend,
    Resume,
}

/// What a change requires for one job.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RequiredAction {
    Patch,
    /// The field already has the value.
    None,
    /// The job cannot be changed any more, with the message for the user.
    Impossible(String),
}

impl Change {
    fn verb(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
        }
    }

    fn past_tense(self) -> &'static str {
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

    fn required_action(self, job: JobView<'_>) -> RequiredAction {
        let name = job.name();
        match self {
            Self::Cancel if job.cancel() => RequiredAction::None,
            _ if job.cancel() => RequiredAction::Impossible(format!(
                "{name} was cancelled: submit it again under another name"
            )),
            _ if job.has_ended() => RequiredAction::Impossible(format!(
                "{name} has ended ({}): there is nothing to {}",
                job.phase(),
                self.verb()
            )),
            Self::Suspend if job.suspend() => RequiredAction::None,
            Self::Resume if !job.suspend() => RequiredAction::None,
            _ => RequiredAction::Patch,
        }
    }
}

pub(super) async fn run(
    change: Change,
    args: &ChangeArgs,
    connection: &ConnectionArgs,
) -> Result<Exit, Error> {
    let cluster = connection.connect().await?;
    let mut jobs = args.jobs.find(&cluster).await?;
    let impossible: Vec<String> = jobs
        .iter()
        .filter_map(|object| match change.required_action(JobView(object)) {
            RequiredAction::Impossible(message) => Some(message),
            RequiredAction::Patch | RequiredAction::None => None,
        })
        .collect();
    if args.jobs.by_name() {
        // All named jobs are changed or none: a command that was carried out in part is hard to repeat.
        if !impossible.is_empty() {
            return Err(KubeError::InvalidRequest(impossible).into());
        }
    } else {
        // A selector means only the jobs that can be changed.
        jobs.retain(|object| change.required_action(JobView(object)) == RequiredAction::Patch);
        if jobs.is_empty() {
            eprintln!("there is no job to {} in namespace {}", change.verb(), cluster.namespace);
            args.format.show(ResourceKind::Job, &[], false, |_| String::new())?;
            return Ok(Exit::Done);
        }
        confirm(change, args.yes, jobs.len(), &cluster.namespace).await?;
    }
    let all = jobs.len();
    let mut results = futures::stream::iter(jobs)
        .map(|object| apply(&cluster, change, object))
        .buffered(MAX_CONCURRENT_CALLS);
    let mut changed = Vec::with_capacity(all);
    while let Some((object, patched)) = results.try_next().await? {
        if matches!(args.format.output, Format::Table | Format::Wide) {
            let already = if patched { "" } else { "already " };
            print(&format!("{} {already}{}\n", ResourceKind::Job.full_name(&object), change.past_tense()))?;
        }
        changed.push(object);
    }
    if !matches!(args.format.output, Format::Table | Format::Wide) {
        args.format.show(ResourceKind::Job, &changed, args.jobs.by_name() && all == 1, |_| String::new())?;
    }
    Ok(Exit::Done)
}

/// Returns the job after the change, and whether it was patched.
async fn apply(
    cluster: &Cluster,
    change: Change,
    object: DynamicObject,
) -> Result<(DynamicObject, bool), KubeError> {
    if change.required_action(JobView(&object)) != RequiredAction::Patch {
        return Ok((object, false));
    }
    let name = JobView(&object).name().to_owned();
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let api = cluster.objects(ResourceKind::Job);
    let patch = Patch::Merge(change.patch());
    let what = format!("{} {name}", change.verb());
    Ok((cluster.call(&what, api.patch(&name, &params, &patch)).await?, true))
}

/// Asks for confirmation on the terminal.
async fn confirm(change: Change, yes: bool, jobs: usize, namespace: &str) -> Result<(), KubeError> {
    if yes {
        return Ok(());
    }
    let plural = if jobs == 1 { "job" } else { "jobs" };
    let question = format!("{} {jobs} {plural} in namespace {namespace}", change.verb());
    if !io::stdin().is_terminal() {
        return Err(KubeError::ConfirmationRequired(question));
    }
    let _ = write!(io::stderr(), "{question}? [y/N] ");
    let (sender, receiver) = oneshot::channel();
    // The thread is not joined, so that Ctrl-C stops the command without waiting for Enter.
    let reader = thread::Builder::new().name("answer".to_owned()).spawn(move || {
        let mut line = String::new();
        let _ = io::stdin().lock().read_line(&mut line);
        let _ = sender.send(line);
    });
    let answer = if reader.is_ok() { receiver.await.unwrap_or_default() } else { String::new() };
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
    fn a_job_is_patched_once_and_never_after_its_end(
        #[case] change: Change,
        #[case] spec: Value,
        #[case] ended: Option<&str>,
        #[case] expected: Result<bool, &str>,
    ) {
        let action = change.required_action(JobView(&job(&spec, ended)));
        match expected {
            Ok(patch) => assert_eq!(action, if patch { RequiredAction::Patch } else { RequiredAction::None }),
            Err(start) => {
                assert!(
                    matches!(&action, RequiredAction::Impossible(why) if why.starts_with(start)),
                    "{action:?}"
                );
            }
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
