//! The jobs of this process, their progress, and how to stop them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use vmafx_proto::controller::v1::{HeartbeatRequest, Job, JobProgress, Progress};

/// Why a job is stopped before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopCause {
    Cancelled,
    /// The lease is lost: another node may have the job, and our result does not count.
    Lost,
    /// This node shuts down.
    Shutdown,
}

/// Clones share one set of jobs.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningJobs(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    jobs: Mutex<BTreeMap<String, RunningJob>>,
    progressed: watch::Sender<()>,
}

#[derive(Debug)]
struct RunningJob {
    attempt: u32,
    tenant: String,
    session: String,
    progress: Progress,
    /// The progress of the last heartbeat.
    reported: Progress,
    stop_cause: Option<StopCause>,
    cancel: CancellationToken,
}

/// A running job; it is removed when this is dropped.
#[derive(Debug)]
pub(super) struct RunningJobGuard {
    jobs: RunningJobs,
    job: String,
    attempt: u32,
    pub(super) cancel: CancellationToken,
}

impl RunningJobs {
    /// Adds a job. An older attempt of the same job is replaced and cancelled.
    pub(super) fn add(&self, Job { id, attempt, tenant, .. }: &Job, session: &str) -> RunningJobGuard {
        let cancel = CancellationToken::new();
        let running = RunningJob {
            attempt: *attempt,
            tenant: tenant.clone(),
            session: session.to_owned(),
            progress: Progress::default(),
            reported: Progress::default(),
            stop_cause: None,
            cancel: cancel.clone(),
        };
        if let Some(older) = self.lock().insert(id.clone(), running) {
            older.cancel.cancel();
        }
        RunningJobGuard { jobs: self.clone(), job: id.clone(), attempt: *attempt, cancel }
    }

    /// The heartbeat of a session, without its secret: its jobs, and the progress that no heartbeat has reported yet, which
    /// counts as reported from now on.
    pub(super) fn heartbeat(&self, session: &str) -> HeartbeatRequest {
        let mut heartbeat = HeartbeatRequest { node_id: session.to_owned(), ..HeartbeatRequest::default() };
        for (job, state) in self.lock().iter_mut().filter(|(_, state)| state.session == session) {
            heartbeat.running_job_ids.push(job.clone());
            heartbeat.jobs_running += 1;
            if !state.tenant.is_empty() {
                heartbeat.job_tenants.insert(job.clone(), state.tenant.clone());
            }
            if state.progress != state.reported {
                state.reported = state.progress;
                heartbeat.progress.push(JobProgress {
                    job_id: job.clone(),
                    attempt: state.attempt,
                    progress: Some(state.progress),
                });
            }
        }
        heartbeat
    }

    pub(super) fn stop<'a>(&self, ids: impl IntoIterator<Item = &'a String>, cause: StopCause) {
        let mut jobs = self.lock();
        for id in ids {
            if let Some(state) = jobs.get_mut(id) {
                state.stop_cause.get_or_insert(cause);
                state.cancel.cancel();
            }
        }
    }

    /// Stops all jobs of a session that is over.
    pub(super) fn lose_session(&self, session: &str) {
        let mut jobs = self.lock();
        for state in jobs.values_mut().filter(|state| state.session == session) {
            state.stop_cause.get_or_insert(StopCause::Lost);
            state.cancel.cancel();
        }
    }

    /// Notifies of progress of any job.
    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.0.progressed.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, RunningJob>> {
        // Every change is one assignment, so the map is consistent even if its last holder panicked.
        self.0.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningJobGuard {
    pub(super) fn progress(&self, done: u64, total: u64) {
        self.with_own(|state| state.progress = Progress { frames_done: done, frames_total: total });
        self.jobs.0.progressed.send_replace(());
    }

    /// Stops the job for the shutdown of this node, unless it was stopped before.
    pub(super) fn stop_for_shutdown(&self) {
        self.with_own(|state| {
            state.stop_cause.get_or_insert(StopCause::Shutdown);
        });
        self.cancel.cancel();
    }

    /// An attempt that a newer one has replaced is lost.
    pub(super) fn stop_cause(&self) -> Option<StopCause> {
        self.with_own(|state| state.stop_cause).unwrap_or(Some(StopCause::Lost))
    }

    /// Applies `change` to the entry of this attempt; `None` if a newer attempt of the job has replaced it.
    fn with_own<T>(&self, change: impl FnOnce(&mut RunningJob) -> T) -> Option<T> {
        self.jobs.lock().get_mut(&self.job).filter(|state| state.attempt == self.attempt).map(change)
    }
}

impl Drop for RunningJobGuard {
    fn drop(&mut self) {
        let mut jobs = self.jobs.lock();
        if jobs.get(&self.job).is_some_and(|state| state.attempt == self.attempt) {
            jobs.remove(&self.job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str, attempt: u32) -> Job {
        Job { id: id.to_owned(), attempt, ..Job::default() }
    }

    #[test]
    fn a_heartbeat_names_the_jobs_of_its_session_and_progress_once() {
        let jobs = RunningJobs::default();
        let first = jobs.add(&job("a", 1), "s");
        let _second = jobs.add(&job("b", 2), "s");
        let _other = jobs.add(&job("c", 1), "older");
        first.progress(5, 10);
        let heartbeat = jobs.heartbeat("s");
        assert_eq!((heartbeat.running_job_ids, heartbeat.jobs_running), (vec!["a".into(), "b".into()], 2));
        let [progress] = heartbeat.progress.as_slice() else { panic!("one job made progress") };
        assert_eq!((progress.job_id.as_str(), progress.attempt), ("a", 1));
        assert_eq!(jobs.heartbeat("s").progress, []);
    }

    #[test]
    fn a_heartbeat_names_the_tenants_of_guests_only() {
        let jobs = RunningJobs::default();
        let _own = jobs.add(&job("a", 1), "s");
        let _guest = jobs.add(&Job { tenant: "studio".into(), ..job("b", 1) }, "s");
        assert_eq!(jobs.heartbeat("s").job_tenants, [("b".to_owned(), "studio".to_owned())].into());
    }

    #[test]
    fn the_first_cause_stays() {
        let jobs = RunningJobs::default();
        let job = jobs.add(&job("a", 1), "s");
        jobs.stop([&"a".to_owned(), &"unknown".to_owned()], StopCause::Cancelled);
        job.stop_for_shutdown();
        assert!(job.cancel.is_cancelled());
        assert_eq!(job.stop_cause(), Some(StopCause::Cancelled));
    }

    #[test]
    fn the_end_of_an_older_attempt_leaves_the_newer_one_alone() {
        let jobs = RunningJobs::default();
        let older = jobs.add(&job("a", 1), "s");
        let newer = jobs.add(&job("a", 2), "s");
        assert!(older.cancel.is_cancelled());
        assert_eq!(older.stop_cause(), Some(StopCause::Lost));
        older.progress(5, 10);
        older.stop_for_shutdown();
        drop(older);
        let heartbeat = jobs.heartbeat("s");
        assert_eq!(heartbeat.running_job_ids, ["a"], "its lease is still renewed");
        assert_eq!(heartbeat.progress, []);
        assert_eq!((newer.stop_cause(), newer.cancel.is_cancelled()), (None, false));
        drop(newer);
        assert_eq!(jobs.heartbeat("s").running_job_ids, [""; 0]);
    }

    #[test]
    fn a_session_that_is_over_stops_its_own_jobs_only() {
        let jobs = RunningJobs::default();
        let (ours, theirs) = (jobs.add(&job("a", 1), "s"), jobs.add(&job("b", 1), "t"));
        jobs.lose_session("s");
        assert_eq!((ours.stop_cause(), theirs.stop_cause()), (Some(StopCause::Lost), None));
        drop(ours);
        let running = |session| jobs.heartbeat(session).running_job_ids;
        assert_eq!((running("s"), running("t")), (vec![], vec!["b".to_owned()]));
    }
}
