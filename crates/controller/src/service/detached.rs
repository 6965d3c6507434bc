//! Tasks that must complete although their caller may be gone.
//!
//! The future of a call is dropped when its caller goes away, while a request that it sent to the store still completes.
//! A claim could then succeed with no node to run the job. Such requests run here, on tasks of their own that shutdown
//! waits for.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinSet};

/// The running tasks. Clones share them.
#[derive(Clone, Default)]
pub(super) struct DetachedTasks(Arc<Mutex<JoinSet<()>>>);

impl DetachedTasks {
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        // A call that is dropped together with its runtime cannot spawn; the job returns when its lease expires.
        if Handle::try_current().is_err() {
            return;
        }
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(ended) = running.try_join_next() {
            log_panic(ended);
        }
        running.spawn(task);
    }

    /// Waits for all tasks, including those that are spawned meanwhile.
    pub(super) async fn join_all(&self) {
        loop {
            let mut running = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
            if running.is_empty() {
                return;
            }
            while let Some(ended) = running.join_next().await {
                log_panic(ended);
            }
        }
    }
}

fn log_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(error = &error as &dyn std::error::Error, "a detached task failed");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn joining_waits_for_tasks_and_for_those_that_they_spawn() {
        let (tasks, done) = (DetachedTasks::default(), Arc::new(AtomicUsize::new(0)));
        let (second, both) = (tasks.clone(), done.clone());
        tasks.spawn(async move {
            tokio::task::yield_now().await;
            let counted = both.clone();
            second.spawn(async move {
                tokio::task::yield_now().await;
                counted.fetch_add(1, Ordering::SeqCst);
            });
            both.fetch_add(1, Ordering::SeqCst);
        });
        tasks.join_all().await;
        assert_eq!(done.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn without_a_runtime_nothing_is_spawned_and_nothing_panics() {
        DetachedTasks::default().spawn(async {});
    }
}
