//! The newest revision of each of the controller's jobs, for open resources only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use vmafx_proto::controller::v1::Job;

use super::plan::is_open;

/// A job, and when the controller last said anything about it.
#[derive(Clone, Debug)]
struct HeardJob {
    job: Arc<Job>,
    at: Instant,
}

/// Clones share their content.
#[derive(Clone, Debug)]
pub struct ControllerJobCache {
    jobs: Arc<Mutex<HashMap<String, HeardJob>>>,
    live: watch::Sender<bool>,
}

impl Default for ControllerJobCache {
    fn default() -> Self {
        Self { jobs: Arc::default(), live: watch::Sender::new(false) }
    }
}

impl ControllerJobCache {
    /// Whether the live stream is connected. If not, the jobs may be outdated.
    pub fn is_live(&self) -> bool {
        *self.live.borrow()
    }

    pub fn set_live(&self, live: bool) {
        self.live.send_replace(live);
    }

    pub async fn wait_until_live(&self) {
        // An error would mean that the sender is gone, but `self` owns it.
        let _ = self.live.subscribe().wait_for(|live| *live).await;
    }

    pub fn get(&self, id: &str) -> Option<Arc<Job>> {
        self.jobs().get(id).map(|heard| Arc::clone(&heard.job))
    }

    /// Keeps the newest revision, because changes arrive more than once and in any order. Returns whether this one is
    /// new.
    pub fn put(&self, job: Arc<Job>) -> bool {
        let (mut jobs, at) = (self.jobs(), Instant::now());
        if let Some(heard) = jobs.get_mut(&job.id).filter(|heard| heard.job.revision >= job.revision) {
            heard.at = at;
            return false;
        }
        jobs.insert(job.id.clone(), HeardJob { job, at });
        true
    }

    pub fn len(&self) -> usize {
        self.jobs().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Open jobs about which nothing was heard for this long.
    pub fn silent_for(&self, silence: Duration) -> Vec<Arc<Job>> {
        let silent = |heard: &&HeardJob| heard.at.elapsed() >= silence && is_open(&heard.job);
        self.jobs().values().filter(silent).map(|heard| Arc::clone(&heard.job)).collect()
    }

    pub fn remove(&self, id: &str) {
        self.jobs().remove(id);
    }

    /// Drops all jobs: after a restore of the controller's store, revisions may start again.
    pub fn clear(&self) {
        self.jobs().clear();
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<String, HeardJob>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use vmafx_proto::controller::v1::JobStatus;

    use super::*;

    fn job(revision: u64) -> Arc<Job> {
        Arc::new(Job { id: "7".to_owned(), revision, ..Job::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_is_silent_until_anything_is_heard_of_it() {
        let (cache, silence) = (ControllerJobCache::default(), Duration::from_secs(15));
        cache.put(job(1));
        tokio::time::advance(Duration::from_secs(14)).await;
        assert_eq!(cache.silent_for(silence), []);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(cache.silent_for(silence), [job(1)]);
        cache.put(job(1));
        assert_eq!(cache.silent_for(silence), [], "an old revision is a sign of life too");
        cache.put(Arc::new(Job { status: JobStatus::Completed.into(), ..Job::clone(&job(2)) }));
        tokio::time::advance(silence).await;
        assert_eq!(cache.silent_for(silence), [], "a job that has ended is never asked for");
    }

    #[test]
    fn the_newest_revision_counts_however_often_and_in_whatever_order_it_comes() {
        let cache = ControllerJobCache::default();
        let new: Vec<_> = [1, 3, 3, 2, 4].map(|revision| cache.put(job(revision))).into();
        assert_eq!(new, [true, true, false, false, true]);
        assert_eq!(cache.get("7").unwrap().revision, 4);
        cache.clear();
        assert!(cache.put(job(2)), "revisions may start again");
    }
}
