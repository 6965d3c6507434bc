//! Work that must be done although nobody waits for its answer any more.
//!
//! A call's future is dropped when its caller goes away. What it began with the store goes on nevertheless, so a
//! claim could succeed with nobody to hear of it. Such steps run here: on tasks of their own, awaited at shutdown.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinSet};

/// Tasks under way. Clones are the same ones.
#[derive(Clone, Default)]
pub(super) struct Errands(Arc<Mutex<JoinSet<()>>>);

impl Errands {
    /// Begins one.
    pub(super) fn begin(&self, errand: impl Future<Output = ()> + Send + 'static) {
        // A call that is dropped with its runtime has nobody to run its errand; the lease brings the job back.
        if Handle::try_current().is_err() {
            return;
        }
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(ended) = running.try_join_next() {
            look_at(ended);
        }
        running.spawn(errand);
    }

    /// Waits for all of them, and for those that begin meanwhile.
    pub(super) async fn finish(&self) {
        loop {
            let mut running = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
            if running.is_empty() {
                return;
            }
            while let Some(ended) = running.join_next().await {
                look_at(ended);
            }
        }
    }
}

fn look_at(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(error = &error as &dyn std::error::Error, "an errand did not end well");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn the_end_waits_for_errands_and_for_those_that_they_begin() {
        let (errands, done) = (Errands::default(), Arc::new(AtomicUsize::new(0)));
        let (second, both) = (errands.clone(), done.clone());
        errands.begin(async move {
            tokio::task::yield_now().await;
            let counted = both.clone();
            second.begin(async move {
                tokio::task::yield_now().await;
                counted.fetch_add(1, Ordering::SeqCst);
            });
            both.fetch_add(1, Ordering::SeqCst);
        });
        errands.finish().await;
        assert_eq!(done.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn without_a_runtime_there_is_no_errand_and_no_panic() {
        Errands::default().begin(async {});
    }
}
