//! Ends expired leases, sessions and deadlines.

use std::convert::Infallible;

use tokio::time::{MissedTickBehavior, interval, timeout};
use vmafx_kit::tasks::Shutdown;
use vmafx_queue::store::Swept;

use super::ROUND_TIMEOUT;
use crate::metrics::RequeueReason;
use crate::service::Service;

pub(super) async fn run(service: Service, shutdown: Shutdown) -> Result<(), Infallible> {
    let mut rounds = interval(service.policy().sweep_interval);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shutdown.run_until_begun(rounds.tick()).await.is_some() {
        // Shutdown does not abort a round, because the jobs that it ended must be counted.
        sweep(&service).await;
    }
    Ok(())
}

pub(crate) async fn sweep(service: &Service) {
    let round = timeout(ROUND_TIMEOUT, service.store().sweep()).await;
    let problem: &dyn std::error::Error = match &round {
        Ok(Ok(swept)) => return record(service, swept),
        Ok(Err(error)) => error,
        Err(elapsed) => elapsed,
    };
    service.metrics().sweep_errors.inc();
    tracing::warn!(error = problem, "cannot end expired leases; the next round tries again");
}

fn record(service: &Service, swept: &Swept) {
    // Expected in the first round after a start; later it means that this process or its store was stuck.
    if swept.renewed {
        tracing::info!("the sweep was late: renewed every lease and session");
    }
    for job in &swept.requeued {
        service.metrics().requeued(RequeueReason::NodeLost);
        let (attempt, lost) = (job.attempt, job.lost_attempts);
        tracing::info!(job = %job.id, tenant = %job.tenant, attempt, lost, "requeued the job of a lost node");
        if let Some(at) = job.available_at {
            service.dispatch().wake_at(&job.tenant, job.scoring.backend_name(), at);
        }
    }
    for job in &swept.failed {
        tracing::info!(job = %job.id, tenant = %job.tenant, error = job.error, "the job failed");
        service.ended(job);
    }
    for (tenant, node) in &swept.evicted {
        tracing::info!(%tenant, node, "the session of a node expired");
    }
}
