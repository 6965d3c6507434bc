//! The controller's jobs, as they were last heard of; only of resources that are open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use vmafx_proto::controller::v1::Job;

/// Clones are the same.
#[derive(Clone, Debug)]
pub struct Mirror {
    jobs: Arc<Mutex<HashMap<String, Arc<Job>>>>,
    live: watch::Sender<bool>,
}

impl Default for Mirror {
    fn default() -> Self {
        Self { jobs: Arc::default(), live: watch::Sender::new(false) }
    }
}

impl Mirror {
    /// Whether changes are heard of by themselves. If not, what is here may be old.
    pub fn is_live(&self) -> bool {
        *self.live.borrow()
    }

    /// Tells whether changes are heard of.
    pub fn set_live(&self, live: bool) {
        self.live.send_replace(live);
    }

    /// Until changes are heard of.
    pub async fn heard(&self) {
        // The sender is ours: it does not go away.
        let _ = self.live.subscribe().wait_for(|live| *live).await;
    }

    /// A job, if it was heard of.
    pub fn get(&self, id: &str) -> Option<Arc<Job>> {
        self.jobs().get(id).cloned()
    }

    /// Keeps the newest word: news may come twice, and in any order. Whether it was news.
    pub fn keep(&self, job: Arc<Job>) -> bool {
        let mut jobs = self.jobs();
        if jobs.get(&job.id).is_some_and(|known| known.revision >= job.revision) {
            return false;
        }
        jobs.insert(job.id.clone(), job);
        true
    }

    /// The job is of no interest any more.
    pub fn forget(&self, id: &str) {
        self.jobs().remove(id);
    }

    /// Nothing that was heard counts any more: revisions may have begun again.
    pub fn reset(&self) {
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
    fn the_newest_word_counts_however_often_and_in_whatever_order_it_comes() {
        let mirror = Mirror::default();
        let news: Vec<_> = [1, 3, 3, 2, 4].map(|revision| mirror.keep(job(revision))).into();
        assert_eq!(news, [true, true, false, false, true]);
        assert_eq!(mirror.get("7").unwrap().revision, 4);
        mirror.reset();
        assert!(mirror.keep(job(2)), "revisions may begin again");
    }
}
