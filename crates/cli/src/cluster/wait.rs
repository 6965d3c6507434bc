//! `wait`: until jobs are where they are wanted.

mod goal;
mod progress;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use clap::Args;
use jiff::Timestamp;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use vmafx_kit::config::GoDuration;

pub(super) use self::goal::Goal;
use self::goal::Verdict;
use self::progress::Progress;
use super::job::Job;
use super::kind::Kind;
use super::output::{Format, FormatArgs};
use super::reach::{Cluster, ReachArgs};
use super::select::JobsArgs;
use super::table::View;
use super::trouble::KubeError;
use super::watch::{Listener, News, watch};
use crate::{Error, Exit};

const EXAMPLES: &str = "\
Examples:
  kubectl vmafx wait trailer-1080p
      Until it is scored; exit code 1 if it ends without a score.

  kubectl vmafx wait -l batch=nightly --for=done --timeout=2h
      Until all jobs of a batch have ended, however.

  kubectl vmafx suspend trailer-1080p && kubectl vmafx wait trailer-1080p --for=suspended
      Until its node is free.

Exit codes:
    0  all are there
    1  at least one ended in another way, or was deleted
    2  error, wrong usage, no such job
  124  not within --timeout
  130  stopped by Ctrl-C; the jobs go on";

/// Wait for jobs.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "More and examples: kubectl vmafx wait --help")]
pub(super) struct WaitArgs {
    #[command(flatten)]
    jobs: JobsArgs,

    /// For what: complete, failed, done (either), running, suspended, phase=PHASE or condition=TYPE
    #[arg(long = "for", value_name = "WHAT", default_value = "complete")]
    goal: Goal,

    /// How long, such as 10m; without it until the end
    #[arg(long, value_name = "DURATION")]
    timeout: Option<GoDuration>,

    #[command(flatten)]
    format: FormatArgs,
}

pub(super) async fn run(args: &WaitArgs, reach: &ReachArgs) -> Result<Exit, Error> {
    let cluster = reach.connect().await?;
    let found = args.jobs.find(&cluster).await?;
    if found.is_empty() {
        return Err(KubeError::NotFound(vec![format!(
            "there is no such job in namespace {}: nothing to wait for",
            cluster.namespace
        )])
        .into());
    }
    let one = args.jobs.by_name() && found.len() == 1;
    let waited = until(&cluster, &found, args.jobs.selector(), &args.goal, args.timeout).await?;
    show(args.format, &waited, one)?;
    Ok(waited.verdict(&args.goal))
}

/// What became of the jobs that were waited for.
pub(super) struct Waited {
    /// As they were last seen, in the order given.
    pub(super) jobs: Vec<DynamicObject>,
    /// Those that ended in another way, and how.
    missed: Vec<(String, String)>,
    /// Those that were deleted before.
    gone: Vec<String>,
    /// Those that are not there yet.
    open: Vec<String>,
}

impl Waited {
    pub(super) fn in_time(&self) -> bool {
        self.open.is_empty()
    }

    /// What to exit with; those that are not where they were wanted are named.
    fn verdict(&self, goal: &Goal) -> Exit {
        for (name, phase) in &self.missed {
            eprintln!("{name} is {phase}, not {goal}");
        }
        for name in &self.gone {
            eprintln!("{name} was deleted");
        }
        let all = self.missed.is_empty() && self.gone.is_empty();
        self.late().unwrap_or(if all { Exit::Done } else { Exit::BelowMinimum })
    }

    /// Says who is late, if anybody is.
    pub(super) fn late(&self) -> Option<Exit> {
        for name in &self.open {
            eprintln!("{name}: not in time (kubectl vmafx explain {name} says why)");
        }
        (!self.in_time()).then_some(Exit::TimedOut)
    }
}

/// Shows where they are.
pub(super) fn show(format: FormatArgs, waited: &Waited, one: bool) -> Result<(), Error> {
    let view = View { kind: Kind::Job, wide: format.output == Format::Wide, namespaces: false };
    format.show(Kind::Job, &waited.jobs, one, |look, _| view.table(&waited.jobs, look, Timestamp::now()))?;
    Ok(())
}

/// Waits until all of these are where they are wanted, cannot be any more, or the time is over.
pub(super) async fn until(
    cluster: &Cluster,
    jobs: &[DynamicObject],
    selector: Option<&str>,
    goal: &Goal,
    timeout: Option<GoDuration>,
) -> Result<Waited, KubeError> {
    let mut waiting = Waiting::new(goal, jobs);
    if !waiting.open.is_empty() {
        progress::begin(waiting.open.len(), goal);
        let mut config =
            watcher::Config { label_selector: selector.map(str::to_owned), ..watcher::Config::default() };
        if let [object] = jobs {
            config = config.fields(&format!("metadata.name={}", Job(object).name()));
        }
        let watched = watch(cluster, cluster.objects(Kind::Job), config, &mut waiting);
        match timeout {
            // Whatever is known then is the answer.
            Some(limit) => tokio::time::timeout(limit.0, watched).await.unwrap_or(Ok(()))?,
            None => watched.await?,
        }
    }
    Ok(waiting.end(jobs))
}

/// A job that is made again under the same name is another one.
fn uid(object: &DynamicObject) -> String {
    object.metadata.uid.clone().unwrap_or_default()
}

struct Waiting<'a> {
    goal: &'a Goal,
    seen: HashMap<String, DynamicObject>,
    /// Those that the watch has told of.
    told: HashSet<String>,
    gone: Vec<String>,
    missed: Vec<(String, String)>,
    open: Vec<String>,
    progress: Progress,
}

impl<'a> Waiting<'a> {
    fn new(goal: &'a Goal, jobs: &[DynamicObject]) -> Self {
        let mut waiting = Self {
            goal,
            seen: jobs.iter().map(|object| (uid(object), object.clone())).collect(),
            told: HashSet::new(),
            gone: Vec::new(),
            missed: Vec::new(),
            open: jobs.iter().map(uid).collect(),
            progress: Progress::new(jobs),
        };
        waiting.settle();
        waiting
    }

    /// Takes off the list what is decided. What a job does afterwards is no matter.
    fn settle(&mut self) {
        let (seen, missed, goal) = (&self.seen, &mut self.missed, self.goal);
        self.open.retain(|id| {
            let Some(job) = seen.get(id).map(Job) else { return false };
            let verdict = goal.of(job);
            if verdict == Verdict::Missed {
                missed.push((job.name().to_owned(), job.phase().to_owned()));
            }
            verdict == Verdict::Open
        });
        self.progress.left(self.open.len());
    }

    /// Does not wait for this one any more, if it still does.
    fn give_up(&mut self, id: &str) {
        let Some(index) = self.open.iter().position(|open| open == id) else { return };
        self.open.remove(index);
        if let Some(job) = self.seen.get(id).map(Job) {
            self.gone.push(job.name().to_owned());
            self.progress.gone(job);
        }
    }

    fn end(self, jobs: &[DynamicObject]) -> Waited {
        let last = |id: &String| self.seen.get(id).cloned();
        Waited {
            jobs: jobs.iter().map(uid).filter_map(|id| last(&id)).collect(),
            open: self.open.iter().filter_map(last).map(|object| Job(&object).name().to_owned()).collect(),
            missed: self.missed.clone(),
            gone: self.gone.clone(),
        }
    }
}

impl Listener for Waiting<'_> {
    fn hear(&mut self, news: News) -> ControlFlow<()> {
        match news {
            News::Is(object) if self.seen.contains_key(&uid(&object)) => {
                self.progress.job(Job(&object));
                self.told.insert(uid(&object));
                self.seen.insert(uid(&object), *object);
            }
            News::Gone(object) => self.give_up(&uid(&object)),
            // Of what was deleted between the first look and the list nobody else tells.
            News::Listed => {
                let untold: Vec<String> =
                    self.open.iter().filter(|id| !self.told.contains(*id)).cloned().collect();
                for id in &untold {
                    self.give_up(id);
                }
            }
            News::Is(_) => {}
        }
        self.settle();
        if self.open.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn waiting(&mut self, why: &str) {
        self.progress.say(why);
    }
}

#[cfg(test)]
mod tests;
