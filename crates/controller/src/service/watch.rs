//! Jobs as a stream: as they are, and as they change.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep, sleep_until};
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::Progress;
use vmafx_queue::store::{Cursor, Filter, Page};
use vmafx_queue::transition::State;
use vmafx_queue::{AttemptNumber, Job, JobId};

use super::answer::Change;
use super::request::{Watch, Which};
use super::{Items, Service, check, shutting_down};
use crate::identity::Identity;
use crate::live::Happening;
use crate::refusal::Refusal;

/// What is read at once, and so the most that a slow reader holds.
pub(super) const PAGE: u32 = 256;
/// Progress is looked at no more often than this.
const PROGRESS_PAUSE: Duration = Duration::from_secs(1);
/// And at least this often, for nodes that talk to another controller.
const PROGRESS_LOOK: Duration = Duration::from_secs(5);
/// Running jobs whose progress one reader is told of.
const PROGRESS_JOBS: u32 = 1000;

impl Service {
    /// The jobs that match, oldest first, and then the end.
    pub fn snapshot(&self, who: &Identity, which: Which) -> Result<Items<Job>, Refusal> {
        let filter = check::which(which)?;
        let permit = self.0.live.admit().ok_or_else(too_many)?;
        let reading = Snapshot { filter, after: None, ready: VecDeque::new(), last: false };
        let start = (self.clone(), who.clone(), reading, permit);
        let next = |(service, who, mut reading, permit): (Service, Identity, Snapshot, _)| async move {
            let item = reading.next(&service, &who).await.transpose()?;
            if item.is_err() {
                reading.last = true;
                reading.ready.clear();
            }
            Some((item, (service, who, reading, permit)))
        };
        Ok(stream::unfold(start, next).boxed())
    }

    /// The jobs that match, unless only changes are wanted, then a bookmark, then every change; with a cursor only the
    /// changes after it. A cursor
    /// that cannot be continued from is refused at once, not as the first item.
    pub async fn watch(&self, who: &Identity, request: Watch) -> Result<Items<Change>, Refusal> {
        let filter = check::which(request.which)?;
        check::cursor(&request.cursor)?;
        let permit = self.0.live.admit().ok_or_else(too_many)?;
        let changed = self.0.live.listen(&who.tenant, Happening::Changed);
        let progress = request
            .include_progress
            .then(|| ProgressLook::new(self.0.live.listen(&who.tenant, Happening::Progressed)));
        let from_start = request.cursor.is_empty();
        // Taken before the snapshot, so that nothing falls between the two.
        let cursor = if from_start { self.0.store.position(&who.tenant).await? } else { request.cursor };
        let snapshot = from_start.then(|| Snapshot {
            filter: filter.clone(),
            after: None,
            ready: VecDeque::new(),
            last: request.changes_only,
        });
        let mut watching = Watching {
            service: self.clone(),
            who: who.clone(),
            filter,
            cursor,
            snapshot,
            ready: VecDeque::new(),
            caught_up: false,
            over: false,
            told: Instant::now(),
            changed,
            progress,
            _permit: permit,
        };
        if !from_start {
            watching.read().await?;
        }
        let next = |mut watching: Watching| async move {
            let item = watching.next().await?;
            Some((item, watching))
        };
        Ok(stream::unfold(watching, next).boxed())
    }
}

pub(super) fn too_many() -> Refusal {
    Refusal::Exhausted("too many streams are open: try again later".to_owned())
}

/// A walk through the jobs, a page at a time.
struct Snapshot {
    filter: Filter,
    after: Option<(Timestamp, JobId)>,
    ready: VecDeque<Job>,
    last: bool,
}

impl Snapshot {
    /// The next job; `None` after the last.
    async fn next(&mut self, service: &Service, who: &Identity) -> Result<Option<Job>, Refusal> {
        if self.ready.is_empty() && !self.last {
            let page = Page { after: self.after, limit: PAGE, newest_first: false };
            let reading = service.0.store.jobs(&who.tenant, &self.filter, &page);
            let Some(jobs) = service.0.shutdown.run_until_begun(reading).await else {
                return Err(shutting_down());
            };
            self.ready = jobs?.into();
            self.last = self.ready.len() < PAGE as usize;
            self.after = self.ready.back().map(|job| (job.created_at, job.id));
        }
        Ok(self.ready.pop_front())
    }
}

struct Watching {
    service: Service,
    who: Identity,
    filter: Filter,
    cursor: Cursor,
    snapshot: Option<Snapshot>,
    ready: VecDeque<Change>,
    caught_up: bool,
    over: bool,
    told: Instant,
    changed: watch::Receiver<u64>,
    progress: Option<ProgressLook>,
    _permit: OwnedSemaphorePermit,
}

impl Watching {
    /// The next item. It never ends by itself.
    async fn next(&mut self) -> Option<Result<Change, Refusal>> {
        if self.over {
            return None;
        }
        let item = self.next_item().await;
        self.told = Instant::now();
        self.over = item.is_err();
        Some(item)
    }

    async fn next_item(&mut self) -> Result<Change, Refusal> {
        if let Some(snapshot) = &mut self.snapshot {
            if let Some(job) = snapshot.next(&self.service, &self.who).await? {
                if let Some(progress) = &mut self.progress {
                    progress.sent(&job);
                }
                return Ok(Change::Snapshot(job));
            }
            self.snapshot = None;
            return Ok(Change::Bookmark(self.cursor.clone()));
        }
        let shutdown = self.service.0.shutdown.clone();
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(item);
            }
            tokio::select! {
                biased;
                () = shutdown.begun() => return Err(shutting_down()),
                read = self.wait_and_read() => read?,
            }
        }
    }

    async fn wait_and_read(&mut self) -> Result<(), Refusal> {
        let patience = self.service.0.patience;
        let bookmark = self.told + patience.bookmark;
        if self.caught_up {
            tokio::select! {
                // A closed channel means nobody tells any more; the look below still comes.
                Ok(()) = self.changed.changed() => sleep(patience.gather).await,
                () = look_due(&mut self.progress) => return self.read_progress().await,
                () = sleep_until(bookmark) => {}
            }
        }
        self.read().await?;
        if self.ready.is_empty() && Instant::now() >= bookmark {
            self.ready.push_back(Change::Bookmark(self.cursor.clone()));
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), Refusal> {
        self.changed.mark_unchanged();
        let page = self.service.0.store.changes(&self.who.tenant, &self.cursor, PAGE).await?;
        self.caught_up = page.jobs.len() < PAGE as usize;
        self.cursor = page.next;
        for (cursor, job) in page.jobs {
            if !self.filter.matches(&job) {
                continue;
            }
            if let Some(progress) = &mut self.progress {
                progress.sent(&job);
            }
            self.ready.push_back(Change::Job(cursor, job));
        }
        Ok(())
    }

    /// Progress is not a stored change, so its items leave the cursor where it is.
    async fn read_progress(&mut self) -> Result<(), Refusal> {
        let Some(progress) = &mut self.progress else { return Ok(()) };
        progress.heard.mark_unchanged();
        progress.looked = Instant::now();
        if !(self.filter.states.is_empty() || self.filter.states.contains(&State::Running)) {
            return Ok(());
        }
        let running = Filter { states: vec![State::Running], ..self.filter.clone() };
        let page = Page { after: None, limit: PROGRESS_JOBS, newest_first: false };
        let jobs = self.service.0.store.jobs(&self.who.tenant, &running, &page).await?;
        progress.seen.retain(|id, _| jobs.iter().any(|job| job.id == *id));
        for job in jobs {
            if job.progress.is_some() && progress.is_news(&job) {
                progress.sent(&job);
                self.ready.push_back(Change::Job(self.cursor.clone(), job));
            }
        }
        Ok(())
    }
}

/// What a reader knows of progress.
struct ProgressLook {
    seen: BTreeMap<JobId, (AttemptNumber, Option<Progress>)>,
    heard: watch::Receiver<u64>,
    looked: Instant,
}

impl ProgressLook {
    fn new(heard: watch::Receiver<u64>) -> Self {
        Self { seen: BTreeMap::new(), heard, looked: Instant::now() }
    }

    fn is_news(&self, job: &Job) -> bool {
        self.seen.get(&job.id) != Some(&(job.attempt, job.progress))
    }

    fn sent(&mut self, job: &Job) {
        if job.state == State::Running {
            self.seen.insert(job.id, (job.attempt, job.progress));
        } else {
            self.seen.remove(&job.id);
        }
    }
}

/// Resolves when it is time to look at progress; never when nobody asked for it.
async fn look_due(progress: &mut Option<ProgressLook>) {
    let Some(progress) = progress else { return std::future::pending().await };
    let (soonest, latest) = (progress.looked + PROGRESS_PAUSE, progress.looked + PROGRESS_LOOK);
    let heard = async {
        if progress.heard.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        sleep_until(soonest).await;
    };
    tokio::select! {
        () = heard => {}
        () = sleep_until(latest) => {}
    }
}
