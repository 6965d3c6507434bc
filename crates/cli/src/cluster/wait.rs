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
    /// Those that were deleted.
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
        let mut exit = Exit::Done;
        for object in &self.jobs {
            let job = Job(object);
            if !self.gone.iter().any(|name| name == job.name()) && goal.of(job) == Verdict::Missed {
                eprintln!("{} is {}, not {goal}", job.name(), job.phase());
                exit = Exit::BelowMinimum;
            }
        }
        for name in &self.gone {
            eprintln!("{name} was deleted");
            exit = Exit::BelowMinimum;
        }
        self.late().unwrap_or(exit)
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
    let order: Vec<String> = jobs.iter().map(uid).collect();
    let seen = jobs.iter().map(|object| (uid(object), object.clone())).collect();
    let mut waiting = Waiting {
        goal,
        seen,
        told: HashSet::new(),
        gone: HashSet::new(),
        open: order.clone(),
        progress: Progress::new(jobs),
    };
    waiting.settle();
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
    let name = |id: &String| waiting.seen.get(id).map(|object| Job(object).name().to_owned());
    let open = waiting.open.iter().filter_map(name).collect();
    let gone = order.iter().filter(|id| waiting.gone.contains(*id)).filter_map(name).collect();
    let jobs = order.iter().filter_map(|id| waiting.seen.get(id).cloned()).collect();
    Ok(Waited { jobs, gone, open })
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
    gone: HashSet<String>,
    open: Vec<String>,
    progress: Progress,
}

impl Waiting<'_> {
    /// Takes off the list what is decided.
    fn settle(&mut self) {
        let (seen, gone, goal) = (&self.seen, &self.gone, self.goal);
        self.open.retain(|id| {
            !gone.contains(id) && seen.get(id).is_some_and(|object| goal.of(Job(object)) == Verdict::Open)
        });
        self.progress.left(self.open.len());
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
            News::Gone(object) if self.seen.contains_key(&uid(&object)) => {
                self.gone.insert(uid(&object));
                self.progress.gone(Job(&object));
            }
            // Of what was deleted between the first look and the list nobody else tells.
            News::Listed => self.gone.extend(self.open.iter().filter(|id| !self.told.contains(*id)).cloned()),
            News::Is(_) | News::Gone(_) => return ControlFlow::Continue(()),
        }
        self.settle();
        if self.open.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn waiting(&mut self, why: &str) {
        self.progress.say(why);
    }
}
