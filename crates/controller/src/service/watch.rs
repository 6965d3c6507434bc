//! Streams of jobs: snapshots and watches.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::Progress;
use vmafx_queue::store::{Cursor, Filter, Page};
use vmafx_queue::transition::State;
use vmafx_queue::{AttemptNumber, Job, JobId};

use super::request::{JobFilter, WatchJobs};
use super::response::JobChange;
use super::{ItemStream, Service, check};
use crate::identity::Identity;
use crate::refusal::Refusal;
use crate::streams::StreamPermit;
use crate::subscriptions::Topic;

/// Items that are read at once, and so the most that a slow reader holds in memory.
pub(super) const PAGE_SIZE: u32 = 256;
/// Progress is read no more often than this.
const MIN_PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Progress is read at least this often, because nodes may report it to another controller.
const MAX_PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// Running jobs whose progress one watch can send.
const MAX_PROGRESS_JOBS: u32 = 1000;

impl Service {
    /// The matching jobs, oldest first.
    pub fn snapshot(&self, who: &Identity, filter: JobFilter) -> Result<ItemStream<Job>, Refusal> {
        let filter = check::filter(filter)?;
        let permit = self.acquire_stream(who)?;
        let snapshot = SnapshotReader { filter, after: None, ready: VecDeque::new(), last: false };
        let start = (self.clone(), who.clone(), snapshot, permit);
        let next = |(service, who, mut snapshot, permit): (Service, Identity, SnapshotReader, _)| async move {
            let item = snapshot.next(&service, &who).await.transpose()?;
            if item.is_err() {
                snapshot.last = true;
                snapshot.ready.clear();
            }
            Some((item, (service, who, snapshot, permit)))
        };
        Ok(stream::unfold(start, next).boxed())
    }

    /// Without a cursor: the matching jobs (none with `changes_only`), a bookmark, then every change. With a cursor: every
    /// change after it. An invalid cursor is refused at once, not as the first item.
    pub async fn watch(&self, who: &Identity, request: WatchJobs) -> Result<ItemStream<JobChange>, Refusal> {
        let filter = check::filter(request.filter)?;
        check::cursor(&request.cursor)?;
        let permit = self.acquire_stream(who)?;
        let changed = self.0.subscriptions.subscribe(&who.tenant, Topic::Changed);
        let progress = request
            .include_progress
            .then(|| ProgressPoll::new(self.0.subscriptions.subscribe(&who.tenant, Topic::Progressed)));
        let from_start = request.cursor.is_empty();
        // The cursor is taken before the snapshot, so that no change is lost between the two.
        let cursor = if from_start { self.0.store.position(&who.tenant).await? } else { request.cursor };
        let snapshot = from_start.then(|| SnapshotReader {
            filter: filter.clone(),
            after: None,
            ready: VecDeque::new(),
            last: request.changes_only,
        });
        let mut watch = JobWatch {
            service: self.clone(),
            who: who.clone(),
            filter,
            cursor,
            snapshot,
            ready: VecDeque::new(),
            caught_up: false,
            failed: false,
            last_sent: Instant::now(),
            changed,
            progress,
            _permit: permit,
        };
        if !from_start {
            watch.read().await?;
        }
        let next = |mut watch: JobWatch| async move {
            let item = watch.next().await?;
            Some((item, watch))
        };
        Ok(stream::unfold(watch, next).boxed())
    }
}

/// Reads the matching jobs, a page at a time.
struct SnapshotReader {
    filter: Filter,
    after: Option<(Timestamp, JobId)>,
    ready: VecDeque<Job>,
    last: bool,
}

impl SnapshotReader {
    async fn next(&mut self, service: &Service, who: &Identity) -> Result<Option<Job>, Refusal> {
        if self.ready.is_empty() && !self.last {
            let page = Page { after: self.after, limit: PAGE_SIZE, newest_first: false };
            let read = service.0.store.jobs(&who.tenant, &self.filter, &page);
            let jobs = tokio::select! {
                refusal = service.stream_end() => return Err(refusal),
                jobs = read => jobs,
            };
            self.ready = jobs?.into();
            self.last = self.ready.len() < PAGE_SIZE as usize;
            self.after = self.ready.back().map(|job| (job.created_at, job.id));
        }
        Ok(self.ready.pop_front())
    }
}

struct JobWatch {
    service: Service,
    who: Identity,
    filter: Filter,
    cursor: Cursor,
    snapshot: Option<SnapshotReader>,
    ready: VecDeque<JobChange>,
    caught_up: bool,
    failed: bool,
    last_sent: Instant,
    changed: watch::Receiver<u64>,
    progress: Option<ProgressPoll>,
    _permit: StreamPermit,
}

impl JobWatch {
    /// The next item; `None` only after a refusal.
    async fn next(&mut self) -> Option<Result<JobChange, Refusal>> {
        if self.failed {
            return None;
        }
        let item = self.next_item().await;
        self.last_sent = Instant::now();
        self.failed = item.is_err();
        Some(item)
    }

    async fn next_item(&mut self) -> Result<JobChange, Refusal> {
        if let Some(snapshot) = &mut self.snapshot {
            if let Some(job) = snapshot.next(&self.service, &self.who).await? {
                if let Some(progress) = &mut self.progress {
                    progress.record(&job);
                }
                return Ok(JobChange::Snapshot(job));
            }
            self.snapshot = None;
            return Ok(JobChange::Bookmark(self.cursor.clone()));
        }
        let service = self.service.clone();
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(item);
            }
            tokio::select! {
                biased;
                refusal = service.stream_end() => return Err(refusal),
                read = self.wait_and_read() => read?,
            }
        }
    }

    async fn wait_and_read(&mut self) -> Result<(), Refusal> {
        let limits = self.service.0.limits;
        let bookmark = self.last_sent + limits.bookmark_interval;
        if self.caught_up {
            tokio::select! {
                // A closed channel never fires; the timers below still do.
                Ok(()) = self.changed.changed() => sleep(limits.debounce).await,
                () = progress_due(&mut self.progress) => return self.read_progress().await,
                () = sleep_until(bookmark) => {}
            }
        }
        self.read().await?;
        if self.ready.is_empty() && Instant::now() >= bookmark {
            self.ready.push_back(JobChange::Bookmark(self.cursor.clone()));
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), Refusal> {
        self.changed.mark_unchanged();
        let page = self.service.0.store.changes(&self.who.tenant, &self.cursor, PAGE_SIZE).await?;
        self.caught_up = page.jobs.len() < PAGE_SIZE as usize;
        self.cursor = page.next;
        for (cursor, job) in page.jobs {
            if !self.filter.matches(&job) {
                continue;
            }
            if let Some(progress) = &mut self.progress {
                progress.record(&job);
            }
            self.ready.push_back(JobChange::Job(cursor, job));
        }
        Ok(())
    }

    /// Progress is not a stored change, so its items carry the current cursor.
    async fn read_progress(&mut self) -> Result<(), Refusal> {
        let Some(progress) = &mut self.progress else { return Ok(()) };
        progress.updated.mark_unchanged();
        progress.last_read = Instant::now();
        if !(self.filter.states.is_empty() || self.filter.states.contains(&State::Running)) {
            return Ok(());
        }
        let running = Filter { states: vec![State::Running], ..self.filter.clone() };
        let page = Page { after: None, limit: MAX_PROGRESS_JOBS, newest_first: false };
        let jobs = self.service.0.store.jobs(&self.who.tenant, &running, &page).await?;
        progress.sent.retain(|id, _| jobs.iter().any(|job| job.id == *id));
        for job in jobs {
            if job.progress.is_some() && progress.is_new(&job) {
                progress.record(&job);
                self.ready.push_back(JobChange::Job(self.cursor.clone(), job));
            }
        }
        Ok(())
    }
}

/// The progress that was sent, and when to read it again.
struct ProgressPoll {
    sent: BTreeMap<JobId, (AttemptNumber, Option<Progress>)>,
    updated: watch::Receiver<u64>,
    last_read: Instant,
}

impl ProgressPoll {
    fn new(updated: watch::Receiver<u64>) -> Self {
        Self { sent: BTreeMap::new(), updated, last_read: Instant::now() }
    }

    fn is_new(&self, job: &Job) -> bool {
        self.sent.get(&job.id) != Some(&(job.attempt, job.progress))
    }

    fn record(&mut self, job: &Job) {
        if job.state == State::Running {
            self.sent.insert(job.id, (job.attempt, job.progress));
        } else {
            self.sent.remove(&job.id);
        }
    }
}

/// Resolves when progress has to be read; never when it was not requested.
async fn progress_due(progress: &mut Option<ProgressPoll>) {
    let Some(progress) = progress else { return std::future::pending().await };
    let earliest = progress.last_read + MIN_PROGRESS_INTERVAL;
    let latest = progress.last_read + MAX_PROGRESS_INTERVAL;
    let updated = async {
        if progress.updated.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        sleep_until(earliest).await;
    };
    tokio::select! {
        () = updated => {}
        () = sleep_until(latest) => {}
    }
}
