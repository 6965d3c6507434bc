//! The newest revision of each of the controller's jobs, for open resources only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use vmafx_proto::controller::v1::Job;

/// Clones share their content.
#[derive(Clone, Debug)]
pub struct ControllerJobCache {
    jobs: Arc<Mutex<HashMap<String, Arc<Job>>>>,
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
        self.jobs().get(id).cloned()
    }

    /// Keeps the newest revision, because changes arrive more than once and in any order. Returns whether this one is
    /// new.
    pub fn put(&self, job: Arc<Job>) -> bool {
        let mut jobs = self.jobs();
        if jobs.get(&job.id).is_some_and(|cached| cached.revision >= job.revision) {
            return false;
        }
        jobs.insert(job.id.clone(), job);
        true
    }

    pub fn remove(&self, id: &str) {
        self.jobs().remove(id);
    }

    /// Drops all jobs: after a restore of the controller's store, revisions may start again.
    pub fn clear(&self) {
        self.jobs().clear();
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<String, Arc<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(revision: u64) -> Arc<Job> {
        Arc::new(Job { id: "7".to_owned(), revision, ..Job::default() })
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
