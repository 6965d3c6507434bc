//! Deletes jobs and samples beyond the retention limits in small batches.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use vmafx_kit::tasks::Shutdown;
use vmafx_queue::store::{Pruned, Retention};

use super::ROUND_TIMEOUT;
use crate::service::Service;

/// Lets other writers proceed between two batches.
const BATCH_PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn run(
    service: Service,
    retention: Retention,
    period: Duration,
    shutdown: Shutdown,
) -> Result<(), Infallible> {
    let mut rounds = interval(period);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shutdown.run_until_begun(rounds.tick()).await.is_some() {
        while prune_batch(&service, &retention).await
            && shutdown.run_until_begun(sleep(BATCH_PAUSE)).await.is_some()
        {}
    }
    Ok(())
}

/// Deletes one batch. Returns whether there may be more.
async fn prune_batch(service: &Service, retention: &Retention) -> bool {
    let round = timeout(ROUND_TIMEOUT, service.store().prune(retention)).await;
    let problem: &dyn std::error::Error = match &round {
        Ok(Ok(Pruned { jobs, samples })) => {
            service.metrics().pruned_jobs.inc_by(*jobs);
            service.metrics().pruned_samples.inc_by(*samples);
            return (*jobs).max(*samples) >= u64::from(retention.batch);
        }
        Ok(Err(error)) => error,
        Err(elapsed) => elapsed,
    };
    service.metrics().prune_errors.inc();
    tracing::warn!(
        error = problem,
        "cannot delete jobs and samples beyond retention; the next round tries again"
    );
    false
}
