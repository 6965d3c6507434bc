//! `wait`: waits until jobs reach a state.

mod goal;
mod progress;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use clap::Args;
use jiff::Timestamp;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use vmafx_kit::config::GoDuration;

use self::goal::GoalState;
pub(super) use self::goal::WaitGoal;
use self::progress::WaitProgress;
use super::connection::{Cluster, ConnectionArgs};
use super::error::KubeError;
use super::job::JobView;
use super::kind::ResourceKind;
use super::output::{Format, FormatArgs};
use super::select::JobSelectionArgs;
use super::table::ResourceTable;
use super::watch::{WatchEvent, WatchHandler, watch};
use crate::{Error, Exit};

const EXAMPLES: &str = "\
Examples:
  kubectl vmafx wait trailer-1080p
      Wait until the job is scored. The exit code is 1 if it ends without a score.

  kubectl vmafx wait -l batch=nightly --for=done --timeout=2h
      Wait until all jobs with a label have ended, in any state.

  kubectl vmafx suspend trailer-1080p && kubectl vmafx wait trailer-1080p --for=suspended
      Wait until the job no longer occupies its node.

Exit codes:
    0  all jobs reached the state
    1  at least one job ended in another state, or was deleted
    2  error, wrong usage, or no such job
  124  --timeout expired
  130  stopped by Ctrl-C; the jobs continue";

/// Wait until jobs reach a state.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "Details and examples: kubectl vmafx wait --help")]
pub(super) struct WaitArgs {
    #[command(flatten)]
    jobs: JobSelectionArgs,

    /// State to wait for: complete, failed, done (complete or failed), running, suspended, phase=PHASE or condition=TYPE
    #[arg(long = "for", value_name = "STATE", default_value = "complete")]
    goal: WaitGoal,

    /// Maximum time to wait, such as 10m; unlimited by default
    #[arg(long, value_name = "DURATION")]
    timeout: Option<GoDuration>,

    #[command(flatten)]
    format: FormatArgs,
}

pub(super) async fn run(args: &WaitArgs, connection: &ConnectionArgs) -> Result<Exit, Error> {
    let cluster = connection.connect().await?;
    let jobs = args.jobs.find(&cluster).await?;
    if jobs.is_empty() {
        return Err(KubeError::NotFound(vec![format!(
            "namespace {} has no such job: there is nothing to wait for",
            cluster.namespace
        )])
        .into());
    }
    let single = args.jobs.by_name() && jobs.len() == 1;
    let result = wait_for(&cluster, &jobs, args.jobs.selector(), &args.goal, args.timeout).await?;
    show(args.format, &result, single)?;
    Ok(result.report(&args.goal))
}

pub(super) struct WaitResult {
    /// The last observed state of each job, in the given order.
    pub(super) jobs: Vec<DynamicObject>,
    /// Name and phase of the jobs that ended in another state.
    missed: Vec<(String, String)>,
    /// Names of the jobs that were deleted before they reached the state.
    deleted: Vec<String>,
    /// Names of the jobs that had not reached the state when the time was over.
    pending: Vec<String>,
}

impl WaitResult {
    /// Prints the jobs that did not reach the state, and returns the exit code.
    fn report(&self, goal: &WaitGoal) -> Exit {
        for (name, phase) in &self.missed {
            eprintln!("{name} is {phase}, not {goal}");
        }
        for name in &self.deleted {
            eprintln!("{name} was deleted");
        }
        let all = self.missed.is_empty() && self.deleted.is_empty();
        self.report_timeout().unwrap_or(if all { Exit::Done } else { Exit::BelowMinimum })
    }

    /// Prints the pending jobs; `None` if there is none.
    pub(super) fn report_timeout(&self) -> Option<Exit> {
        for name in &self.pending {
            eprintln!("{name}: timed out (kubectl vmafx explain {name} says why)");
        }
        (!self.pending.is_empty()).then_some(Exit::TimedOut)
    }
}

pub(super) fn show(format: FormatArgs, result: &WaitResult, single: bool) -> Result<(), Error> {
    let table =
        ResourceTable { kind: ResourceKind::Job, wide: format.output == Format::Wide, namespaces: false };
    format.show(ResourceKind::Job, &result.jobs, single, |look| {
        table.render(&result.jobs, look, Timestamp::now())
    })?;
    Ok(())
}

/// Waits until each job has reached the state, has ended in another one or is deleted, or until the timeout.
pub(super) async fn wait_for(
    cluster: &Cluster,
    jobs: &[DynamicObject],
    selector: Option<&str>,
    goal: &WaitGoal,
    timeout: Option<GoDuration>,
) -> Result<WaitResult, KubeError> {
    let mut waiter = ResourceWaiter::new(goal, jobs);
    if !waiter.pending.is_empty() {
        progress::announce(waiter.pending.len(), goal);
        let mut config =
            watcher::Config { label_selector: selector.map(str::to_owned), ..watcher::Config::default() };
        if let [object] = jobs {
            config = config.fields(&format!("metadata.name={}", JobView(object).name()));
        }
        let watched = watch(cluster, cluster.objects(ResourceKind::Job), config, &mut waiter);
        match timeout {
            Some(limit) => tokio::time::timeout(limit.0, watched).await.unwrap_or(Ok(()))?,
            None => watched.await?,
        }
    }
    Ok(waiter.finish(jobs))
}

/// Jobs are tracked by uid: a job that is created again under the same name is another job.
fn uid(object: &DynamicObject) -> String {
    object.metadata.uid.clone().unwrap_or_default()
}

struct ResourceWaiter<'a> {
    goal: &'a WaitGoal,
    /// The last observed state by uid.
    observed: HashMap<String, DynamicObject>,
    /// Uids of the jobs that the watch has reported.
    watched: HashSet<String>,
    deleted: Vec<String>,
    missed: Vec<(String, String)>,
    /// Uids of the jobs that are still waited for.
    pending: Vec<String>,
    progress: WaitProgress,
}

impl<'a> ResourceWaiter<'a> {
    fn new(goal: &'a WaitGoal, jobs: &[DynamicObject]) -> Self {
        let mut waiter = Self {
            goal,
            observed: jobs.iter().map(|object| (uid(object), object.clone())).collect(),
            watched: HashSet::new(),
            deleted: Vec::new(),
            missed: Vec::new(),
            pending: jobs.iter().map(uid).collect(),
            progress: WaitProgress::new(jobs),
        };
        waiter.settle();
        waiter
    }

    /// Removes the jobs that reached or missed the state. Their later changes do not count.
    fn settle(&mut self) {
        let (observed, missed, goal) = (&self.observed, &mut self.missed, self.goal);
        self.pending.retain(|id| {
            let Some(job) = observed.get(id).map(JobView) else { return false };
            let state = goal.state(job);
            if state == GoalState::Missed {
                missed.push((job.name().to_owned(), job.phase().to_owned()));
            }
            state == GoalState::Pending
        });
        self.progress.set_pending(self.pending.len());
    }

    /// Stops waiting for a job that no longer exists.
    fn remove_deleted(&mut self, id: &str) {
        let Some(index) = self.pending.iter().position(|pending| pending == id) else { return };
        self.pending.remove(index);
        if let Some(job) = self.observed.get(id).map(JobView) {
            self.deleted.push(job.name().to_owned());
            self.progress.set_deleted(job);
        }
    }

    fn finish(self, jobs: &[DynamicObject]) -> WaitResult {
        let last = |id: &String| self.observed.get(id).cloned();
        WaitResult {
            jobs: jobs.iter().map(uid).filter_map(|id| last(&id)).collect(),
            pending: self
                .pending
                .iter()
                .filter_map(last)
                .map(|object| JobView(&object).name().to_owned())
                .collect(),
            missed: self.missed,
            deleted: self.deleted,
        }
    }
}

impl WatchHandler for ResourceWaiter<'_> {
    fn on_event(&mut self, event: WatchEvent) -> ControlFlow<()> {
        match event {
            WatchEvent::Applied(object) if self.observed.contains_key(&uid(&object)) => {
                self.progress.update(JobView(&object));
                self.watched.insert(uid(&object));
                self.observed.insert(uid(&object), *object);
            }
            WatchEvent::Deleted(object) => self.remove_deleted(&uid(&object)),
            // The watch has no event for a job that was deleted after the first request and before the initial list.
            WatchEvent::Listed => {
                let missing: Vec<String> =
                    self.pending.iter().filter(|id| !self.watched.contains(*id)).cloned().collect();
                for id in &missing {
                    self.remove_deleted(id);
                }
            }
            WatchEvent::Applied(_) => {}
        }
        self.settle();
        if self.pending.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn on_retry(&mut self, why: &str) {
        self.progress.show_retry(why);
    }
}

#[cfg(test)]
mod tests;
