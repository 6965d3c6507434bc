//! Removes what is older or more than is kept, a little at a time.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use vmafx_kit::tasks::Shutdown;
use vmafx_queue::store::{Pruned, Retention};

use super::PATIENCE;
use crate::service::Service;

/// Between two batches, so that others get their turn.
const BREATH: Duration = Duration::from_millis(50);

pub(super) async fn run(
    service: Service,
    keep: Retention,
    every: Duration,
    shutdown: Shutdown,
) -> Result<(), Infallible> {
    let mut rounds = interval(every);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shutdown.run_until_begun(rounds.tick()).await.is_some() {
        while prune(&service, &keep).await && shutdown.run_until_begun(sleep(BREATH)).await.is_some() {}
    }
    Ok(())
}

/// One batch; tells whether there may be more.
async fn prune(service: &Service, keep: &Retention) -> bool {
    let round = timeout(PATIENCE, service.store().prune(keep)).await;
    let problem: &dyn std::error::Error = match &round {
        Ok(Ok(Pruned { jobs, samples })) => {
            service.metrics().pruned_jobs.inc_by(*jobs);
            service.metrics().pruned_samples.inc_by(*samples);
            return (*jobs).max(*samples) >= u64::from(keep.batch);
        }
        Ok(Err(error)) => error,
        Err(late) => late,
    };
    service.metrics().prune_errors.inc();
    tracing::warn!(error = problem, "cannot prune; trying again");
    false
}
